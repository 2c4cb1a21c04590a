#include "sim/plan_memo.h"

namespace spillway {

PlanMemo::Question::Question(const Strategy& s, const Problem& problem)
    : strategy(&s),
      step(problem.step),
      costs(problem.costs),
      capacity(problem.capacity),
      device(problem.device),
      use_runtime(problem.use_runtime),
      units(problem.use_runtime ? problem.runtime.backward_units : BackwardUnits::kLayers),
      simulation_cap(problem.simulation_cap),
      parameters(problem.parameters) {}

Planned PlanMemo::Plan(const Strategy& strategy, const Problem& problem) {
  if (strategy.reads_runtime) return strategy.plan(problem);
  Planned planned = plans_.Get(Question(strategy, problem), [&] {
    Problem sharing = problem;
    if (sharing.rungs == nullptr) sharing.rungs = &rungs_;
    return strategy.plan(sharing);
  });
  if (problem.use_runtime) planned.plan.runtime = problem.runtime;
  return planned;
}

}  // namespace spillway
