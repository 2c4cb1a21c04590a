// Bounds, certificates and plans with gaps that end in the next step, against the exact optimum of small recorded steps.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/certify/certificate.h"
#include "sim/certify/find_certificate.h"
#include "sim/evaluate/oracle.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/sim/drawn_recording.h"
#include "tests/sim/every_plan.h"
#include "tests/sim/exact_copies.h"

namespace spillway {
namespace {

constexpr Scope kStatesLeave{.states_leave = true};

// Of each map and each value that may rest on the host, what may be decided; without what the recording excludes.
std::vector<std::vector<GapDecision>> Options(const TrainingStep& step) {
  std::vector<std::vector<GapDecision>> options = ChoicesForMaps(step, Choices::kFew);
  const Uses uses(step);
  for (TensorId t = 0; Index(t) < step.tensors.size(); ++t) {
    if (!MayRestOnHost(step, t)) continue;
    GapDecision gap{.tensor = t, .after = uses.of[Index(t)].back(), .before = kNextStep, .reason = ""};
    gap.out_after = gap.after;
    options.emplace_back();
    for (const OpId in_at : {OpId{0}, uses.of[Index(t)].front()}) {
      gap.in_at = in_at;
      options.back().push_back(gap);
    }
  }
  for (std::vector<GapDecision>& of_one : options) {
    std::erase_if(of_one, [&step](const GapDecision& gap) {
      Plan plan = EmptyPlan(step);
      plan.gaps = {gap};
      return !CheckPlan(plan, step).empty();
    });
  }
  return options;
}

struct Figures {
  int cases = 0, reached = 0;  // plans as fast as the optimum of all schedules
  int binding = 0;             // bounds above the work
  int plans = 0;
};

// No plan is faster than the optimum of all schedules, or than the bounds.
void CheckPlans(const DrawnRecording& r, const Runtime& runtime, Bytes capacity, Nanos optimum, Figures& figures) {
  const Oracle oracle(std::make_shared<StepFacts>(r.step(), r.costs), capacity);
  Nanos least = 0;
  ForEachCombination(r.step(), Options(r.step()), [&](Plan plan) {
    plan.runtime = runtime;
    const bool odd = figures.plans % 16 == 0;  // verify some
    const Evaluation e = oracle.Evaluate(plan, {.verify = odd, .bounds = true, .timeline = false});
    if (!e.feasible) return;
    ++figures.plans;
    REQUIRE(e.bounds.Best() <= e.step_time);
    REQUIRE(e.widest.Best() <= e.step_time);
    REQUIRE(e.step_time >= optimum);
    if (least == 0 || e.step_time < least) least = e.step_time;
  });
  if (optimum == 0) CHECK(least == 0);
  figures.reached += least == optimum && optimum > 0 ? 1 : 0;
}

void CheckBounds(const DrawnRecording& r, Bytes capacity, Nanos optimum, Random& random, Figures& figures) {
  const StepFacts facts(r.step(), r.costs);
  const Nanos bound = LowerBounds(r.step(), r.costs, capacity, kStatesLeave).Best();
  CHECK(bound <= optimum);
  CHECK(LowerBounds(r.step(), r.costs, capacity, WidestScope(PartScope::kNone, 1, false, false, true)).Best() <=
        optimum);
  figures.binding += bound > r.Kernels() ? 1 : 0;
  const auto found = FindCertificate(facts, capacity, kStatesLeave);
  REQUIRE(found);
  CHECK(ProvenBound(r.step(), r.costs, *found) >= found->bound);
  CHECK(found->bound <= optimum);
  CHECK(FalseClaimsRefused(r, *found, optimum, random) == 5);
}

TEST_CASE("with values that rest on the host, no bound is above the exact optimum and no plan below it") {
  Figures figures;
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(60, 600); ++seed) {
    const DrawnRecording r(DrawnStatesText(seed), Live());
    Random random(seed);
    for (Bytes units = 3; units <= 14; ++units) {
      const Bytes capacity = units * kAllocationUnit;
      const Nanos optimum = ExactCopies(r.step(), r.times, capacity).Optimum();
      INFO("seed " << seed << " in " << units << " units, the optimum takes " << optimum << " ns");
      if (optimum == r.Kernels()) break;
      for (const Runtime& runtime : {Live(), RuntimeByName("arena")})
        CheckPlans(r, runtime, capacity, optimum, figures);
      if (optimum == 0) continue;
      CheckBounds(r, capacity, optimum, random, figures);
      ++figures.cases;
    }
  }
  INFO(figures.cases << " cases, " << figures.plans << " plans, reached " << figures.reached << ", binding "
                     << figures.binding);
  CHECK(figures.cases > Cases(30, 300));
  CHECK(figures.plans > 20 * figures.cases);
  CHECK(figures.reached > figures.cases / 4);
  CHECK(figures.binding > 0);
}

// A plan may run where the op that needs most would not if all that outlives the step stayed.
TEST_CASE("what does not fit is certified apart for plans whose states rest on the host") {
  int none = 0, some = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const DrawnRecording r(DrawnStatesText(seed), Live());
    const TrainingStep& step = r.step();
    INFO("seed " << seed);
    const Bytes needed = MostNeeded(step, r.costs, 0, 0, true).needed, stays = MostNeeded(step, r.costs, 0).needed;
    REQUIRE(needed <= stays);
    const NoRoomCertificate certificate = MostNeeded(step, r.costs, needed - 1, 0, true);
    CHECK(Holds(step, r.costs, certificate));
    CHECK_FALSE(Holds(step, r.costs, MostNeeded(step, r.costs, needed, 0, true)));
    NoRoomCertificate wrong = MostNeeded(step, r.costs, stays - 1);
    CHECK(Holds(step, r.costs, wrong));
    wrong.states_leave = true;
    if (needed < stays) CHECK_FALSE(Holds(step, r.costs, wrong));
    Random random(seed);
    for (int k = 0; k < 30; ++k) {
      Plan plan = RandomPlan(step, Live(), 80, random);
      AddRandomNextStepGaps(step, random, plan);
      Problem problem = r.problem;
      problem.capacity = needed - 1;
      none += Evaluate(plan, problem, {.verify = false, .bounds = false, .timeline = false}).feasible ? 1 : 0;
      problem.capacity = stays - 1;
      some += Evaluate(plan, problem, {.verify = false, .bounds = false, .timeline = false}).feasible ? 1 : 0;
    }
  }
  CHECK(none == 0);
  CHECK(some > 0);
}

}  // namespace
}  // namespace spillway
