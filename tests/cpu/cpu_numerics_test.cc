// Training out of core on the CPU device computes what training in core computes, bit for bit: losses, parameters,
// momenta, running statistics; whatever the strategy, the order of issue and the speed of the link. And a Program that
// lacks a wait does not.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>

#include "calibrate/devices/cpu/event.h"
#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "tests/cpu_training.h"
#include "tests/random_plan.h"
#include "tests/random_programs.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

constexpr int kIterations = 3;

bool Repeats(const CpuCase& c, const Program& program, OpKind kind) {
  return std::any_of(program.kernels.begin(), program.kernels.end(), [&](const Kernel& kernel) {
    return kernel.recomputation && c.step.ops[static_cast<std::size_t>(kernel.op)].kind == kind;
  });
}

void CheckSame(const CpuCase& c, const Trained& reference, const Program& program, std::uint64_t seed) {
  const Trained plain = Train(c, program, {.iterations = kIterations}, {.link_rate = 4});
  REQUIRE(Says(plain) == "");
  CHECK(Difference(plain, reference) == "");
  const Trained shuffled = Train(c, program, {.iterations = kIterations, .debug = true, .shuffle_seed = seed});
  REQUIRE(Says(shuffled) == "");
  CHECK(Difference(shuffled, reference) == "");
  CHECK(shuffled.result.high_water <= program.PeakAddress());
  CHECK(shuffled.result.high_water > program.PeakAddress() - 4096);  // what is left is rounding
}

// ---- in core --------------------------------------------------------------------------------------------------------

// The step op by op, a buffer for each tensor, no device: what the device's in-core run has to come to.
class PlainTraining {
 public:
  PlainTraining(const CpuCase& c, const Program& in_core) : c_(c), values_(c.step, 1), launches_(c.step.ops.size()) {
    for (const Kernel& kernel : in_core.kernels) {
      Launch& launch = launches_[static_cast<std::size_t>(kernel.op)];
      launch = in_core.launches[kernel.launch];
      const Operand& last = in_core.operands[kernel.operands + kernel.operand_count - 1];
      if (in_core.buffers[last.buffer].kind == BufferKind::kWorkspace)
        launch.workspace = in_core.buffers[last.buffer].bytes;
    }
    for (const Tensor& tensor : c.step.tensors) buffers_.emplace_back(static_cast<std::size_t>(tensor.bytes));
  }
  void Run(int iteration) {
    for (TensorId t = 0; t < static_cast<TensorId>(buffers_.size()); ++t) {
      const TensorClass use = c_.step.tensors[static_cast<std::size_t>(t)].use;
      const bool lasts = use == TensorClass::kParameter || use == TensorClass::kOptimizerState;
      if (use == TensorClass::kInput || (lasts && iteration == 0)) values_.Fill(iteration, t, Bytes(t));
    }
    for (OpId op = 0; op < static_cast<OpId>(c_.step.ops.size()); ++op) RunOp(iteration, op);
  }
  std::span<std::byte> Bytes(TensorId t) { return buffers_[static_cast<std::size_t>(t)]; }
  double loss = 0;

 private:
  void RunOp(int iteration, OpId id) {
    const Op& op = c_.step.ops[static_cast<std::size_t>(id)];
    OpCall call = CallOf(c_.step.ops[Index(id)]);
    call.launch = launches_[static_cast<std::size_t>(id)];
    const CpuKernel& kernel = kernels_.Prepare(call);
    std::vector<void*> reads, writes;
    for (const TensorId t : op.reads) reads.push_back(Bytes(t).data());
    for (const TensorId t : op.writes) writes.push_back(Bytes(t).data());
    std::vector<std::int32_t> labels;
    const Shape& shape = op.shape.in;
    for (std::int64_t n = 0; op.kind == OpKind::kSoftmaxLoss && n < shape.n; ++n) {
      labels.push_back(LabelOf(1, static_cast<std::uint64_t>(iteration), static_cast<std::uint64_t>(n), shape.c));
    }
    const auto step = static_cast<std::uint64_t>(iteration);
    workspace_.resize(std::max(workspace_.size(), static_cast<std::size_t>(kernel.workspace()) + 64));
    void* const aligned = workspace_.data() + (64 - reinterpret_cast<std::uintptr_t>(workspace_.data()) % 64);
    kernel.Run({.reads = reads,
                .writes = writes,
                .workspace = aligned,
                .random_stream = RandomStream(1, step, op.layer),
                .labels = labels});
    if (op.kind != OpKind::kSoftmaxLoss || op.pass != Pass::kForward) return;
    const std::span<const float> result(static_cast<const float*>(writes[0]),
                                        static_cast<std::size_t>(shape.Elements()));
    loss = CrossEntropy(shape, result, labels);
  }

  const CpuCase& c_;
  CpuKernels kernels_;
  TrainingValues values_;
  std::vector<Launch> launches_;  // by op
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::byte> workspace_;
};

TEST_CASE("in core, the device computes the step op by op") {
  const SmallNetwork& entry = GENERATE(from_range(kNetworks));
  INFO(entry.name);
  const CpuCase c(entry.build(), StepOptionsByName(entry.options));
  const Evaluation in_core = c.InCore();
  const Trained device = Train(c, in_core.program, {.iterations = kIterations, .debug = true});
  REQUIRE(Says(device) == "");
  PlainTraining plain(c, in_core.program);
  for (int k = 0; k < kIterations; ++k) {
    plain.Run(k);
    CHECK(device.losses.at(static_cast<std::size_t>(k)) == plain.loss);
  }
  for (std::size_t t = 0; t < c.step.tensors.size(); ++t) {
    const auto found = device.tensors.find(c.step.tensors[t].name);
    if (found == device.tensors.end()) continue;
    INFO(found->first);
    const std::span<const std::byte> wanted = plain.Bytes(static_cast<TensorId>(t));
    CHECK(std::equal(found->second.begin(), found->second.end(), wanted.begin(), wanted.end()));
  }
  CHECK(device.tensors.size() > 10);
}

TEST_CASE("training learns, from the first batch to batches never seen") {
  const CpuCase c(ResNet(), StepOptionsByName("chainer"));
  const Trained trained = Train(c, c.InCore().program, {.iterations = 20});
  REQUIRE(Says(trained) == "");
  const std::vector<double>& losses = trained.losses;
  REQUIRE(losses.size() == 20);
  const double first = (losses[0] + losses[1] + losses[2]) / 3, last = (losses[17] + losses[18] + losses[19]) / 3;
  INFO(first << " to " << last);
  CHECK(last < 0.8 * first);
  CHECK(trained.statistics.size() == 21);  // batch norms
  for (const auto& [layer, values] : trained.statistics) {
    for (const float value : values) CHECK(std::isfinite(value));
  }
}

TEST_CASE("the same seed gives the same bits, another one does not") {
  const CpuCase c(Modules());
  const Program program = c.InCore().program;
  const Trained first = Train(c, program, {.iterations = 2});
  CHECK(Difference(first, Train(c, program, {.iterations = 2})) == "");
  CHECK(Difference(first, Train(c, program, {.iterations = 2}, {.seed = 2})) != "");
  CHECK(Difference(first, Train(c, program, {.iterations = 2}, {.learning_rate = 0.02f})) != "");
}

// ---- out of core ----------------------------------------------------------------------------------------------------

TEST_CASE("every strategy trains as in core", "[long]") {
  const SmallNetwork& entry = GENERATE(from_range(kNetworks));
  const CpuCase c(entry.build(), StepOptionsByName(entry.options));
  const Evaluation in_core = c.InCore();
  const Trained reference = Train(c, in_core.program, {.iterations = kIterations});
  REQUIRE(Says(reference) == "");
  INFO(entry.name);
  ForEachTightProgram(c, in_core.peak_bytes, [&](const Program& program) { CheckSame(c, reference, program, 1); });
}

TEST_CASE("random plans train as in core, on all runtimes that execute") {
  Random random(5);
  bool norms = false, dropouts = false;
  for (const SmallNetwork& entry : kNetworks) {
    const CpuCase c(entry.build(), StepOptionsByName(entry.options));
    const Trained reference = Train(c, c.InCore().program, {.iterations = kIterations});
    ForEachRandomProgram(c.step, c.costs, random, [&](const Program& program) {
      INFO(entry.name);
      CheckSame(c, reference, program, 1 + random.Below(1000));
      norms = norms || Repeats(c, program, OpKind::kBatchNorm);
      dropouts = dropouts || Repeats(c, program, OpKind::kDropout);
    });
  }
  CHECK(norms);
  CHECK(dropouts);
}

// Changes the operands of recomputations that the step does not move: saved statistics, dropout masks.
Program WithSideResults(const CpuCase& c, const Program& program, bool leave_out, int& changes) {
  Program changed = program;
  changed.operands.clear();
  for (Kernel& kernel : changed.kernels) {
    const std::uint32_t first = static_cast<std::uint32_t>(changed.operands.size());
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      Operand operand = program.operands[kernel.operands + k];
      const Buffer& buffer = program.buffers[operand.buffer];
      const bool aside = kernel.recomputation && buffer.tensor != kNoTensor && operand.access == Access::kWrite &&
                         c.step.tensors[static_cast<std::size_t>(buffer.tensor)].use == TensorClass::kAuxiliary;
      changes += aside ? 1 : 0;
      if (aside && leave_out) continue;
      if (aside) operand.access = Access::kRead;
      changed.operands.push_back(operand);
    }
    kernel.operands = first;
    kernel.operand_count = static_cast<std::uint32_t>(changed.operands.size()) - first;
  }
  return changed;
}

TEST_CASE("a recomputation leaves alone what it may only read, and does without what it has no buffer for") {
  const CpuCase c(Modules());
  const Trained reference = Train(c, c.InCore().program, {.iterations = kIterations});
  const StepTables tables(c.step, c.costs);
  Random random(3);
  Plan plan = RandomPlan(c.step, {}, 90, random);
  for (GapDecision& gap : plan.gaps) gap.action = gap.after >= 0 ? GapAction::kRecompute : gap.action;
  while (!FindMistakes(plan, c.step).empty()) {  // what cannot be recomputed
    plan.gaps.erase(plan.gaps.begin() + static_cast<std::ptrdiff_t>(FindMistakes(plan, c.step).front().index));
  }
  Program program = Lower(plan, tables, 0).program;
  PlaceBuffers(program);
  REQUIRE(Repeats(c, program, OpKind::kDropout));
  REQUIRE(Repeats(c, program, OpKind::kBatchNorm));
  for (const bool leave_out : {false, true}) {
    int changes = 0;
    const Program changed = WithSideResults(c, program, leave_out, changes);
    CHECK(changes > 3);
    const Trained trained = Train(c, changed, {.iterations = kIterations, .debug = true});
    REQUIRE(Says(trained) == "");
    CHECK(Difference(trained, reference) == "");
  }
}

TEST_CASE("a schedule that computes values several times within one gap trains as in core", "[long]") {
  std::ptrdiff_t stay = 0, made_to_stay = 0;
  for (const Network& network : {Modules(), ResNet(), AlexNet()}) {
    const CpuCase c(network);
    const Trained reference = Train(c, c.InCore().program, {.iterations = kIterations});
    Random random(11);
    Plan plan = RandomPlan(c.step, {}, 90, random);
    AddRandomEntries(c.step, random, plan);
    REQUIRE(CheckPlan(plan, c.step).empty());
    const auto stays = [](const auto& decision) { return decision.leaves_after != kNoOp; };
    stay += std::count_if(plan.gaps.begin(), plan.gaps.end(), stays);
    made_to_stay += std::count_if(plan.recompute.begin(), plan.recompute.end(), stays);
    Program program = Lower(plan, StepTables(c.step, c.costs), 0).program;
    PlaceBuffers(program);
    std::map<OpId, int> times;
    for (const Kernel& kernel : program.kernels) times[kernel.op] += kernel.recomputation ? 1 : 0;
    CHECK(std::count_if(times.begin(), times.end(), [](const auto& op) { return op.second > 1; }) > 2);
    INFO(c.step.network);
    const Trained trained = Train(c, program, {.iterations = kIterations, .debug = true});
    REQUIRE(Says(trained) == "");
    CHECK(Difference(trained, reference) == "");
  }
  CHECK(stay > 50);
  CHECK(made_to_stay > 5);
}

// ---- broken Programs ------------------------------------------------------------------------------------------------

#if defined(__SANITIZE_THREAD__)
constexpr bool kRacesAllowed = false;  // the sanitizer would report them, as it should
#else
constexpr bool kRacesAllowed = true;
#endif

// Of the instructions on both sides of a wait: the last one on the stream that records the event, and the first one
// behind the wait. Of Programs of which the wait has been taken out.
struct Sides {
  std::uint32_t before = kNoInstruction, behind = kNoInstruction;
};
bool IsWork(Opcode opcode) {
  return opcode == Opcode::kKernel || opcode == Opcode::kCopy || opcode == Opcode::kAlloc || opcode == Opcode::kFree;
}
Sides SidesOf(const Program& program, std::uint32_t at, StreamId waiting, EventId event) {
  Sides sides;
  StreamId recording = 0;
  for (const Instruction& in : program.code) {
    if (in.opcode == Opcode::kRecord && in.arg == event) recording = in.stream;
  }
  for (std::uint32_t i = 0; program.code[i].opcode != Opcode::kRecord || program.code[i].arg != event; ++i) {
    if (program.code[i].stream == recording && IsWork(program.code[i].opcode)) sides.before = i;
  }
  for (std::uint32_t i = at; i < program.code.size() && sides.behind == kNoInstruction; ++i) {
    if (program.code[i].stream == waiting && IsWork(program.code[i].opcode)) sides.behind = i;
  }
  return sides;
}

// Holds up what should have been waited for until a while after what should have waited was reached, or gives up.
class HoldUp {
 public:
  explicit HoldUp(const Sides& sides) : sides_(sides) {}
  void operator()(Issue issue) {
    if (issue.instruction == sides_.behind) reached_.Fire();
    if (issue.instruction != sides_.before) return;
    reached_.Wait({}, 300 * kMillisecond);
    const timespec while_it_runs{.tv_sec = 0, .tv_nsec = 10000000};
    nanosleep(&while_it_runs, nullptr);
  }

 private:
  Sides sides_;
  CpuEvent reached_;
};

bool IsFoundOut(const CpuCase& c, const Trained& reference, const Program& broken, const Sides& sides) {
  for (int k = 0; k < 3; ++k) {  // a machine may be too busy to run in ten milliseconds what was let go
    HoldUp hold_up(sides);
    const Trained trained = Train(c, broken, {.debug = true}, {.before = [&](Issue issue) { hold_up(issue); }});
    if (Says(trained) != "" || trained.losses[0] != reference.losses[0] || trained.tensors != reference.tensors)
      return true;
  }
  return false;
}

TEST_CASE("a Program that lacks a wait is found out", "[long]") {
  if (!kRacesAllowed) return;
  const CpuCase c(Modules());
  const Evaluation in_core = c.InCore();
  const Trained reference = Train(c, in_core.program);
  const Program program = Tight(c, "swap-all", in_core.peak_bytes).program;
  int waits = 0, found = 0;
  std::string missed;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction in = program.code[i];
    if (in.opcode != Opcode::kWait) continue;
    ++waits;
    Program broken = program;
    broken.code.erase(broken.code.begin() + static_cast<std::ptrdiff_t>(i));
    const Sides sides = SidesOf(broken, static_cast<std::uint32_t>(i), in.stream, in.arg);
    if (IsFoundOut(c, reference, broken, sides)) {
      ++found;
    } else {
      missed += fmt::format(" {} ({})", i, CauseName(in.cause));
    }
  }
  INFO("found " << found << ", of " << waits << " waits; missed" << missed);
  CHECK(waits >= 20);
  CHECK(missed == "");
}

}  // namespace
}  // namespace spillway
