#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

struct Case {
  TrainingStep step;
  Machine machine = LoadMachine("v100-x86-pcie3");
  CostModel costs{machine};
  Problem problem;

  explicit Case(std::int64_t batch)
      : step(BuildTrainingStep(BuildZooNetwork("resnet50", {.batch = batch}), StepOptionsByName("chainer"))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
  }
  void InArena() {
    problem.use_runtime = true;
    problem.runtime = RuntimeByName("arena");
  }
};

TEST_CASE("a plan for a pool is the strategy's own") {
  const Case c(256);
  const Strategy& strategy = StrategyByName("pooch-released");
  CHECK(PlanWithHeadroom(strategy, c.problem).plan == strategy.plan(c.problem).plan);
}

// Does not run with all of the memory, so that what is made for less is chosen. Claims of every capacity what it is in
// kilobytes.
Planned Claims(const Problem& problem) {
  const bool all = problem.capacity > Case(1).problem.capacity / 100 * 99;
  Planned planned = StrategyByName("swap-all").plan(problem);
  if (all) planned.plan.gaps.resize(1);
  planned.bound = ClaimedBound{.time = problem.capacity / kKB, .scope = WidestScope(), .how = "by its size"};
  return planned;
}

TEST_CASE("a bound claimed with a plan for less memory does not pass for one of all of it") {
  Case c(256);
  c.InArena();
  const Strategy strategy{"claims", "", "", &Claims};
  const Planned planned = PlanWithHeadroom(strategy, c.problem);
  REQUIRE(planned.feasible);
  REQUIRE(planned.bound);
  REQUIRE(planned.plan.gaps.size() > 1);
  CHECK(planned.bound->time == c.problem.capacity / kKB);
  c.problem.capacity = c.problem.capacity / 100 * 97;
  CHECK(strategy.plan(c.problem).bound->time < planned.bound->time);
}

TEST_CASE("a plan that moves nothing needs no margin") {
  Case c(128);
  c.InArena();
  const Planned planned = PlanWithHeadroom(StrategyByName("in-core"), c.problem);
  CHECK(planned.feasible);
  CHECK(planned.plan.capacity == c.problem.capacity);
}

TEST_CASE("in an arena the plan with a margin runs where the strategy's own may not, and is never slower") {
  int own_runs = 0;
  for (const std::int64_t batch : {256, 384, 512, 640}) {
    Case c(batch);
    c.InArena();
    const Strategy& strategy = StrategyByName("pooch-released");
    const Evaluation with = Evaluate(PlanWithHeadroom(strategy, c.problem).plan, c.problem, {.bounds = false});
    const Evaluation own = Evaluate(strategy.plan(c.problem).plan, c.problem, {.bounds = false});
    INFO("batch " << batch << ": " << with.reason << " / " << own.reason);
    CHECK(with.feasible);
    CHECK(with.peak_bytes <= c.problem.capacity);
    own_runs += own.feasible ? 1 : 0;
    if (own.feasible) CHECK(with.step_time <= own.step_time);
  }
  CHECK(own_runs > 0);
}

}  // namespace
}  // namespace spillway
