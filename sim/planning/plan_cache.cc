#include "sim/planning/plan_cache.h"

#include <fmt/format.h>

#include <utility>

namespace spillway {

namespace {

// Points of one place lie together; those of a sweep over machines or memories come back to none.
constexpr std::size_t kMostOracles = 16;

bool IsOf(const StepFacts& facts, const Problem& problem) {
  return facts.tables().step == problem.step && &facts.costs() == problem.costs &&
         facts.tables().device == problem.device;
}

}  // namespace

PlanCache::Question::Question(const Strategy& s, const Problem& problem)
    : strategy(&s),
      step(problem.step),
      costs(problem.costs),
      capacity(problem.capacity),
      device(problem.device),
      use_runtime(problem.use_runtime),
      units(problem.use_runtime ? problem.runtime.backward_units : BackwardUnits::kLayers),
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

std::shared_ptr<const StepFacts> OracleCache::FactsFor(const Problem& problem) const {
  for (const std::shared_ptr<const Oracle>& oracle : oracles_) {
    if (IsOf(oracle->facts(), problem)) return oracle->shared_facts();
  }
  return std::make_shared<const StepFacts>(*problem.step, *problem.costs, problem.device);
}

std::shared_ptr<const Oracle> OracleCache::For(const Problem& problem) {
  const std::lock_guard lock(mutex_);
  for (const std::shared_ptr<const Oracle>& oracle : oracles_) {
    if (IsOf(oracle->facts(), problem) && oracle->capacity() == problem.capacity) return oracle;
  }
  oracles_.push_back(std::make_shared<const Oracle>(FactsFor(problem), problem.capacity));
  std::shared_ptr<const Oracle> made = oracles_.back();
  if (oracles_.size() > kMostOracles) oracles_.pop_front();
  return made;
}

}  // namespace spillway
