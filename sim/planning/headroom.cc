#include <optional>
#include <utility>

#include "sim/planning/plan_cache.h"
#include "sim/planning/strategy.h"

namespace spillway {

namespace {

constexpr int kPercents[] = {97, 94, 91};
constexpr std::int64_t kShareOfSimulations = 4;

// 0 = does not fit.
Nanos TimeOf(const Plan& plan, const Oracle& oracle) {
  const Evaluation judged = oracle.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
  return judged.feasible ? judged.step_time : 0;
}

// A strategy that leaves algorithms to the library may count a grant that is not free as if it were. It is asked again
// as if nothing were granted: its ops get what is free all the same, where they are launched.
Planned PlanWithinGrants(const Strategy& strategy, const Problem& problem, PlanCache& memo) {
  Planned planned = memo.Plan(strategy, problem);
  CostOptions options = problem.costs->options();
  const bool counts = strategy.scope.LeavesNoChoice() && options.workspace_limit > 0;
  if (planned.feasible || !counts || problem.step->recorded()) return planned;
  options.workspace_limit = 0;
  const CostModel without(problem.costs->machine(), options);
  Problem careful = problem;
  careful.costs = &without;
  careful.plans = nullptr;  // which outlives these costs
  Planned again = strategy.plan(careful);
  if (!again.feasible) return planned;
  again.bound.reset();
  return again;
}

bool DecidesAlike(const Plan& a, const Plan& b) {
  return a.gaps == b.gaps && a.ops == b.ops && a.recompute == b.recompute;
}

}  // namespace

Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem, const Oracle& oracle, PlanCache& memo) {
  Planned best = PlanWithinGrants(strategy, problem, memo);
  if (strategy.judges) return best;
  if (best.plan.runtime.memory != MemoryModel::kArena || (best.feasible && best.plan.gaps.empty())) return best;
  const std::optional<ClaimedBound> bound = best.bound;  // what is claimed of less memory says nothing of all of it
  Nanos best_time = best.feasible ? TimeOf(best.plan, oracle) : 0;
  std::int64_t evaluations = best.plan.evaluations;
  for (const int percent : kPercents) {
    Problem tighter = problem;
    tighter.capacity = problem.capacity / 100 * percent;
    tighter.simulation_cap = problem.simulation_cap / kShareOfSimulations;
    Planned planned = PlanWithinGrants(strategy, tighter, memo);
    evaluations += planned.plan.evaluations;
    if (!planned.feasible) break;
    const Nanos time = DecidesAlike(planned.plan, best.plan) ? best_time : TimeOf(planned.plan, oracle);
    if (time == 0 || (best_time > 0 && time >= best_time)) continue;
    best = std::move(planned);
    best_time = time;
  }
  best.plan.evaluations = evaluations;
  best.bound = bound;
  return best;
}

Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem) {
  PlanCache memo;
  return PlanWithHeadroom(strategy, problem, OracleOf(problem), memo);
}

}  // namespace spillway
