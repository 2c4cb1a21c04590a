// Plans and programs as golden texts: any change of a decision, of an instruction or of an address is seen, here in
// full for one small network under every strategy; digests for all that is shipped are in shipped_scenarios_test.cc.
#include <catch2/catch.hpp>

#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"
#include "tests/golden.h"

namespace spillway {
namespace {

struct Case {
  Machine machine = LoadMachine("v100-x86-pcie3");
  CostModel costs{machine};
  StepsInParts parts;
  const TrainingStep& step;
  Problem problem;

  Case(const char* network, std::int64_t batch, const char* runtime)
      : parts(batch,
              [network](std::int64_t n) {
                return BuildTrainingStep(BuildZooNetwork(network, {.batch = n}), StepOptionsByName("chainer"));
              }),
        step(parts.In(1).part) {
    problem.step = &step;
    problem.in_parts = &parts;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
    problem.use_runtime = true;
    problem.runtime = RuntimeByName(runtime);
  }
};

TEST_CASE("the plan for ResNet-50 beyond 16 GB") {
  const Case c("resnet50", 256, "pooch");
  const Planned planned = PlanWithHeadroom(StrategyByName("pooch"), c.problem);
  REQUIRE(planned.feasible);
  CHECK_GOLDEN("plan-resnet50-b256-pooch", PlanToYaml(planned.plan, c.step));
}

// cifar-vgg at batch 64 needs 103 MB in-core and 85 MB for its largest op: in 95 MB every strategy has to move something
// and each finds a plan, unless it moves nothing by its nature.
void CheckSmall(const Strategy& strategy, const char* runtime) {
  Case c("cifar-vgg", 64, runtime);
  const std::string called = strategy.name;
  if (called.starts_with("unified-memory")) return;  // in no arena, and decides nothing
  const bool in_core = called == "in-core" || called.starts_with("ucudnn-");
  if (!in_core) c.problem.capacity = 95 * kMB;
  if (called == "vdnn-conv-p") c.problem.capacity = 109 * kMB;  // its algorithms take what workspace they like
  const Planned planned = PlanWithHeadroom(strategy, c.problem);
  INFO(strategy.name << " on " << runtime << ": " << planned.reason);
  REQUIRE(planned.feasible);
  const TrainingStep& step = c.parts.In(planned.plan.accumulate).all.step;
  c.problem.step = &step;
  const Evaluation evaluation = Evaluate(planned.plan, c.problem);
  INFO(evaluation.reason);
  REQUIRE(evaluation.feasible);
  REQUIRE(in_core == (evaluation.classes.keep == static_cast<int>(c.step.maps.size())));
  const std::string name = std::string("cifar-vgg-") + strategy.name + "-" + runtime;
  CHECK_GOLDEN("plan-" + name, PlanToYaml(planned.plan, step));
  CHECK_GOLDEN("program-" + name, DumpProgram(evaluation.program, &step));
}

TEST_CASE("plans and programs of a small network in little memory") {
  for (const Strategy& strategy : Strategies()) CheckSmall(strategy, "arena");
  CheckSmall(StrategyByName("pooch"), "pooch");
}

}  // namespace
}  // namespace spillway
