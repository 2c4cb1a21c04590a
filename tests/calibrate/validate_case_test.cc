// A case from plans to rows, on a fake device whose kernels and copies take what the test says.
#include <catch2/catch.hpp>
#include <deque>

#include "calibrate/validate/case_rows.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/strategies/strategies.h"
#include "tests/scripted_device.h"

namespace spillway {
namespace {

class Process : public ProcessMemory {
 public:
  Bytes Resident() override { return 1000; }
  Bytes Peak() override { return peak; }
  void StartPeak() override { ++starts; }
  Bytes peak = 0;
  int starts = 0;
};

// ResNet-20 at batch 2 on the unit machine, with half of its maps' bytes less than it takes in-core.
struct SmallCase {
  SmallCase() {
    Problem problem = ProblemFor(kGB);
    const Bytes in_core = Evaluate(Plan{}, problem).peak_bytes;
    setup.step = &step;
    setup.costs = &costs;
    setup.capacity = in_core - step.MapBytes() / 2;
    for (const char* name : {"in-core", "swap-all", "recompute-all"}) Add(name);
  }
  Problem ProblemFor(Bytes capacity) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.use_runtime = true;
    return problem;
  }
  void Add(const char* strategy) {
    const Problem problem = ProblemFor(setup.capacity);
    const Planned planned = StrategyByName(strategy).plan(problem);
    plans.push_back(planned.plan);
    evaluations.push_back(planned.feasible ? Evaluate(planned.plan, problem) : Evaluation{});
    if (!planned.feasible) evaluations.back().reason = planned.reason;
    setup.contenders.push_back(
        {.name = strategy, .stratum = "", .random = false, .plan = &plans.back(), .evaluation = &evaluations.back()});
  }
  // Kernels take `kernels` times what is predicted, copies `copies` times.
  ScriptedDevice::Times Times(double kernels, double copies) const {
    return [this, kernels, copies](const Program& program) {
      std::vector<Nanos> times = Durations(program, costs);
      for (std::size_t i = 0; i < times.size(); ++i) {
        const double factor = program.code[i].opcode == Opcode::kCopy ? copies : kernels;
        times[i] = static_cast<Nanos>(static_cast<double>(times[i]) * factor);
      }
      return times;
    };
  }
  CaseResult Run(ScriptedDevice& device, ProcessMemory* memory = nullptr,
                 CaseOptions options = {.steps = 4, .rounds = 2}) {
    options.memory = memory;
    return RunCase(setup, device, device, options);
  }

  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 2}));
  std::deque<Plan> plans;
  std::deque<Evaluation> evaluations;
  CaseSetup setup;
};

// Where less is free than a convolution wants, it is computed by another algorithm than in core.
TEST_CASE("plans whose convolutions get less workspace may round otherwise") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 64}));
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = kGB;
  problem.use_runtime = true;
  const Plan plan;
  Evaluation evaluation = Evaluate(plan, problem);
  REQUIRE(evaluation.feasible);
  const CaseSetup setup{.step = &step, .costs = &costs, .capacity = kGB, .contenders = {}};
  const Contender contender{.name = "in-core", .stratum = "", .plan = &plan, .evaluation = &evaluation};
  CHECK(RowOf(contender, setup).numerics.allowed == 0);
  for (Launch& launch : evaluation.program.launches) launch.workspace = 0;
  CHECK(RowOf(contender, setup).numerics.allowed == kRounding);
}

TEST_CASE("a device that does what is predicted leaves no error") {
  SmallCase c;
  ScriptedDevice device(c.Times(1, 1));
  Process process;
  process.peak = 1000 + 12'345'678;
  const CaseResult result = c.Run(device, &process);
  REQUIRE(result.rows.size() == 3);
  CHECK_FALSE(result.rows[0].feasible);
  CHECK_THAT(result.rows[0].reason, Catch::StartsWith("out_of_memory"));
  CHECK_FALSE(result.rows[0].Measured());
  for (const ValidationRow& row : {result.rows[1], result.rows[2]}) {
    INFO(row.strategy);
    CHECK(row.measured == static_cast<double>(row.predicted));
    CHECK(row.Error() == 0);
    CHECK(row.measured_low == row.measured);
    CHECK(row.measured_spread == 0);
    CHECK(row.step_times.size() == 2);
    CHECK(row.split.kernels == 1);
    CHECK(row.split.copies == 1);
    CHECK(row.split.isolated == 1);
    CHECK(row.split.context == 1);
    CHECK(row.split.replay == 1);
    CHECK(row.split.gaps == 0);
    CHECK(row.split.perturbation == 0);
    CHECK(row.numerics.kind == Numerics::Kind::kBitwise);
    CHECK(row.measured_peak <= row.predicted_peak);
    CHECK(row.measured_peak > row.predicted_peak - 512);
    CHECK(row.predicted_host > 0);
    CHECK(row.measured_host == -1);                                        // the fake device tells nothing
    CHECK(row.measured_device == 12'345'678 - row.predicted_host - kMiB);  // less the guard behind the arena
  }
  CHECK(result.in_core == result.in_core_predicted);
  CHECK(process.starts == 2 * 3);  // each step of two rows and of in-core
  CHECK(result.notes.empty());
}

TEST_CASE("errors of kernels and of copies are told apart") {
  SmallCase c;
  ScriptedDevice device(c.Times(1.25, 2));
  const CaseResult result = c.Run(device);
  const ValidationRow& swapped = result.rows[1];
  CHECK(swapped.Error() < -0.19);
  CHECK(swapped.split.kernels == Approx(0.8).epsilon(0.001));
  CHECK(swapped.split.modelled == swapped.split.kernels);
  CHECK(swapped.split.seen == 0);
  CHECK(swapped.split.copies == Approx(0.5));
  CHECK(swapped.split.replay == 1);
  CHECK(result.in_core_split.kernels == Approx(0.8).epsilon(0.001));
}

TEST_CASE("a host that takes its time makes gaps, which the replay does not know") {
  SmallCase c;
  FakeOptions slow;
  slow.host_cost.fill(2'000'000);  // kernels are shorter than the calls that issue them
  ScriptedDevice device(c.Times(1, 1), slow);
  const CaseResult result = c.Run(device);
  CHECK(result.rows[1].split.gaps > 0.3);
  CHECK(result.rows[1].split.replay < 0.7);
  CHECK(result.rows[1].split.kernels == 1);
}

TEST_CASE("steps, sessions and what is told of them") {
  SmallCase c;
  ScriptedDevice device(c.Times(1, 1));
  int told = 0;
  const CaseOptions options{.steps = 6, .rounds = 3, .progress = [&] { ++told; }};
  const CaseResult result = c.Run(device, nullptr, options);
  CHECK(told == CaseSessions(c.setup, options));
  CHECK(static_cast<int>(device.sessions().size()) == told);
  CHECK(Flat(result.rows[1].step_times).size() == 6);
  CHECK(result.rows[1].measured_device == -1);  // nobody to ask
  for (const ScriptedDevice::Seen& session : device.sessions()) {
    if (session.debug) CHECK(session.steps == 2);
  }
}

TEST_CASE("a run that fails is a row that says why; the others are measured") {
  SmallCase c;
  ScriptedDevice device(c.Times(1, 1), {.injections = {{Injection::What::kMemoryCorrupted, 300}}});
  const CaseResult result = c.Run(device);
  CHECK(result.rows[1].failed);
  CHECK_THAT(result.rows[1].reason, Catch::StartsWith("contents: iteration 1: instruction"));
  CHECK_FALSE(result.rows[1].Measured());
  REQUIRE(result.notes.size() == 1);
  CHECK_THAT(result.notes[0], Catch::StartsWith("in-core did not run: "));
}

TEST_CASE("a plan that the library refuses is a row that says so; the others are measured") {
  SmallCase c;
  // Only recomputation has more kernels than the step has ops.
  const auto first_beyond = static_cast<std::uint32_t>(c.step.ops.size());
  ScriptedDevice device(c.Times(1, 1), {.injections = {{Injection::What::kKernelRefused, first_beyond}}});
  const CaseResult result = c.Run(device);
  CHECK(result.rows[1].Measured());
  CHECK(result.rows[1].numerics.kind == Numerics::Kind::kBitwise);
  CHECK_FALSE(result.rows[1].refused);
  CHECK(result.in_core > 0);
  CHECK(result.rows[2].failed);
  CHECK(result.rows[2].refused);
  CHECK_FALSE(result.rows[2].Measured());
  CHECK_THAT(result.rows[2].reason, Catch::StartsWith("refused: ") && Catch::Contains("the library refuses"));
}

TEST_CASE("where every plan is refused no row is measured, and in-core is a note") {
  SmallCase c;
  ScriptedDevice device(c.Times(1, 1), {.injections = {{Injection::What::kKernelRefused, 0}}});
  const CaseResult result = c.Run(device);
  CHECK_THAT(result.rows[1].reason, Catch::Contains("conv1:forward"));
  CHECK(result.rows[1].refused);
  CHECK(result.rows[2].refused);
  CHECK(result.in_core == 0);
  REQUIRE_FALSE(result.notes.empty());
  CHECK_THAT(result.notes[0], Catch::StartsWith("in-core did not run: "));
}

TEST_CASE("memory that is not there for the plans: rows that say so, and the first of them for whoever asks") {
  SmallCase c;
  ScriptedDevice small(c.Times(1, 1), {.injections = {{Injection::What::kNoArena, 0}}});
  const CaseResult result = c.Run(small);
  for (const ValidationRow& row : {result.rows[1], result.rows[2]}) {
    CHECK(row.failed);
    CHECK_THAT(row.reason, Catch::StartsWith("no memory: "));
  }
  CHECK_THAT(result.no_memory, Catch::StartsWith("recompute-all: ") && Catch::EndsWith("(no memory)"));
  REQUIRE_FALSE(result.notes.empty());
  CHECK_THAT(result.notes[0], Catch::StartsWith("in-core did not run: "));
}

TEST_CASE("host memory that one plan has not is that plan's; the others are measured") {
  SmallCase c;
  // Only what moves maps has so many host buffers.
  const std::uint32_t many = 3;
  ScriptedDevice device(c.Times(1, 1), {.injections = {{Injection::What::kNoHostMemory, many}}});
  const CaseResult result = c.Run(device);
  CHECK(result.rows[1].failed);
  CHECK_THAT(result.rows[1].reason, Catch::StartsWith("no memory: "));
  CHECK_THAT(result.no_memory, Catch::StartsWith("swap-all: "));
  CHECK(result.rows[2].Measured());
  CHECK(result.in_core > 0);
}

TEST_CASE("a case that cannot begin: its feasible rows fail, with what was predicted") {
  SmallCase c;
  const CaseResult result = FailedCase(c.setup, "the device is lost");
  REQUIRE(result.rows.size() == 3);
  CHECK_FALSE(result.rows[0].failed);  // it would not have run anyway
  CHECK_THAT(result.rows[0].reason, Catch::StartsWith("out_of_memory"));
  for (const ValidationRow& row : {result.rows[1], result.rows[2]}) {
    CHECK(row.failed);
    CHECK(row.reason == "the device is lost");
    CHECK(row.predicted > 0);
    CHECK_FALSE(row.Measured());
  }
}

}  // namespace
}  // namespace spillway
