// What memory an instant's bound counts, by hand: plans that run in so much against it.
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "sim/certify/find_certificate.h"
#include "sim/evaluate/oracle.h"
#include "tests/sim/menu_costs.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

constexpr Nanos kTime = 10'000;

Bytes Units(int count) { return count * kAllocationUnit; }

Plan PlanFor(const TrainingStep& step) {
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  return plan;
}

// The plan runs, and neither the bound nor the certificate says that it cannot. The bound.
Nanos BoundBeside(const TrainingStep& step, const CostModel& costs, const Plan& plan, Bytes capacity,
                  const Scope& scope) {
  REQUIRE(CheckPlan(plan, step).empty());
  const auto facts = std::make_shared<const StepFacts>(step, costs);
  const Oracle oracle(facts, capacity);
  const Evaluation e = oracle.Evaluate(plan, {.bounds = false, .timeline = false});
  INFO(e.reason);
  REQUIRE(e.feasible);
  const Nanos bound = oracle.BoundsIn(scope).Best();
  CHECK(bound <= e.step_time);
  const auto found = FindCertificate(*facts, capacity, scope);
  if (found) CHECK(found->bound <= e.step_time);
  return bound;
}

// m is read by b2 behind the turn, and in `anew` written by the last op without being read; a, if there, is needed too.
void CheckWrittenAnew(bool with_a, bool anew) {
  INFO((with_a ? "beside a" : "alone") << (anew ? ", written anew" : ""));
  HandStep b;
  const auto map = [&b](const char* name, int units) { return b.Tensor(name, TensorClass::kFeatureMap, Units(units)); };
  const auto gradient = [&b](const char* name, int units) {
    return b.Tensor(name, TensorClass::kGradient, Units(units));
  };
  const TensorId a = with_a ? map("a", 2) : kNoTensor, m = map("m", 10), last = map("last", 10), z = map("z", 1);
  const TensorId g4 = gradient("g4", 1), g3 = gradient("g3", 12), g2 = gradient("g2", 1), g1 = gradient("g1", 1),
                 g0 = gradient("g0", 1);
  const auto with = [&](TensorId one) { return with_a ? std::vector<TensorId>{a, one} : std::vector<TensorId>{one}; };
  if (with_a) b.Op("f1", Pass::kForward, kTime, {}, {a});
  b.Op("f2", Pass::kForward, kTime, with_a ? std::vector<TensorId>{a} : std::vector<TensorId>{}, {m});
  const OpId f3 = b.Op("f3", Pass::kForward, kTime, {m}, {last});
  b.Op("f4", Pass::kForward, kTime, {last}, {z});
  b.Op("b4", Pass::kBackward, kTime, {z}, {g4});
  b.Op("b3", Pass::kBackward, kTime, {last, g4}, {g3});
  b.Op("between", Pass::kBackward, kTime, {g3}, {g2});
  const OpId before = b.Op("before", Pass::kBackward, kTime, {g2}, {g1});
  const OpId b2 = b.Op("b2", Pass::kBackward, kTime, {m, g1}, {});
  b.Op("b1", Pass::kBackward, kTime, with(g1), {g0});
  b.Op("b0", Pass::kBackward, kTime, {g0}, anew ? std::vector<TensorId>{m} : std::vector<TensorId>{});
  const TrainingStep step = b.Take();
  const Machine machine = HandMachine(1);
  const CostModel costs(machine);
  Plan plan = PlanFor(step);
  plan.gaps.push_back({.tensor = m, .after = f3, .before = b2, .out_after = f3, .in_at = before, .reason = ""});
  const Nanos bound = BoundBeside(step, costs, plan, Units(with_a ? 26 : 24), ScopeOf(plan));
  CHECK(bound >= static_cast<Nanos>(step.ops.size()) * kTime);
}

// The op whose fastest way wants too much has an excess though no value is in a gap over it: what is there is being made
// (`in_place`), or never moves.
void CheckNothingNeeded(bool in_place) {
  INFO((in_place ? "made in place" : "auxiliary"));
  HandStep b;
  const auto transient = [&b](const char* name, int units) {
    return b.Tensor(name, TensorClass::kTransient, Units(units));
  };
  const TensorId y = transient("y", 10), u = transient("u", 10), v = transient("v", 10), w = transient("w", 1);
  const TensorId s = b.Tensor("s", in_place ? TensorClass::kTransient : TensorClass::kAuxiliary, Units(10));
  b.Op("fa", Pass::kForward, kTime, {}, {y});
  b.Op("fs", Pass::kForward, kTime + 1, {y}, {s});
  b.Op("fb", Pass::kForward, kTime + 2, {y}, {u});
  const OpId narrow = b.Op("fc", Pass::kForward, kTime + 3, {u}, {v});
  b.Op("add", Pass::kForward, kTime + 4, {s, v}, {in_place ? s : w});
  b.Op("end", Pass::kForward, kTime + 5, {in_place ? s : w}, {});
  TrainingStep step = b.Take();
  const Machine machine = HandMachine(1);
  MenuCosts costs(machine);
  costs.SetMenu(step.ops[Index(narrow)], {{1, Units(20), kTime}, {2, 0, kTime + 2000}});
  Plan plan = PlanFor(step);
  plan.ops.push_back({narrow, 2, 0});
  const Scope any{.algorithms = AlgorithmScope::kAny, .workspace = kMostWorkspace, .copy_streams = 2};
  const Nanos bound = BoundBeside(step, costs, plan, Units(45), any);
  CHECK(bound >= 6 * kTime);
}

}  // namespace

TEST_CASE("a value that is written anew in the end may leave before its last reader like any other") {
  for (const bool with_a : {true, false}) {
    for (const bool anew : {false, true}) CheckWrittenAnew(with_a, anew);
  }
}

TEST_CASE("where an op has too little room and nothing is needed later, the instant says no more than the work") {
  for (const bool in_place : {true, false}) CheckNothingNeeded(in_place);
}

}  // namespace spillway
