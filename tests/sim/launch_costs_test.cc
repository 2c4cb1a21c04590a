// What issuing a launch costs by op and pass, and a step that the host holds up.
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "sim/engine/simulate.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

Machine WithLaunches(const std::vector<LaunchCost>& launches) {
  Machine machine = HandMachine();
  machine.devices[0].host_costs.kernel_launch = 6;
  machine.devices[0].host_costs.launches = launches;
  return machine;
}

Evaluation InCore(const Machine& machine, Nanos framework_time = 0) {
  const TrainingStep step = MakeChain();
  const CostModel costs(machine);
  Plan plan;
  plan.strategy = "by hand";
  plan.network = step.network;
  plan.batch = step.batch;
  plan.runtime.framework_time = framework_time;
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = 100'000;
  return Evaluate(plan, problem);
}

}  // namespace

TEST_CASE("a launch costs what its op and pass cost, any other what a kernel costs") {
  const Machine machine = WithLaunches({{.op = OpKind::kConvolution, .pass = Pass::kForward, .time = 9},
                                        {.op = OpKind::kBatchNorm, .pass = Pass::kBackward, .time = 20}});
  const CostModel model(machine);
  const LaunchCosts& costs = model.launch_costs();
  CHECK(costs.differ());
  CHECK(costs.Of(OpKind::kConvolution, Pass::kForward) == 9);
  CHECK(costs.Of(OpKind::kConvolution, Pass::kBackwardFilter) == 6);
  CHECK(costs.Of(OpKind::kBatchNorm, Pass::kForward) == 6);
  CHECK(costs.Of(OpKind::kBatchNorm, Pass::kBackward) == 20);
  CHECK(costs.Of(OpKind::kUpdate, Pass::kUpdate) == 6);
}

TEST_CASE("where nothing costs more or less than any kernel, one figure is enough") {
  CHECK_FALSE(LaunchCosts(WithLaunches({}).devices[0].host_costs).differ());
  const Machine same = WithLaunches({{.op = OpKind::kRelu, .pass = Pass::kForward, .time = 6}});
  CHECK_FALSE(LaunchCosts(same.devices[0].host_costs).differ());
}

// In-core, as "a slow host" of evaluate_test.cc: a launch of 6 ns forward and of 10 backward, ops of 4.
//
//   host     |f1 6|f2 6|f3 6|b3 10  |b2 10  |b1 10  |
//   h2d      |upload 10|
//   compute            |f1|f2|f3|   |b3|    |b2|    |b1|
//   starts             10 14 18     28      38      48
TEST_CASE("a step that the host holds up") {
  const Machine machine = WithLaunches({{.op = OpKind::kLinear, .pass = Pass::kBackward, .time = 10}});
  const Evaluation e = InCore(machine);
  CHECK(e.step_time == 48 + 4);
  CHECK(e.stall_in == 10);
  CHECK(e.stall_host == (28 - 22) + (38 - 32) + (48 - 42));
  // The framework's 4 ns come to each: 3 x 10 + 3 x 14, then the last op.
  CHECK(InCore(machine, 4).step_time == 72 + 4);
  // Without the list all cost 6: 6 x 6 + 4.
  CHECK(InCore(WithLaunches({})).step_time == 40);
  // A list of what the step has none of changes nothing.
  CHECK(InCore(WithLaunches({{.op = OpKind::kRelu, .pass = Pass::kForward, .time = 1000}})).step_time == 40);
}

TEST_CASE("a profile without launch costs asks nothing of the engines") {
  const Machine machine = WithLaunches({});
  const CostModel costs(machine);
  Program program;
  program.launches.resize(3);
  CHECK(ConditionsOf(program, costs, {}, 0).launch_cost.empty());
  const Machine with = WithLaunches({{.op = OpKind::kRelu, .pass = Pass::kForward, .time = 9}});
  const CostModel more(with);
  program.launches[1].kind = OpKind::kRelu;
  CHECK(ConditionsOf(program, more, {}, 0).launch_cost == std::vector<Nanos>{6, 9, 6});
}

}  // namespace spillway
