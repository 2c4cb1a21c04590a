// pooch: keep, swap or recompute by profile and timeline simulation (PoocH section 4); swap-opt: its first step alone.
#include <fmt/format.h>

#include "sim/strategies/classify.h"
#include "sim/strategies/strategies.h"
#include "sim/strategies/swap_in_rules.h"

namespace spillway {
namespace {

std::string SearchNote(const KeepOrSwap& step1, std::int64_t cap) {
  return step1.exact ? "exact" : fmt::format("capped at {} simulations", cap);
}

Planned Classify(const Problem& problem, const char* name, bool recompute) {
  const PoochModel model = MakeModel(problem);
  Search search(model, SwapInRule::kWhenRoom);
  KeepOrSwap step1 = SearchKeepOrSwap(search, problem.simulation_cap);
  if (!step1.simulation.feasible) return DoesNotFit(problem, model.profile(), step1.simulation);
  std::vector<std::string> notes;
  if (recompute) ChooseRecompute(search, RecomputeOverhead::kTimeline, step1.classes, notes);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, name, "pooch");
  planned.plan.search = SearchNote(step1, problem.simulation_cap);
  search.Simulate(step1.classes);
  DelaySwapIns(search.scratch);
  AddDecisions(search, step1.classes, notes, planned.plan);
  planned.plan.evaluations = search.simulations;
  return planned;
}

}  // namespace

Planned PlanSwapOpt(const Problem& problem) { return Classify(problem, "swap-opt", false); }

Planned PlanPooch(const Problem& problem) { return Classify(problem, "pooch", true); }

}  // namespace spillway
