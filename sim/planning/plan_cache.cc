#include "sim/planning/plan_cache.h"

#include <fmt/format.h>

#include <utility>

namespace spillway {

PlanCache::Question::Question(const Strategy& s, const Problem& problem)
    : strategy(&s),
      step(problem.step),
      costs(problem.costs),
      capacity(problem.capacity),
      device(problem.device),
      use_runtime(problem.use_runtime),
      units(problem.Units()),
      simulation_cap(problem.simulation_cap),
      parameters(problem.parameters) {}

Planned PlanCache::Plan(const Strategy& strategy, const Problem& problem) {
  if (strategy.needs_layers && problem.step->recorded()) {
    Planned none;
    none.reason =
        fmt::format("recorded_step: {} goes by layers or samples, and a recorded step tells neither", strategy.name);
    if (problem.use_runtime) none.plan.runtime = problem.runtime;
    return none;
  }
  Problem sharing = problem;
  if (sharing.plans == nullptr) sharing.plans = this;
  if (strategy.reads_runtime) return strategy.plan(sharing);
  Planned planned = plans_.Get(Question(strategy, problem), [&] { return strategy.plan(sharing); });
  if (problem.use_runtime) planned.plan.runtime = problem.runtime;
  return planned;
}

std::shared_ptr<const Oracle> OracleCache::For(const Problem& problem) {
  const Place place(problem);
  return oracles_.Get({place, problem.capacity}, [&] {
    auto facts =
        facts_.Get(place, [&] { return std::make_shared<const StepFacts>(*place.step, *place.costs, place.device); });
    if (facts->tables().CutsGrants(problem.capacity)) {
      facts = std::make_shared<const StepFacts>(*place.step, *place.costs, place.device, problem.capacity);
    }
    return std::make_shared<const Oracle>(std::move(facts), problem.capacity);
  });
}

}  // namespace spillway
