// What a step took as samples, and a machine that answers with them.
#include "calibrate/validate/step_costs.h"

#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

// A small step that swaps everything, on the unit machine; its spans are twice what is predicted, copies three times.
struct Measured {
  Measured() {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = kGB;
    problem.use_runtime = true;
    evaluation = Evaluate(StrategyByName("swap-all").plan(problem).plan, problem);
    const std::vector<Nanos> durations = Durations(evaluation.program, costs);
    for (std::uint32_t i = 0; i < durations.size(); ++i) {
      const Opcode opcode = evaluation.program.code[i].opcode;
      if (opcode == Opcode::kKernel) timeline.spans.push_back({i, 0, 2 * durations[i]});
      if (opcode == Opcode::kCopy) timeline.spans.push_back({i, 0, 3 * durations[i]});
    }
  }
  SampleSet Read() const {
    const std::vector<Sample> samples =
        SamplesOfStep(evaluation.program, {&timeline, 1}, costs, {machine.devices[0].name, "small", "swap-all"});
    return ParseSamples(WriteSamples(samples), "costs.csv");
  }

  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 2}));
  Evaluation evaluation;
  Timeline timeline;
};

TEST_CASE("launches and copies of a step come back as they were measured") {
  const Measured m;
  const SampleSet set = m.Read();
  CHECK(set.warnings.empty());
  const Machine machine = WithStepCosts(m.machine, set);
  const CostModel costs(machine);
  for (const Op& op : m.step.ops) {
    const Launch launch = LaunchOf(op);
    INFO(OpKindName(op.kind) << " " << PassName(op.pass));
    CHECK(costs.Kernel(launch).time == 2 * m.costs.Kernel(launch).time);
    CHECK(std::string(costs.Kernel(launch).how) == "measured");
  }
  int copies = 0;
  for (const Copy& copy : m.evaluation.program.copies) {
    CHECK(costs.Copy(copy.bytes, copy.direction).time == 3 * m.costs.Copy(copy.bytes, copy.direction).time);
    ++copies;
  }
  CHECK(copies > 20);
  // Beyond all sizes measured as the nearest one: the unit machine's curve has no bends.
  CHECK(costs.Copy(kGB, Direction::kHostToDevice).time ==
        Approx(3.0 * static_cast<double>(m.costs.Copy(kGB, Direction::kHostToDevice).time)).epsilon(1e-6));
  // Other launches are answered as before.
  Launch other = LaunchOf(m.step.ops[0]);
  other.shape.in.n = other.shape.out.n = 64;
  CHECK(costs.Kernel(other).time == m.costs.Kernel(other).time);
}

TEST_CASE("a step by its own costs takes what it took") {
  const Measured m;
  const Machine machine = WithStepCosts(m.machine, m.Read());
  const CostModel costs(machine);
  const std::vector<Nanos> durations = Durations(m.evaluation.program, costs);
  for (const Span& span : m.timeline.spans) CHECK(durations[span.instruction] == span.end - span.start);
}

TEST_CASE("costs of another device, and none at all, are refused") {
  const Measured m;
  Machine other = m.machine;
  other.devices[0].name = "gpu";
  CHECK_THROWS_WITH(WithStepCosts(other, m.Read()), Catch::Contains("costs.csv:2: error: costs of device"));
  SampleSet none;
  none.files = {"costs.csv"};
  CHECK_THROWS_WITH(WithStepCosts(m.machine, none), Catch::Contains("costs.csv: error: no costs"));
}

}  // namespace
}  // namespace spillway
