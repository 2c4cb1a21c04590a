// A plan and a program as golden texts: any change of a decision, of an instruction or of an address is seen.
#include <catch2/catch.hpp>

#include "sim/evaluate.h"
#include "sim/margin.h"
#include "tests/golden.h"

namespace spillway {
namespace {

struct Case {
  Machine machine = LoadMachine("v100-x86-pcie3");
  CostModel costs{machine};
  TrainingStep step;
  Problem problem;

  Case(const char* network, std::int64_t batch, const char* runtime)
      : step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), StepOptionsByName("chainer"))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
    problem.use_runtime = true;
    problem.runtime = RuntimeByName(runtime);
  }
};

TEST_CASE("the plan for ResNet-50 beyond 16 GB") {
  const Case c("resnet50", 256, "pooch");
  const Planned planned = PlanWithMargin(StrategyByName("pooch"), c.problem);
  REQUIRE(planned.feasible);
  CHECK_GOLDEN("plan-resnet50-b256-pooch", PlanToYaml(planned.plan, c.step));
}

TEST_CASE("the program of a small network in little memory") {
  Case c("cifar-alexnet", 64, "arena");
  c.problem.capacity = 90 * kMB;
  const Planned planned = PlanWithMargin(StrategyByName("pooch"), c.problem);
  INFO(planned.reason);
  REQUIRE(planned.feasible);
  const Evaluation evaluation = Evaluate(planned.plan, c.problem);
  INFO(evaluation.reason);
  REQUIRE(evaluation.feasible);
  REQUIRE(evaluation.classes.keep < static_cast<int>(c.step.maps.size()));  // something moves
  CHECK_GOLDEN("program-cifar-alexnet-b64", DumpProgram(evaluation.program, &c.step));
}

}  // namespace
}  // namespace spillway
