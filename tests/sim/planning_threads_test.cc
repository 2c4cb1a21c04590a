// best with any number of threads: the same plan and all else that it says, and what it is asked twice at once.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/recorded/recorded_step.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/zoo_place.h"

namespace spillway {
namespace {

Planned Plan(Problem problem, int threads) {
  problem.threads = threads;
  PlanCache memo;
  return PlanWithHeadroom(StrategyByName("best"), problem, OracleOf(problem), memo);
}

void CheckAlike(const Planned& a, const Planned& b, const TrainingStep& step) {
  CHECK(a.feasible == b.feasible);
  CHECK(a.reason == b.reason);
  CHECK((a.plan == b.plan));
  if (a.feasible && b.feasible) CHECK(PlanToYaml(a.plan, step) == PlanToYaml(b.plan, step));
  CHECK((a.scope == b.scope));
  REQUIRE(a.bound.has_value() == b.bound.has_value());
  if (!a.bound) return;
  CHECK(a.bound->time == b.bound->time);
  CHECK((a.bound->scope == b.bound->scope));
  CHECK(a.bound->how == b.bound->how);
}

// What it is without helpers.
Planned CheckThreads(const Problem& problem) {
  Planned alone = Plan(problem, 1);
  for (const int threads : {2, 3}) {
    INFO(threads << " threads: " << alone.plan.search << alone.reason);
    CheckAlike(alone, Plan(problem, threads), *problem.step);
  }
  return alone;
}

struct Setting : ZooPlace {
  explicit Setting(const char* network) : ZooPlace(network, 64, LoadMachine("v100-x86-pcie3")) {}
  // Of a search that takes a moment.
  Problem At(Bytes capacity, const char* runtime) const {
    Problem problem = ZooPlace::At(capacity, runtime);
    problem.parameters.Set("simulations", std::int64_t{4000});
    problem.parameters.Set("plans", std::int64_t{20});
    return problem;
  }
};

TEST_CASE("best plans the same with any number of threads, where it searches and where it need not", "[long]") {
  const Setting s("cifar-resnet20");
  for (const Bytes capacity : {70 * kMB, 200 * kMB}) {
    INFO("within " << capacity);
    CHECK(CheckThreads(s.At(capacity, "arena")).feasible);
  }
  CHECK(CheckThreads(s.At(77 * kMB, "pooch")).feasible);
}

TEST_CASE("best plans the same with any number of threads, in parts and where nothing runs") {
  const Setting s("cifar-vgg");
  bool in_parts = false, none = false;
  for (const Bytes capacity : {20 * kMB, 30 * kMB, 40 * kMB}) {
    INFO("within " << capacity);
    const Planned planned = CheckThreads(s.At(capacity, "arena"));
    none = none || !planned.feasible;
    in_parts = in_parts || (planned.feasible && ScopeOf(planned.plan).parts != PartScope::kNone);
  }
  CHECK(in_parts);
  CHECK(none);
}

TEST_CASE("best plans the same with any number of threads: robust, and from a recording", "[long]") {
  const Setting s("cifar-resnet20");
  Problem robust = s.At(77 * kMB, "arena");
  robust.parameters.Set("robust", true);
  robust.parameters.Set("swap", false);
  CHECK(CheckThreads(robust).feasible);
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const auto recorded = LoadRecordedStep(std::string(SPILLWAY_SOURCE_DIR) + "/model/recorded/example.json");
  const RecordedCosts costs(machine, {}, recorded);
  Problem problem = s.At(kGiB, "arena");
  problem.step = &recorded->step;
  problem.costs = &costs;
  CHECK(CheckThreads(problem).feasible);
}

TEST_CASE("two that plan with threads of their own share a memo") {
  const Setting s("cifar-resnet20");
  const Problem problem = s.At(70 * kMB, "arena");
  const Planned alone = Plan(problem, 1);
  const Oracle oracle = OracleOf(problem);
  PlanCache memo;
  std::vector<Planned> planned(2);
  {
    std::vector<std::jthread> planners;
    for (Planned& into : planned) {
      planners.emplace_back([&] {
        Problem with_threads = problem;
        with_threads.threads = 2;
        into = PlanWithHeadroom(StrategyByName("best"), with_threads, oracle, memo);
      });
    }
  }
  for (const Planned& one : planned) CheckAlike(one, alone, s.step);
}

}  // namespace
}  // namespace spillway
