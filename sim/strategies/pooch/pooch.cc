// pooch: keep, swap or recompute by profile and timeline simulation (PoocH section 4); swap-opt: its first step alone;
// pooch-keep-passed: pooch on a runtime that frees no map that is recomputed on the way to another one.
//
// The ladder. What a capped search finds depends on where it was stopped, and with a little more memory it may find
// less. So it is made for a ladder of smaller capacities, the same ones whatever the capacity, down to where swapping
// everything does not fit, and what it finds for each rung is judged at the capacity that there is. Classes that fit also
// fit with more memory, and are no slower in the model; so the fastest of all rungs is no slower with more memory either,
// as far down as the ladder reaches. A rung has kRungBits leading bits.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "sim/strategies/classify.h"
#include "sim/strategies/pooch/pooch_model.h"

namespace spillway {
namespace {

constexpr int kRungBits = 6;
constexpr std::int64_t kRungs = 24;          // at most, from the highest one down: a third of the memory or more
constexpr std::int64_t kMostOfCap = 5;       // the ladder ends when so many times the cap are spent, step 2 included
constexpr std::int64_t kLeastPerRung = 100;  // simulations; with fewer there is no ladder

struct Way {  // how a strategy searches
  const char* name;
  bool recompute;
  bool keep_passed;
};

struct Found {
  Classes classes;
  std::vector<std::string> notes;  // of step 2
  Nanos total = kNever;
};

// Step 2, where `way` has one, from what step 1 found.
Found Finish(Search& search, const Way& way, KeepOrSwap step1) {
  Found found{.classes = std::move(step1.classes), .notes = {}, .total = step1.simulation.total};
  if (way.recompute) {
    found.total = ChooseRecompute(search, RecomputeOverhead::kTimeline, found.classes, found.notes).total;
  }
  return found;
}

Search SearchOf(const PoochModel& model, const Way& way) {
  Search search(model, SwapInRule::kWhenRoom);
  search.keep_passed = way.keep_passed;
  return search;
}

// The highest rung up to `capacity`.
Bytes RungBelow(Bytes capacity) {
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(capacity)));
  const int shift = std::max(bits - kRungBits, 0);
  return capacity >> shift << shift;
}

PoochModel WithCapacity(const PoochModel& model, Bytes capacity) {
  PoochProfile profile = model.profile();
  profile.capacity = capacity;
  return PoochModel(std::move(profile));
}

struct Ladder {
  Found best;  // the fastest at the capacity that there is; total = kNever: swapping everything fits on no rung
  std::int64_t rungs = 0;
};

// `cap`: of step 1 on each rung; `most`: of all simulations, no rung is begun beyond.
Ladder SearchLadder(Search& search, const Way& way, std::int64_t cap, std::int64_t most) {
  Ladder ladder;
  Bytes rung = RungBelow(search.model->profile().capacity);
  for (; ladder.rungs < kRungs && rung > 0 && search.simulations < most; ++ladder.rungs, rung = RungBelow(rung - 1)) {
    const PoochModel model = WithCapacity(*search.model, rung);
    Search below = SearchOf(model, way);
    KeepOrSwap step1 = SearchKeepOrSwap(below, cap);
    if (!step1.simulation.feasible) break;
    Found found = Finish(below, way, std::move(step1));
    found.total = search.Simulate(found.classes).total;
    search.simulations += below.simulations;
    if (found.total < ladder.best.total) ladder.best = std::move(found);
  }
  return ladder;
}

Planned Classify(const Problem& problem, const Way& way) {
  const PoochModel model = MakeModel(problem);
  Search search = SearchOf(model, way);
  const bool use_ladder = problem.simulation_cap / kRungs >= kLeastPerRung;
  const std::int64_t cap = use_ladder ? problem.simulation_cap / kRungs : problem.simulation_cap;
  KeepOrSwap step1 = SearchKeepOrSwap(search, cap);
  if (!step1.simulation.feasible) return DoesNotFit(problem, model.profile(), step1.simulation);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, way.name, "pooch");
  planned.plan.search = step1.exact ? "exact" : fmt::format("capped at {} simulations", cap);
  Found found;
  if (!step1.exact && use_ladder) {
    Ladder ladder = SearchLadder(search, way, cap, kMostOfCap * problem.simulation_cap);
    if (ladder.rungs > 0) planned.plan.search += fmt::format(" for each of {} capacities", ladder.rungs);
    found = std::move(ladder.best);
  }
  if (found.total == kNever) found = Finish(search, way, std::move(step1));
  search.Simulate(found.classes);
  DelaySwapIns(search.scratch);
  AddDecisions(search, found.classes, found.notes, planned.plan);
  planned.plan.evaluations = search.simulations;
  return planned;
}

}  // namespace

Planned PlanSwapOpt(const Problem& problem) { return Classify(problem, {"swap-opt", false, true}); }

Planned PlanPooch(const Problem& problem) { return Classify(problem, {"pooch", true, false}); }

Planned PlanPoochKeepPassed(const Problem& problem) { return Classify(problem, {"pooch-keep-passed", true, true}); }

}  // namespace spillway
