#include "sim/planning/plan_cache.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/plan/runtime.h"
#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

struct Case {
  TrainingStep step;
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  Case() : step(BuildTrainingStep(BuildZooNetwork("cifar-vgg", {.batch = 32}), StepOptionsByName("chainer"))) {}
  Problem In(Bytes capacity, const char* runtime = nullptr) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.use_runtime = runtime != nullptr;
    if (runtime != nullptr) problem.runtime = RuntimeByName(runtime);
    return problem;
  }
};

std::atomic<int> asked{0};

Planned Count(const Problem& problem) {
  ++asked;
  Planned planned{.feasible = true, .reason = "", .plan = {}};
  planned.plan.capacity = problem.capacity;
  planned.plan.runtime = problem.use_runtime ? problem.runtime : RuntimeByName("pooch");
  if (problem.capacity == 13) throw std::runtime_error("thirteen");
  return planned;
}

TEST_CASE("one plan serves every runtime, and has the one it was asked for") {
  asked = 0;
  const Case c;
  const Strategy strategy{"count", "", "", &Count};
  PlanCache memo;
  CHECK(memo.Plan(strategy, c.In(100, "arena")).plan.runtime == RuntimeByName("arena"));
  CHECK(memo.Plan(strategy, c.In(100, "pooch")).plan.runtime == RuntimeByName("pooch"));
  CHECK(asked == 1);
  CHECK(memo.Plan(strategy, c.In(200, "arena")).plan.capacity == 200);  // another question
  CHECK(asked == 2);
  CHECK(memo.Plan(strategy, c.In(200)).plan.runtime == RuntimeByName("pooch"));  // the modelled system's own
  CHECK(asked == 3);
}

TEST_CASE("other parameters ask another question") {
  asked = 0;
  const Case c;
  const Strategy strategy{"count", "", "", &Count};
  PlanCache memo;
  Problem told = c.In(100);
  told.parameters.Set("rungs", std::int64_t{4});
  memo.Plan(strategy, c.In(100));
  memo.Plan(strategy, told);
  CHECK(asked == 2);
  memo.Plan(strategy, told);
  CHECK(asked == 2);
}

TEST_CASE("runtimes that cut backward into other units ask another question") {
  asked = 0;
  const Case c;
  const Strategy strategy{"count", "", "", &Count};
  PlanCache memo;
  Problem cut = c.In(100, "pooch");
  cut.runtime.backward_units = BackwardUnits::kBreakPoints;
  CHECK(memo.Plan(strategy, c.In(100, "pooch")).plan.runtime.backward_units == BackwardUnits::kLayers);
  CHECK(memo.Plan(strategy, cut).plan.runtime.backward_units == BackwardUnits::kBreakPoints);
  CHECK(asked == 2);
  cut.runtime.memory = MemoryModel::kArena;  // the same units: known
  CHECK(memo.Plan(strategy, cut).plan.runtime == cut.runtime);
  CHECK(asked == 2);
}

// Of a memo with rungs in it and of none.
TEST_CASE("plans that share rungs are those that are made alone") {
  const Case c;
  PlanCache memo;
  for (const char* name : {"swap-opt", "pooch", "pooch-keep-passed"}) {
    for (const Bytes capacity : {60 * kMiB, 61 * kMiB, 62 * kMiB}) {
      const Problem problem = c.In(capacity, "arena");
      INFO(name << " in " << capacity);
      CHECK(memo.Plan(StrategyByName(name), problem).plan == StrategyByName(name).plan(problem).plan);
    }
  }
}

TEST_CASE("a strategy that decides by the runtime is asked each time") {
  asked = 0;
  const Case c;
  const Strategy strategy{.name = "count", .description = "", .paper = "", .plan = &Count, .reads_runtime = true};
  PlanCache memo;
  memo.Plan(strategy, c.In(100, "arena"));
  memo.Plan(strategy, c.In(100, "arena"));
  CHECK(asked == 2);
}

TEST_CASE("what a strategy throws is kept for nobody") {
  asked = 0;
  const Case c;
  const Strategy strategy{"count", "", "", &Count};
  PlanCache memo;
  CHECK_THROWS_WITH(memo.Plan(strategy, c.In(13)), "thirteen");
  CHECK_THROWS_WITH(memo.Plan(strategy, c.In(13)), "thirteen");
  CHECK(asked == 2);
}

TEST_CASE("threads that ask for the same plan get one") {
  asked = 0;
  const Case c;
  const Strategy strategy{"count", "", "", &Count};
  PlanCache memo;
  std::atomic<int> right{0};
  {
    std::vector<std::jthread> threads;
    for (int k = 0; k < 8; ++k) {
      threads.emplace_back([&] {
        for (Bytes capacity = 100; capacity < 150; ++capacity) {
          right += memo.Plan(strategy, c.In(capacity, "arena")).plan.capacity == capacity ? 1 : 0;
        }
      });
    }
  }
  CHECK(right == 8 * 50);
  CHECK(asked == 50);
}

// The promise of Strategy::reads_runtime, of every strategy in the table.
TEST_CASE("decisions are the same on every runtime unless the strategy says otherwise") {
  const Case c;
  for (const Strategy& strategy : Strategies()) {
    if (strategy.reads_runtime) continue;
    INFO(strategy.name);
    for (const Bytes capacity : {60 * kMiB, 100 * kMiB, 400 * kMiB}) {
      Planned pool = strategy.plan(c.In(capacity, "pooch"));
      const Planned arena = strategy.plan(c.In(capacity, "arena"));
      CHECK(pool.feasible == arena.feasible);
      CHECK(pool.reason == arena.reason);
      pool.plan.runtime = arena.plan.runtime;
      CHECK(pool.plan == arena.plan);
    }
  }
}

}  // namespace
}  // namespace spillway
