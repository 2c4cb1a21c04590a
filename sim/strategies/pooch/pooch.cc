// pooch: keep, swap or recompute by profile and timeline simulation (PoocH section 4); swap-opt: its first step alone;
// pooch-keep-passed: pooch on a runtime that frees no map that is recomputed on the way to another one. Each searches on
// a ladder of capacities (ladder.h) where one is left to it, else at the capacity alone. pooch-released: as published.
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/planning/plan_cache.h"
#include "sim/strategies/pooch/ladder.h"
#include "sim/strategies/pooch/pooch_model.h"
#include "sim/strategies/pooch/search.h"

namespace spillway {
namespace {

// With a smaller cap of simulations there is no ladder. What a rung is asked does not depend on the cap: so searches for
// an arena's headroom (PlanWithHeadroom), which have a share of it, have their rungs in common with the one that has all.
constexpr std::int64_t kLeastForLadder = 2400;

struct Way {  // how a strategy searches
  const char* name;
  bool recompute;
  bool keep_passed;
};

struct Found {
  Classes classes;                 // empty: nothing
  std::vector<std::string> notes;  // of step 2
  std::string search;              // how far it went
};

// As told, else what is usual for the step.
LadderLimits LimitsOf(const Problem& problem) {
  const LadderLimits usual = LimitsFor(*problem.step);
  const StrategyParameters& told = problem.parameters;
  return {.rungs = told.Number("rungs", usual.rungs),
          .step1 = told.Number("step1_simulations", usual.step1),
          .step2 = told.Number("step2_simulations", usual.step2)};
}

RungQuestion QuestionOf(const Problem& problem, const Way& way) {
  RungQuestion question;
  question.step = problem.step;
  question.costs = problem.costs;
  question.device = problem.device;
  question.units = problem.Units();
  question.limits = LimitsOf(problem);
  question.recompute = way.recompute;
  question.keep_passed = way.keep_passed;
  return question;
}

std::string Extent(bool exact, std::int64_t cap) {
  return exact ? "exact" : fmt::format("capped at {} simulation{}", cap, cap == 1 ? "" : "s");
}

// Of the run, or none.
RungCache* RungsOf(const Problem& problem) {
  return problem.plans == nullptr ? nullptr : &problem.plans->Shared<RungCache>();
}

Found OnLadder(Search& search, const RungQuestion& question, RungCache* memo) {
  Found found;
  Ladder ladder = SearchLadder(search, question, memo);
  if (ladder.rungs == 0) return found;
  found.classes = std::move(ladder.best);
  const std::string extent = Extent(ladder.exact, question.limits.step1);
  found.search = ladder.rungs == 1 ? fmt::format("{} for one capacity", extent)
                                   : fmt::format("{} for each of {} capacities", extent, ladder.rungs);
  const Bytes found_for = ladder.found_for + search.model->profile().persistent;
  if (question.recompute) found.notes = NotesAt(search, found.classes, found_for);
  return found;
}

Found AtCapacity(Search& search, const Way& way, std::int64_t cap) {
  Found found;
  KeepOrSwap step1 = SearchKeepOrSwap(search, cap);
  found.search = Extent(step1.exact, cap);
  found.classes = std::move(step1.classes);
  if (way.recompute) ChooseRecompute(search, RecomputeOverhead::kTimeline, found.classes, found.notes);
  return found;
}

Planned Classify(const Problem& problem, const Way& way) {
  const PoochModel model = MakeModel(problem);
  Search search(model, SwapInRule::kWhenRoom);
  search.keep_passed = way.keep_passed;
  const Simulation all_swap = search.Simulate(search.AllSwap());
  if (!all_swap.feasible) return DoesNotFit(problem, model.profile(), all_swap);
  const RungQuestion question = QuestionOf(problem, way);
  const bool on_rungs = problem.simulation_cap >= kLeastForLadder;
  Found found;
  if (on_rungs) found = OnLadder(search, question, RungsOf(problem));
  if (found.classes.empty()) {
    found = AtCapacity(search, way, on_rungs ? question.limits.step1 : problem.simulation_cap);
  }
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, way.name, "pooch");
  planned.plan.search = std::move(found.search);
  search.Simulate(found.classes);
  DelaySwapIns(search.scratch);
  AddDecisions(search, found.classes, found.notes, planned.plan);
  planned.plan.evaluations = search.simulations;
  return planned;
}

}  // namespace

Planned PlanSwapOpt(const Problem& problem) { return Classify(problem, {"swap-opt", false, true}); }

Planned PlanPooch(const Problem& problem) {
  return Classify(problem, {"pooch", true, problem.parameters.Flag("keep_passed", false)});
}

Planned PlanPoochKeepPassed(const Problem& problem) { return Classify(problem, {"pooch-keep-passed", true, true}); }

// PoocH as its published code does it: the search over L_I is switched off there, so step 1 is greedy; swap-ins are issued
// in bursts; recomputation is weighed by its compute time alone, and what it passes is freed.
Planned PlanPoochReleased(const Problem& problem) {
  const PoochModel model = MakeModel(problem);
  Search search(model, SwapInRule::kBursts);
  search.keep_passed = false;
  KeepOrSwap step1 = GreedyKeepOrSwap(search);
  if (!step1.simulation.feasible) return DoesNotFit(problem, model.profile(), step1.simulation);
  std::vector<std::string> notes;
  ChooseRecompute(search, RecomputeOverhead::kCompute, step1.classes, notes);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "pooch-released", "pooch");
  search.Simulate(step1.classes);
  DelaySwapIns(search.scratch);
  AddDecisions(search, step1.classes, notes, planned.plan);
  planned.plan.evaluations = search.simulations;
  return planned;
}

}  // namespace spillway
