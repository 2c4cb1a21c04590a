// No strategy beats the best of all plans: networks of four and five forward ops, drawn, since there are 40,000 of them with
// up to some 100,000 plans each. exhaustive_test has all of up to three ops, optimum_test other algorithms as well.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>

#include "model/util/random.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/every_plan.h"

namespace spillway {
namespace {

constexpr Nanos kNothingFits = INT64_MAX;

struct Drawn {
  explicit Drawn(Random& random) {
    const int ops = 4 + static_cast<int>(random.Below(2));
    dag.reads = {0};
    for (int op = 1; op <= ops; ++op) dag.reads.push_back(1 + random.Below((1u << op) - 1));
    dag.saves = kSaves[random.Below(4)];
    step = DagStep(dag).Take();
    facts = std::make_shared<const StepFacts>(step, costs);
    const Bytes least = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
    const Bytes all = Lower(EmptyPlan(step), facts->tables(), 0).list_peak;
    capacity = least + (all - least) * random.Below(4) / 4;
    runtime.copy_streams = 1 + static_cast<int>(random.Below(2));
  }
  Drawn(const Drawn&) = delete;

  Dag dag;
  Machine machine = MachineWithWorkspace();
  CostModel costs{machine};
  TrainingStep step;
  std::shared_ptr<const StepFacts> facts;
  Bytes capacity = 0;  // from the largest op's on, less than in core
  Runtime runtime = RuntimeByName("arena");
};

struct Heuristic {
  Nanos time = kNothingFits;  // of the fastest plan that is one of those tried
  std::string plan;
  int feasible = 0;  // strategies
};

Heuristic FastestStrategy(const Drawn& d, const Oracle& oracle) {
  Heuristic fastest;
  const Bounds bounds = oracle.BoundsIn({.copy_streams = d.runtime.copy_streams});
  for (const Strategy& strategy : Strategies()) {
    Problem problem{
        .step = &d.step, .costs = &d.costs, .capacity = d.capacity, .use_runtime = true, .runtime = d.runtime};
    SearchLittle(strategy, problem);
    const Planned planned = strategy.plan(problem);
    if (!planned.feasible) continue;
    const Evaluation e = oracle.Evaluate(planned.plan);
    if (!e.feasible) continue;
    ++fastest.feasible;
    INFO(d.dag.Text() << ", " << strategy.name);
    if (!Streams(planned.plan)) CHECK(e.step_time >= bounds.Best());
    if (!IsTried(planned.plan, d.step) || e.step_time >= fastest.time) continue;
    fastest.time = e.step_time;
    fastest.plan = PlanToYaml(planned.plan, d.step);
  }
  return fastest;
}

// Of all plans, in an order as good as random, the first that is no slower than `wanted`, else the fastest.
Nanos FastestPlan(const Drawn& d, const Oracle& oracle, Nanos wanted, std::int64_t& tried) {
  const std::vector<std::vector<GapDecision>> options = ChoicesForMaps(d.step, Choices::kPass);
  std::uint64_t plans = 1, stride = 7919;
  for (const auto& choices : options) plans *= choices.size() + 1;
  while (std::gcd(stride, plans) > 1) ++stride;
  Nanos best = kNothingFits;
  std::uint64_t at = 0;
  for (std::uint64_t k = 0; k < plans && best > wanted; ++k, at = (at + stride) % plans, ++tried) {
    Plan plan = EmptyPlan(d.step);
    plan.runtime = d.runtime;
    std::uint64_t rest = at;
    for (const auto& choices : options) {
      const std::uint64_t chosen = rest % (choices.size() + 1);
      rest /= choices.size() + 1;
      if (chosen > 0) plan.gaps.push_back(choices[chosen - 1]);
    }
    for (int order = 0; order < 2; ++order) {  // of swap-ins issued at one op
      const Evaluation e = oracle.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
      if (e.feasible) best = std::min(best, e.step_time);
      std::reverse(plan.gaps.begin(), plan.gaps.end());
    }
  }
  return best;
}

struct Counted {
  int networks = 0, feasible = 0;
  std::int64_t plans = 0;
};

Counted Compare(int networks, std::uint64_t seed) {
  Counted counted;
  Random random(seed);
  for (; counted.networks < networks; ++counted.networks) {
    const Drawn d(random);
    const Oracle oracle(d.facts, d.capacity);
    const Heuristic fastest = FastestStrategy(d, oracle);
    counted.feasible += fastest.feasible;
    if (fastest.time == kNothingFits) continue;
    INFO(d.dag.Text() << ", capacity " << d.capacity << "\n" << fastest.plan);
    CHECK(FastestPlan(d, oracle, fastest.time, counted.plans) <= fastest.time);
  }
  return counted;
}

}  // namespace

TEST_CASE("four and five ops, drawn: no strategy beats the best of all plans, none is below the bound", "[plain]") {
  const Counted counted = Compare(24, 5);
  CHECK(counted.feasible > 24 * 10);
  CHECK(counted.plans > 24);
}

TEST_CASE("the same of a thousand networks", "[.][figures]") {
  const Counted counted = Compare(1000, 6);
  UNSCOPED_INFO(counted.feasible << " plans of strategies, beaten or equalled after " << counted.plans << " plans");
  CHECK(counted.feasible > 1000 * 10);
}

}  // namespace spillway
