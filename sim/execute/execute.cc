#include "sim/execute/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <numeric>

namespace spillway {

namespace {

const char* const kFaultNames[] = {"contract", "refused", "no memory", "failed", "hung", "contents"};

// All calls of a step, made ready so that issuing one costs the host little.
class Calls {
 public:
  explicit Calls(const Program& program, const TrainingStep* step)
      : call_(program.code.size(), 0), operands_(CountOperands(program)) {
    std::size_t next_operand = 0;
    for (std::uint32_t i = 0; i < program.code.size(); ++i) {
      const Instruction& in = program.code[i];
      if (in.opcode == Opcode::kKernel) AddKernel(program, step, i, next_operand);
      if (in.opcode == Opcode::kCopy) AddCopy(program, step, i);
    }
  }
  const KernelCall& KernelAt(std::uint32_t i) const { return kernels_[call_[i]]; }
  const CopyCall& CopyAt(std::uint32_t i) const { return copies_[call_[i]]; }
  std::span<const KernelCall> kernels() const { return kernels_; }

 private:
  static std::size_t CountOperands(const Program& program) {
    return std::accumulate(program.code.begin(), program.code.end(), std::size_t{0},
                           [&](std::size_t sum, const Instruction& in) {
                             return sum + (in.opcode == Opcode::kKernel ? program.kernels[in.arg].operand_count : 0);
                           });
  }
  void AddKernel(const Program& program, const TrainingStep* step, std::uint32_t i, std::size_t& next_operand) {
    const Instruction& in = program.code[i];
    const Kernel& kernel = program.kernels[in.arg];
    OperandCall* const operands = operands_.data() + next_operand;
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand& operand = program.operands[kernel.operands + k];
      operands[k] = OperandOf(program, step, operand);
    }
    next_operand += kernel.operand_count;
    const bool has_op = step != nullptr && kernel.op != kNoOp;
    call_[i] = kernels_.size();
    kernels_.push_back({.issue = {i, in.stream},
                        .kernel = &kernel,
                        .launch = &program.launches[kernel.launch],
                        .op = has_op ? &step->ops[static_cast<std::size_t>(kernel.op)] : nullptr,
                        .operands = {operands, kernel.operand_count}});
  }
  OperandCall OperandOf(const Program& program, const TrainingStep* step, const Operand& operand) {
    OperandCall call{LocationOf(program, operand.buffer), operand.access};
    const Buffer& buffer = program.buffers[operand.buffer];
    const bool all = operand.box == kWhole && buffer.box == kWhole;
    if (step == nullptr || buffer.kind == BufferKind::kWorkspace || buffer.tensor == kNoTensor || all) return call;
    const BoxRuns runs = RunsOfOperand(program, operand, *step);
    call.boxed = true;
    if (runs.loops.empty()) {
      call.at.offset += runs.from_offset;
      call.at.bytes = runs.run;
      return call;
    }
    const Box box = BoxIn(program, operand.buffer, operand.box, *step), held = HeldBy(program, operand.buffer, *step);
    const Tensor& tensor = step->tensors[static_cast<std::size_t>(buffer.tensor)];
    call.at.bytes = BytesOf(tensor, held);
    call.runs = &runs_.emplace_back(RunsOf(tensor, held, box, box));
    return call;
  }
  void AddCopy(const Program& program, const TrainingStep* step, std::uint32_t i) {
    const Instruction& in = program.code[i];
    const Copy& copy = program.copies[in.arg];
    CopyCall call{.issue = {i, in.stream},
                  .copy = &copy,
                  .from = LocationOf(program, copy.from),
                  .to = LocationOf(program, copy.to)};
    const bool boxed = step != nullptr && IsBoxed(program, copy);
    if (boxed) call.runs = &runs_.emplace_back(RunsOfCopy(program, copy, *step));
    for (Location* at : {&call.from, &call.to}) {
      at->offset += copy.offset;
      if (!boxed) at->bytes = copy.bytes;
    }
    call_[i] = copies_.size();
    copies_.push_back(call);
  }

  std::vector<std::size_t> call_;  // by instruction: row of kernels_ or copies_
  std::vector<OperandCall> operands_;
  std::vector<KernelCall> kernels_;
  std::vector<CopyCall> copies_;
  std::deque<BoxRuns> runs_;  // of copies, and of operands that do not lie together
};

class Execution {
 public:
  Execution(const Program& program, const TrainingStep* step, ExecutionDevice& device, const Clock& clock,
            const ExecuteOptions& options)
      : program_(program), step_(step), device_(device), clock_(clock), options_(options), calls_(program, step) {
    if (step != nullptr) residents_ = FindResidents(program, *step);
    order_.resize(program.code.size());
    std::iota(order_.begin(), order_.end(), 0u);
  }

  ExecuteResult Run() {
    if (!CanRun()) return std::move(result_);
    const struct Guard {  // whatever is thrown, the device gets everything back
      ExecutionDevice& device;
      ~Guard() { device.End(); }
    } guard{device_};
    try {
      Iterations();
    } catch (const DeviceError& error) {
      Fail(error.fault(), error.instruction(), error.what());
    }
    return std::move(result_);
  }

 private:
  Bytes ArenaBytes() const { return options_.arena_bytes != 0 ? options_.arena_bytes : program_.PeakAddress(); }

  bool CanRun() {
    const Bytes peak = program_.PeakAddress();
    if (program_.memory != ProgramMemory::kArena) {
      Fail(Fault::kContract, kNoInstruction, "only Programs laid out in an arena can be executed");
    } else if (peak > ArenaBytes()) {
      Fail(Fault::kNoMemory, kNoInstruction,
           fmt::format("the Program needs {} bytes of device memory, the arena has {}", peak, ArenaBytes()));
    }
    if (step_ == nullptr && !program_.boxes.empty()) {
      Fail(Fault::kContract, kNoInstruction, "boxes mean nothing without the step that they are of");
    }
    CheckOperands();
    for (const Stream& stream : program_.streams) {
      if (stream.device != 0) Fail(Fault::kContract, kNoInstruction, "only Programs of one device can be executed");
    }
    return !result_.failure;
  }

  // A kernel gets an address for each operand: its places must lie together, or be brought together.
  void CheckOperands() {
    if (device_.GathersOperands()) return;
    for (const Kernel& kernel : program_.kernels) {
      for (std::uint32_t k = 0; step_ != nullptr && k < kernel.operand_count; ++k) {
        const Operand& operand = program_.operands[kernel.operands + k];
        const Buffer& buffer = program_.buffers[operand.buffer];
        if (buffer.kind == BufferKind::kWorkspace || buffer.tensor == kNoTensor) continue;
        if (operand.box == kWhole || RunsOfOperand(program_, operand, *step_).loops.empty()) continue;
        Fail(Fault::kRefused, kNoInstruction,
             fmt::format("{} of buffer {} does not lie together, and a kernel is to touch it",
                         BoxText(program_.boxes[operand.box]), operand.buffer));
      }
    }
  }

  void Iterations() {
    device_.Begin({.program = &program_,
                   .step = step_,
                   .arena_bytes = ArenaBytes(),
                   .debug = options_.debug,
                   .instrumented = options_.instrumented,
                   .kernels = calls_.kernels(),
                   .residents = residents_});
    for (int k = 0; k < options_.warm_up + options_.iterations; ++k) {
      iteration_ = k;
      BringValues();
      if (options_.shuffle_seed != 0) {
        order_ = ShuffledOrder(program_, options_.shuffle_seed + static_cast<std::uint64_t>(k));
      }
      const Nanos time = Step();
      if (k >= options_.warm_up) result_.step_times.push_back(time);
    }
    iteration_ = -1;
    TakeResults();
  }

  Nanos Step() {
    device_.BeginStep();
    const Nanos start = clock_.Now();
    for (const std::uint32_t i : order_) Give(i);
    device_.EndStep();
    return clock_.Now() - start;
  }

  void Give(std::uint32_t i) {
    const Instruction in = program_.code[i];
    const Issue issue{i, in.stream};
    switch (in.opcode) {
      case Opcode::kKernel:
        return device_.Enqueue(calls_.KernelAt(i));
      case Opcode::kCopy:
        return device_.Enqueue(calls_.CopyAt(i));
      case Opcode::kRecord:
        return device_.Record(issue, in.arg);
      case Opcode::kWait:
        return device_.Wait(issue, in.arg);
      case Opcode::kHostSync:
        return device_.HostSync(issue, in.arg);
      case Opcode::kAlloc:
        if (options_.debug) device_.Alloc(issue, LocationOf(program_, in.arg));
        return;
      case Opcode::kFree:
        if (options_.debug) device_.Free(issue, LocationOf(program_, in.arg));
        return;
    }
  }

  // Values from outside, and values that the last iteration left elsewhere. All of the latter are read before any is
  // written: the places may overlap.
  void BringValues() {
    std::vector<std::vector<std::byte>> moved(residents_.size());
    for (std::size_t r = 0; r < residents_.size(); ++r) {
      const Resident& resident = residents_[r];
      if (IsNew(resident) || resident.first.buffer == resident.last.buffer) continue;
      moved[r].resize(static_cast<std::size_t>(resident.last.bytes));
      device_.Read(resident.last, moved[r]);
    }
    std::vector<std::byte> filled;  // gone before the step begins: what the process holds is measured there
    for (std::size_t r = 0; r < residents_.size(); ++r) {
      if (IsNew(residents_[r])) BringNew(residents_[r], filled);
      if (!moved[r].empty()) device_.Write(residents_[r].first, moved[r]);
    }
  }
  bool IsNew(const Resident& resident) const { return iteration_ == 0 || IsInput(resident.tensor); }
  void BringNew(const Resident& resident, std::vector<std::byte>& filled) {
    const std::uint64_t identity =
        options_.values != nullptr ? options_.values->Identity(iteration_, resident.tensor) : 0;
    if (identity != 0 && device_.WriteKept(resident.first, identity)) return;
    filled.assign(static_cast<std::size_t>(resident.last.bytes), std::byte{0});
    if (filled.empty()) return;
    if (options_.values != nullptr) options_.values->Fill(iteration_, resident.tensor, filled);
    device_.Write(resident.first, filled);
    if (identity != 0) device_.Keep(resident.first, identity);
  }
  bool IsInput(TensorId tensor) const { return step_->tensors[static_cast<std::size_t>(tensor)].Traits().on_host; }

  void TakeResults() {
    if (options_.instrumented) TakeSpans();
    if (options_.debug) result_.high_water = device_.HighWater();
    if (options_.values == nullptr) return;
    for (const Resident& resident : residents_) {
      if (!options_.values->Wants(resident.tensor)) continue;
      std::vector<std::byte> bytes(static_cast<std::size_t>(resident.last.bytes));
      device_.Read(resident.last, bytes);
      options_.values->Take(resident.tensor, bytes);
    }
  }

  void TakeSpans() {
    std::vector<Span>& spans = result_.timeline.spans;
    spans = device_.ReadSpans();
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.instruction < b.instruction; });
    result_.timeline.makespan = result_.step_times.back();
  }

  void Fail(Fault fault, std::uint32_t instruction, const std::string& what) {
    std::string where;
    if (instruction < program_.code.size()) where += InstructionText(instruction) + ": ";
    if (iteration_ >= 0) where = fmt::format("iteration {}: ", iteration_) + where;
    result_.failure = Failure{fault, iteration_, instruction, where + what};
  }
  // As DumpProgram() shows it, with the right number.
  std::string InstructionText(std::uint32_t i) const {
    Program line = program_;
    line.code = {program_.code[i]};
    std::string text = DumpProgram(line, step_);
    const auto from = text.find_first_not_of(' ', text.find('0') + 1);
    return fmt::format("instruction {} ({})", i, text.substr(from, text.find('\n') - from));
  }

  const Program& program_;
  const TrainingStep* step_;
  ExecutionDevice& device_;
  const Clock& clock_;
  const ExecuteOptions& options_;
  Calls calls_;
  std::vector<Resident> residents_;
  std::vector<std::uint32_t> order_;  // of issue
  int iteration_ = -1;
  ExecuteResult result_;
};

}  // namespace

const char* FaultName(Fault fault) { return kFaultNames[static_cast<int>(fault)]; }

ExecuteResult Execute(const Program& program, const TrainingStep* step, ExecutionDevice& device, const Clock& clock,
                      const ExecuteOptions& options) {
  assert(options.iterations >= 1 && options.warm_up >= 0);
  return Execution(program, step, device, clock, options).Run();
}

}  // namespace spillway
