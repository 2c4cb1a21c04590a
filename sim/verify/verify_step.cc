// That a Program computes its step.
//
// The content of a buffer is a version of its tensor: the number of the tensor's writers, in the order of the step,
// whose results are in it. A kernel must read the version that its op read in the step.
//
//   step:  conv writes X (version 1), bias updates X (1 -> 2), pool reads X (2)
//   a recomputation of bias that finds version 2 in its buffer, or of pool that finds 1, computes something else
//
// What is there before the step begins is version 0: the input, parameters, optimizer state and such small state as is
// read before any op writes it. The input is on the host if it has a host buffer. The others are on the host if a host
// buffer of theirs is read before it is written, else in the first device buffer that is allocated for them.
//
// Of a tensor that is divided into boxes each place has a version of its own. An op in parts has written a place when one
// of its kernels has, or when the sum that several add up is complete; until then the place holds nothing that another
// op may read. Every place is computed once (recomputations apart), what the next op reads of it before that does.
#include <fmt/format.h>

#include <algorithm>

#include "hw/text/lists.h"
#include "sim/verify/step_versions.h"
#include "sim/verify/verify_boxes.h"

namespace spillway::verifying {

namespace {

class StepContents : public Contents {
 public:
  StepContents(const Program& program, const TrainingStep& step, const std::vector<RestingTensor>& resting,
               Report& report)
      : Contents(program, report),
        step_(step),
        resting_(resting),
        versions_(step),
        on_host_(step.tensors.size(), kNoBuffer),
        placed_(step.tensors.size(), false),
        divided_(DividedTensors(program, step)),
        pieces_(program.boxes.empty() ? 0 : program.buffers.size()),
        finished_(step) {}

 private:
  bool IsDivided(BufferId b) const {
    const Buffer& buffer = program_.buffers[b];
    return !pieces_.empty() && buffer.kind != BufferKind::kWorkspace && buffer.tensor != kNoTensor &&
           divided_[Index(buffer.tensor)];
  }
  Box Held(BufferId b) const { return HeldBy(program_, b, step_); }
  Box WholeTensor(BufferId b) const { return WholeOf(step_.tensors[Index(program_.buffers[b].tensor)].shape); }

  // As `content` says of all that it has of the tensor.
  Content Begin(BufferId b, Content content) {
    if (!IsDivided(b)) return content;
    pieces_[b] = {};
    // What lasts from step to step lies in buffers of whole tensors.
    const Box whole = WholeTensor(b);
    if (content.version != kUndefined && Held(b) == whole) pieces_[b].Write(whole, content.version);
    return content;
  }

  Content AtStart(BufferId b, bool read_first, bool) override { return Begin(b, HostAtStart(b, read_first)); }
  Content AtAlloc(BufferId b) override { return Begin(b, DeviceAtAlloc(b)); }

  Content HostAtStart(BufferId b, bool read_first) {
    const TensorId t = program_.buffers[b].tensor;
    if (t == kNoTensor || !versions_.ThereFromTheStart(t)) return {};
    if (!read_first && !step_.tensors[Index(t)].Traits().on_host) return {};
    on_host_[Index(t)] = b;
    return {0, Full(b)};
  }

  Content DeviceAtAlloc(BufferId b) {
    const Buffer& buffer = program_.buffers[b];
    const TensorId t = buffer.tensor;
    if (buffer.kind == BufferKind::kWorkspace || t == kNoTensor) return {};
    if (!versions_.ThereFromTheStart(t) || on_host_[Index(t)] != kNoBuffer || placed_[Index(t)]) return {};
    placed_[Index(t)] = true;
    return {0, Full(b)};
  }

  Bytes Full(BufferId b) const override {
    const TensorId t = program_.buffers[b].tensor;
    return t == kNoTensor ? 0 : step_.tensors[Index(t)].bytes;
  }

  bool RunBoxCopy(InstructionIndex i, const Copy& copy) override {
    if (!IsDivided(copy.from)) return false;
    const Bytes all = BytesOf(step_.tensors[Index(program_.buffers[copy.from].tensor)], Held(copy.from));
    if (!IsBoxed(program_, copy) && (copy.offset != 0 || copy.bytes < all)) {
      report_.Add("contents", i, copy.from, "a tensor that is divided into boxes is copied in pieces");
    }
    const Box held = Held(copy.to), both = Intersection(Held(copy.from), held);
    const Box box = copy.box == kWhole ? both : program_.boxes[copy.box];
    if (pieces_[copy.to].CopyFrom(pieces_[copy.from], box)) {
      report_.Add("contents", i, copy.from, "what is copied holds nothing yet, or a sum that is not finished");
    }
    if (!copy.fill) return true;
    for (const Box& rest : Without(held, box)) pieces_[copy.to].Write(rest, kZeros);
    return true;
  }

  void RunKernel(InstructionIndex i, const Kernel& kernel) override {
    if (kernel.op == kNoOp) return report_.Add("step", i, kNoBuffer, "a kernel of no op of the step");
    const std::span<const Operand> operands = Operands(kernel);
    const bool part = IsPart(program_, step_, kernel);
    for (const Operand& operand : operands) CheckOperand(i, kernel, operand, part);
    CheckComplete(i, kernel);
    CheckWorkspace(i, kernel, operands);
    CheckRun(i, kernel);
    if (part) return RunPart(i, kernel, operands);
    Launch wanted = LaunchOf(step_.ops[Index(kernel.op)]);
    wanted.recomputation = program_.launches[kernel.launch].recomputation;
    if (!(Unchosen(program_.launches[kernel.launch]) == Unchosen(wanted))) {
      report_.Add("step", i, kNoBuffer, "the launch is of another shape or kind than the op");
    }
    for (const Operand& operand : operands) {
      const TensorId t = program_.buffers[operand.buffer].tensor;
      if (!Writes(operand.access) || t == kNoTensor) continue;
      content_[operand.buffer] = {versions_.Written(kernel.op, t), Full(operand.buffer)};
      if (IsDivided(operand.buffer)) pieces_[operand.buffer].Write(TouchedBy(operand), versions_.Written(kernel.op, t));
    }
  }

  // The first run does all that the op does; a recomputation leaves out what the step says.
  void CheckRun(InstructionIndex i, const Kernel& kernel) {
    const bool differs = kernel.recomputation && step_.ops[Index(kernel.op)].recompute_differs;
    if (program_.launches[kernel.launch].recomputation == differs) return;
    report_.Add("step", i, kNoBuffer,
                differs ? "it is recomputed by the launch of its first run"
                        : "its launch is that of a recomputation which differs from the first run");
  }

  void RunPart(InstructionIndex i, const Kernel& kernel, std::span<const Operand> operands) {
    const Op& op = step_.ops[Index(kernel.op)];
    const Launch& launch = program_.launches[kernel.launch];
    if (!kernel.recomputation) finished_.See(kernel.op);
    const auto touched = [&](TensorId t) { return OperandsOf(program_, step_, kernel, t).together.value_or(Box{}); };
    const Part part = PartOf(step_, op, launch, touched);
    if (!part.fault.empty()) return report_.Add("step", i, kNoBuffer, part.fault);
    for (const Operand& operand : operands) {
      const TensorId t = program_.buffers[operand.buffer].tensor;
      if (t != kNoTensor && Contains(op.writes, t) && Writes(operand.access)) WritePart(i, kernel, operand, part);
    }
  }

  // An op that adds to its result anyway begins where its result is as the op found it.
  void WritePart(InstructionIndex i, const Kernel& kernel, const Operand& operand, const Part& part) {
    const BufferId b = operand.buffer;
    const TensorId t = program_.buffers[b].tensor;
    const Op& op = step_.ops[Index(kernel.op)];
    const bool accumulates = program_.launches[kernel.launch].accumulate;
    const Version before = versions_.Read(kernel.op, t), after = versions_.Written(kernel.op, t);
    const Box box = TouchedBy(operand);
    const bool as_found = op.accumulate && pieces_[b].Missing(box, before).empty();
    const bool begins = op.accumulate ? as_found : !accumulates;
    bool finished = part.IsWholeSum();
    std::string fault;
    if (op.accumulate && !accumulates) {
      fault = "the op adds to its result, the part does not";
    } else if (!finished) {
      fault = pieces_[b].Add(box, after, part, begins, finished);
    } else if (begins) {
      pieces_[b].Write(box, after);
    } else {
      fault = op.accumulate ? fmt::format("it adds to something else than version {}", before)
                            : "it adds to its result, the op does not";
    }
    if (finished && fault.empty() && !kernel.recomputation) fault = finished_.Note(kernel.op, t, box);
    if (!fault.empty()) report_.Add("step", i, b, fault);
  }

  Box TouchedBy(const Operand& operand) const { return BoxIn(program_, operand.buffer, operand.box, step_); }

  // `part`: of the op; then what it adds to is looked at when it is written.
  void CheckOperand(InstructionIndex i, const Kernel& kernel, const Operand& operand, bool part) {
    const BufferId b = operand.buffer;
    const Buffer& buffer = program_.buffers[b];
    if (buffer.kind == BufferKind::kWorkspace && operand.access == Access::kWrite) return;
    if (buffer.kind == BufferKind::kWorkspace) return report_.Add("step", i, b, "a workspace is written only");
    if (buffer.tensor == kNoTensor) return report_.Add("step", i, b, "it holds no tensor of the step");
    const bool reads = Contains(step_.ops[Index(kernel.op)].reads, buffer.tensor);
    const bool writes = Contains(step_.ops[Index(kernel.op)].writes, buffer.tensor);
    const bool adds = part && writes && program_.launches[kernel.launch].accumulate;
    const Access access = writes ? (reads || adds ? Access::kReadWrite : Access::kWrite) : Access::kRead;
    // A recomputation may find a result of its op in place, such as a dropout mask, and only read it.
    const bool found = kernel.recomputation && !reads && operand.access == Access::kRead;
    if (!reads && !writes) return report_.Add("step", i, b, "the op does not use it");
    if (operand.access != access && !found) return report_.Add("step", i, b, "the op " + Use(access));
    if (Reads(operand.access) && !adds) {
      CheckVersion(i, operand,
                   (reads ? versions_.Read(kernel.op, buffer.tensor) : versions_.Written(kernel.op, buffer.tensor)));
    }
  }

  // What a launch is granted is there.
  void CheckWorkspace(InstructionIndex i, const Kernel& kernel, std::span<const Operand> operands) {
    const Launch& launch = program_.launches[kernel.launch];
    if (!HasAlgorithms(launch.kind) || launch.workspace <= 0) return;
    Bytes there = 0;
    for (const Operand& operand : operands) {
      const Buffer& buffer = program_.buffers[operand.buffer];
      if (buffer.kind == BufferKind::kWorkspace) there = std::max(there, buffer.bytes);
    }
    if (there >= launch.workspace) return;
    report_.Add("step", i, kNoBuffer,
                fmt::format("the launch is granted {} of workspace and has {}", FormatBytesExact(launch.workspace),
                            FormatBytesExact(there)));
  }

  static std::string Use(Access access) {
    if (access == Access::kReadWrite) return "updates it in place";
    return access == Access::kRead ? "reads it only" : "overwrites it and does not read it";
  }

  void CheckVersion(InstructionIndex i, const Operand& operand, Version wanted) {
    const BufferId b = operand.buffer;
    if (IsDivided(b)) return CheckPieces(i, operand, wanted);
    if (!Defined(b)) return Undefined(i, b);
    if (content_[b].version == wanted) return;
    report_.Add("step", i, b, fmt::format("it holds version {}, the op reads version {}", content_[b].version, wanted));
  }

  // What lies outside of the tensor must be zeros.
  void CheckPieces(InstructionIndex i, const Operand& operand, Version wanted) {
    const BufferId b = operand.buffer;
    const Box box = TouchedBy(operand), inside = Intersection(box, WholeTensor(b));
    std::vector<Box> missing = pieces_[b].Missing(inside, wanted);
    for (const Box& beyond : Without(box, WholeTensor(b))) {
      const std::vector<Box> not_zero = pieces_[b].Missing(beyond, kZeros);
      missing.insert(missing.end(), not_zero.begin(), not_zero.end());
    }
    if (missing.empty()) return;
    report_.Add("step", i, b,
                fmt::format("the op reads version {}, which {} of it does not hold", wanted, BoxText(missing[0])));
  }

  // Every tensor of the op is there, results once. A recomputation may leave out results: those not needed again, and
  // state such as running statistics that must not be updated twice.
  void CheckComplete(InstructionIndex i, const Kernel& kernel) {
    const Op& op = step_.ops[Index(kernel.op)];
    bool has_result = false;
    for (const TensorId t : op.writes) {
      const auto count = CountOperands(kernel, t);
      has_result = has_result || count > 0;
      if (count != 1 && !(count == 0 && kernel.recomputation)) Miscounted(i, t, count);
    }
    for (const TensorId t : op.reads) {
      if (!Contains(op.writes, t) && CountOperands(kernel, t) == 0) Miscounted(i, t, 0);
    }
    if (!has_result && !op.writes.empty()) report_.Add("step", i, kNoBuffer, "it has no result of its op");
  }

  void Miscounted(InstructionIndex i, TensorId t, std::size_t count) {
    report_.Add("step", i, kNoBuffer, fmt::format("it has {} operands for {}", count, step_.tensors[Index(t)].name));
  }

  // Sections count as one.
  std::size_t CountOperands(const Kernel& kernel, TensorId t) const {
    const TensorOperands found = OperandsOf(program_, step_, kernel, t);
    return found.together ? 1 : found.count;
  }

  bool HoldsLast(BufferId b, TensorId t) const {
    if (IsDivided(b)) return pieces_[b].Missing(WholeTensor(b), versions_.Last(t)).empty();
    return Defined(b) && content_[b].version == versions_.Last(t);
  }

  // What lives on the host or the device between steps must be there, updated, at the end; ops in parts must be done.
  void AtEnd() override {
    const auto end = static_cast<InstructionIndex>(program_.code.size());
    for (const std::string& text : finished_.Unfinished()) report_.Add("step", end, kNoBuffer, text);
    for (TensorId t = 0; Index(t) < on_host_.size(); ++t) {
      const BufferId b = on_host_[Index(t)];
      if (b != kNoBuffer && !HoldsLast(b, t))
        report_.Add("step", end, b, "its last version does not return to the host");
    }
    for (const RestingTensor& tensor : resting_) {
      if (HoldsLast(tensor.last, program_.buffers[tensor.last].tensor)) continue;
      report_.Add("step", end, tensor.last, "it is freed last, and does not hold the last version");
    }
  }

  const TrainingStep& step_;
  const std::vector<RestingTensor>& resting_;
  StepVersions versions_;
  std::vector<BufferId> on_host_;  // by tensor: the host buffer that holds it then
  std::vector<bool> placed_;       // by tensor: its first device buffer was seen
  std::vector<bool> divided_;      // by tensor
  std::vector<Pieces> pieces_;     // by buffer, of divided tensors
  FinishedParts finished_;
};

}  // namespace

void CheckStepContents(const Program& program, const TrainingStep& step, const std::vector<RestingTensor>& resting,
                       Report& report) {
  StepContents(program, step, resting, report).Run();
}

}  // namespace spillway::verifying
