// best: never behind another strategy, within what it may use, the same every time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "model/stats/quantile.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/best/robust.h"
#include "sim/strategies/strategies.h"
#include "sim/uncertainty/uncertainty.h"
#include "tests/deep.h"
#include "tests/sim/zoo_place.h"

namespace spillway {
namespace {

struct Setting : ZooPlace {
  PlanCache memo;

  Setting(const char* network, std::int64_t batch, const char* machine_name)
      : ZooPlace(network, batch, LoadMachine(machine_name)) {}
  Setting(const char* network, std::int64_t batch, Machine on) : ZooPlace(network, batch, std::move(on)) {}

  // 0: it has no plan that runs.
  Nanos TimeOf(const char* strategy, const Problem& problem) {
    const Planned planned = PlanWithHeadroom(StrategyByName(strategy), problem, OracleOf(problem), memo);
    if (!planned.feasible) return 0;
    const Evaluation e = Evaluate(planned.plan, problem);
    return e.feasible ? e.step_time : 0;
  }
};

// In-core they need 103 and 164 MB.
TEST_CASE("best is never behind another strategy on the same runtime, and mostly ahead") {
  int behind_bound = 0, ahead = 0, cases = 0;
  const std::vector<Bytes> capacities = {60 * kMB, 75 * kMB, 95 * kMB, 200 * kMB};
  for (const char* network : {"cifar-vgg", "cifar-resnet20"}) {
    for (const char* machine : {"v100-x86-pcie3", "unit"}) {
      Setting s(network, 64, machine);
      for (const Bytes capacity : Drawn(capacities)) {
        for (const char* runtime : {"arena", "pooch"}) {
          const Problem problem = s.At(capacity, runtime);
          const Nanos best = s.TimeOf("best", problem);
          Nanos others = 0;
          for (const Strategy& strategy : Drawn(Strategies())) {
            if (std::string(strategy.name) == "best" || strategy.for_best != ForBest::kYes) continue;
            const Nanos time = s.TimeOf(strategy.name, problem);
            INFO(network << " on " << machine << ", " << runtime << " within " << capacity << ": " << strategy.name);
            if (time == 0) continue;
            REQUIRE(best > 0);
            REQUIRE(best <= time);
            others = others == 0 ? time : std::min(others, time);
          }
          if (best == 0) continue;
          ++cases;
          ahead += best < others || others == 0 ? 1 : 0;
          behind_bound += best > OracleOf(problem).BoundsIn(WidestScope(PartScope::kBatch)).Best() ? 1 : 0;
        }
      }
    }
  }
  INFO(cases << " cases, ahead in " << ahead << ", above the bound in " << behind_bound);
  CHECK(cases > Cases(8, 20));
  // In half of the quick tier's cases all fits, and most strategies do as well. Twelve draws had `best` ahead in 4 to 8.
  CHECK(ahead >= Cases(3, cases / 4 + 1));
}

TEST_CASE("best uses nothing that it is told to leave alone") {
  Setting s("cifar-vgg", 64, "v100-x86-pcie3");
  for (const char* off : {"swap", "recompute", "algorithms", "parts"}) {
    Problem problem = s.At(95 * kMB, "arena");
    problem.parameters.Set(off, false);
    const Planned planned = StrategyByName("best").plan(problem);
    INFO("without " << off << ": " << planned.reason);
    REQUIRE(planned.feasible);
    const Evaluation e = Evaluate(planned.plan, problem);
    REQUIRE(e.feasible);
    const bool swaps = std::any_of(planned.plan.gaps.begin(), planned.plan.gaps.end(),
                                   [](const GapDecision& gap) { return gap.action == GapAction::kSwap; });
    if (off == std::string("swap")) CHECK_FALSE(swaps);
    if (off == std::string("recompute")) CHECK(e.recompute_time == 0);
    if (off == std::string("algorithms")) {
      CHECK(planned.plan.ops.empty());
      REQUIRE(planned.scope.has_value());
      CHECK(planned.scope->algorithms == AlgorithmScope::kUsual);
    }
    CHECK(planned.plan.strategy == std::string("best:") + off + "=false");
  }
}

TEST_CASE("best says why there is no plan") {
  Setting s("cifar-vgg", 64, "v100-x86-pcie3");
  const Planned planned = StrategyByName("best").plan(s.At(20 * kMB, "arena"));
  CHECK_FALSE(planned.feasible);
  CHECK_THAT(planned.reason, Catch::StartsWith("working_set: "));
  // What takes most in the smallest parts, where ops may run in parts: much less than what takes most whole.
  Problem whole = s.At(kMB, "arena"), parts = whole;
  whole.parameters.Set("parts", false);
  CHECK_THAT(StrategyByName("best").plan(whole).reason, Catch::Contains("relu_conv1_2:backward needs"));
  CHECK_THAT(StrategyByName("best").plan(parts).reason,
             Catch::StartsWith("working_set: ") && !Catch::Contains("relu_conv1_2:backward needs"));
}

TEST_CASE("best plans the same with plans of others at hand and without, and twice") {
  Setting s("cifar-resnet20", 64, "v100-x86-pcie3");
  Problem problem = s.At(70 * kMB, "arena");
  if (!Deep()) problem.parameters.Set("simulations", std::int64_t{4000});
  const Planned alone = StrategyByName("best").plan(problem);
  REQUIRE(alone.feasible);
  CHECK((StrategyByName("best").plan(problem).plan == alone.plan));
  PlanCache memo;
  memo.Plan(StrategyByName("pooch"), problem);
  CHECK((memo.Plan(StrategyByName("best"), problem).plan == alone.plan));
}

Machine WithFasterLink(Machine machine, double factor) {
  for (Link& link : machine.links) {
    for (TransferCurve& curve : link.curves) {
      for (TransferCurve::Point& point : curve.points)
        point.time = static_cast<Nanos>(static_cast<double>(point.time) / factor);
    }
  }
  return machine;
}

// It is searched for, not proved: sim/strategies/best/README.md has the figures of a larger network.
TEST_CASE("more memory or a faster link hardly ever makes best slower, and then by little") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  struct Point {
    double link = 0;
    Bytes memory = 0;
    Nanos time = 0;
  };
  std::vector<Point> points;
  const auto links = Deep() ? std::vector{0.5, 1.0, 4.0} : std::vector{0.5, 4.0};
  const auto memories = Deep() ? std::vector{70 * kMB, 77 * kMB, 84 * kMB} : std::vector{70 * kMB, 84 * kMB};
  for (const double link : links) {
    Setting s("cifar-resnet20", 64, WithFasterLink(machine, link));
    for (const Bytes memory : memories) {
      points.push_back({link, memory, s.TimeOf("best", s.At(memory, "arena"))});
    }
  }
  int slower = 0;
  double worst = 1;
  for (const Point& point : points) {
    Nanos least = point.time;
    for (const Point& other : points) {
      const bool less = other.link <= point.link && other.memory <= point.memory && other.time > 0;
      if (less) least = std::min(least, other.time);
    }
    REQUIRE(least > 0);
    slower += least < point.time ? 1 : 0;
    worst = std::max(worst, static_cast<double>(point.time) / static_cast<double>(least));
  }
  INFO(slower << " of " << points.size() << " are slower than one with less, at worst " << worst << " times its time");
  CHECK(slower <= 1);
  CHECK(worst < 1.002);
}

// The 90th percentile of what a plan takes over the common draws.
Nanos LateTime(const Plan& plan, const Problem& problem) {
  const std::vector<Nanos> times = DrawStep(Evaluate(plan, problem), plan, *problem.costs, problem.capacity).times;
  return static_cast<Nanos>(Quantile({times.begin(), times.end()}, 0.9));
}

TEST_CASE("best that is robust is never later than best, in nine of ten draws, and says what that costs") {
  const std::vector<Bytes> capacities = {75 * kMB, 95 * kMB, 200 * kMB};
  for (const char* network : {"cifar-vgg", "cifar-resnet20"}) {
    Setting s(network, 64, "v100-x86-pcie3");
    for (const Bytes capacity : Drawn(capacities)) {
      Problem problem = s.At(capacity, "arena");
      const Planned best = StrategyByName("best").plan(problem);
      problem.parameters.Set("robust", true);
      const Planned robust = StrategyByName("best").plan(problem);
      INFO(network << " within " << capacity << ": " << robust.plan.search);
      REQUIRE(best.feasible);
      REQUIRE(robust.feasible);
      CHECK(LateTime(robust.plan, problem) <= LateTime(best.plan, problem));
      CHECK(robust.plan.search.find(" the least 90th percentile ") != std::string::npos);
    }
  }
}

TEST_CASE("the shortlist holds the fastest three of each amount of copying, close ones only") {
  Shortlist list(160);
  const auto enter = [&list](Nanos time, Bytes copied) { list.Enter(time, copied, Plan{}, std::to_string(time)); };
  for (const Nanos time : {104, 101, 103, 102, 105}) enter(time, 15);
  enter(108, 155);
  enter(111, 155);
  enter(112, 80);
  std::string order;
  for (const RankedPlan& ranked : list.Close()) order += ranked.by + " ";
  CHECK(order == "101 102 103 108 111 ");
}

}  // namespace
}  // namespace spillway
