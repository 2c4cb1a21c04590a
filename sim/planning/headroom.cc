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

bool DecidesAlike(const Plan& a, const Plan& b) {
  return a.gaps == b.gaps && a.ops == b.ops && a.recompute == b.recompute;
}

}  // namespace

Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem, const Oracle& oracle, PlanCache& memo) {
  Planned best = memo.Plan(strategy, problem);
  if (strategy.judges) return best;
  if (best.plan.runtime.memory != MemoryModel::kArena || (best.feasible && best.plan.gaps.empty())) return best;
  const std::optional<ClaimedBound> bound = best.bound;  // what is claimed of less memory says nothing of all of it
  Nanos best_time = best.feasible ? TimeOf(best.plan, oracle) : 0;
  std::int64_t evaluations = best.plan.evaluations;
  for (const int percent : kPercents) {
    Problem tighter = problem;
    tighter.capacity = problem.capacity / 100 * percent;
    tighter.simulation_cap = problem.simulation_cap / kShareOfSimulations;
    Planned planned = memo.Plan(strategy, tighter);
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
