// The oracle: what it remembers is what would be found anew, and oracles of one step and machine share their facts.
#include <catch2/catch.hpp>
#include <thread>

#include "model/unroll/unroll.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/menu_costs.h"
#include "tests/small_networks.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

struct Place {
  Machine machine = LoadMachine("v100-x86-pcie3");
  CostModel costs{machine};
  TrainingStep step = BuildTrainingStep(ResNet(), StepOptionsByName("chainer"));
  Problem At(Bytes capacity) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacity;
    return problem;
  }
};

bool Same(const Bounds& a, const Bounds& b) {
  return a.compute == b.compute && a.transfer == b.transfer && a.memory == b.memory;
}

}  // namespace

TEST_CASE("bounds of an oracle are those found anew, the second time too") {
  const Place place;
  for (const Bytes capacity : {Bytes{3 * kMiB}, Bytes{5 * kMiB}, Bytes{50 * kMiB}}) {
    const Oracle oracle = OracleOf(place.At(capacity));
    for (int again = 0; again < 2; ++again) {
      for (const Scope& scope : {Scope{}, Scope{.copy_streams = 1}, Scope{AlgorithmScope::kLibrary, 4 * kMiB, 2},
                                 Scope{AlgorithmScope::kAny, kMiB, 1}, WidestScope()}) {
        INFO(scope.Text() << ", " << capacity);
        CHECK(Same(oracle.BoundsIn(scope), LowerBounds(place.step, place.costs, capacity, scope)));
      }
    }
  }
}

TEST_CASE("a wider scope has no larger compute bound") {
  const Place place;
  const Oracle oracle = OracleOf(place.At(50 * kMiB));
  const auto compute = [&](const Scope& scope) { return oracle.BoundsIn(scope).compute; };
  CHECK(compute({AlgorithmScope::kLibrary, 0, 2}) == compute({}));  // grants of nothing: what is usual remains
  CHECK(compute({AlgorithmScope::kLibrary, kMostWorkspace, 2}) <= compute({}));
  CHECK(compute(WidestScope()) <= compute({AlgorithmScope::kLibrary, kMostWorkspace, 2}));
}

TEST_CASE("what a plan decides is its scope, and a scope is said in words") {
  Plan plan;
  plan.runtime.copy_streams = 1;
  CHECK(ScopeOf(plan) == Scope{.copy_streams = 1});
  plan.ops = {{.op = 0, .algorithm = 0, .workspace = 100}, {.op = 1, .algorithm = 0, .workspace = 7}};
  CHECK(ScopeOf(plan) == Scope{AlgorithmScope::kLibrary, 100, 1});
  plan.ops.push_back({.op = 2, .algorithm = 3, .workspace = 5});
  CHECK(ScopeOf(plan) == Scope{AlgorithmScope::kAny, 100, 1});
  CHECK(Union(ScopeOf(plan), {.copy_streams = 2}) == Scope{AlgorithmScope::kAny, 100, 2});
  CHECK(ScopeOf(plan).Text() == "any algorithm, workspaces up to 100 B, 1 copy stream");
  CHECK(Union({.copy_chunk = 0}, {.copy_chunk = 70000}).copy_chunk == 70000);
  CHECK(Union({.copy_chunk = 80000}, {.copy_chunk = 70000}).copy_chunk == 70000);
  CHECK(Scope{}.Text() == "the library's algorithms as usual, 2 copy streams");
}

TEST_CASE("oracles that were asked for last are handed out again; those of one step and machine share their facts") {
  const Place place;
  const CostModel other(place.machine);
  OracleCache memo;
  const auto first = memo.For(place.At(5 * kMiB));
  CHECK(memo.For(place.At(5 * kMiB)) == first);
  const auto larger = memo.For(place.At(6 * kMiB));
  CHECK(larger != first);
  CHECK(&larger->facts() == &first->facts());
  Problem elsewhere = place.At(5 * kMiB);
  elsewhere.costs = &other;
  CHECK(&memo.For(elsewhere)->facts() != &first->facts());
  for (Bytes capacity = 10 * kMiB; capacity < 40 * kMiB; capacity += kMiB) memo.For(place.At(capacity));
  CHECK(memo.For(place.At(5 * kMiB)) != first);  // forgotten
  CHECK(first->capacity() == 5 * kMiB);          // but there for who has it
}

TEST_CASE("threads share an oracle") {
  const Place place;
  const Oracle oracle = OracleOf(place.At(5 * kMiB));
  const Evaluation alone =
      OracleOf(place.At(5 * kMiB)).Evaluate(StrategyByName("swap-all").plan(place.At(5 * kMiB)).plan);
  std::vector<Evaluation> found(4);
  {
    std::vector<std::jthread> threads;
    for (Evaluation& e : found) {
      threads.emplace_back([&] { e = oracle.Evaluate(StrategyByName("swap-all").plan(place.At(5 * kMiB)).plan); });
    }
  }
  REQUIRE(alone.feasible);
  for (const Evaluation& e : found) {
    CHECK(e.step_time == alone.step_time);
    CHECK(Same(e.bounds, alone.bounds));
    CHECK(Same(e.widest, alone.widest));
  }
}

TEST_CASE("an algorithm that the profile has no time for is a reason, with those that it has") {
  const Machine machine = HandMachine();
  MenuCosts costs(machine);
  HandStep b;
  b.Op("f:forward", Pass::kForward, 5, {}, {b.Tensor("m", TensorClass::kFeatureMap, 10)});
  TrainingStep step = b.Take();
  costs.SetMenu(step.ops[0], {{1, 0, 9}, {7, 100, 3}});
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = kMiB;
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  plan.ops = {{0, 5, 1000}};
  REQUIRE(CheckPlan(plan, step).empty());
  CHECK(Evaluate(plan, problem).reason ==
        "algorithm: hand knows no time of fft for f:forward; it knows those of implicit_gemm, winograd");
  plan.ops = {{0, 7, 99}};
  CHECK(Evaluate(plan, problem).reason == "workspace: f:forward wants 100 B and is granted 99 B");
  plan.ops = {{0, 7, 100}};
  CHECK(Evaluate(plan, problem).step_time == 3);
  plan.ops = {{0, 99, 100}};
  CHECK(CheckPlan(plan, step) ==
        std::vector<std::string>{"ops[0]: op 'f:forward': no algorithm 99; it has 9, and 0 is the library's choice"});
}

}  // namespace spillway
