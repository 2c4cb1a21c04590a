#include "sim/plan_memo.h"

#include <algorithm>
#include <optional>

namespace spillway {

namespace {

// Points that differ in the runtime alone lie close together: as many questions as a place with ten strategies and the
// margins of their arenas asks, several times over.
constexpr std::size_t kMostAnswers = 200;

}  // namespace

PlanMemo::Question::Question(const Strategy& s, const Problem& problem)
    : strategy(&s),
      step(problem.step),
      costs(problem.costs),
      capacity(problem.capacity),
      device(problem.device),
      use_runtime(problem.use_runtime),
      units(problem.use_runtime ? problem.runtime.backward_units : BackwardUnits::kLayers),
      simulation_cap(problem.simulation_cap) {}

Planned PlanMemo::Plan(const Strategy& strategy, const Problem& problem) {
  if (strategy.reads_runtime) return strategy.plan(problem);
  const Question question(strategy, problem);
  std::optional<std::promise<Planned>> promise;  // this call makes the plan
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(answers_.begin(), answers_.end(), [&](const auto& known) { return known.first == question; });
    if (found != answers_.end()) {
      answer = found->second;
    } else {
      answer = promise.emplace().get_future().share();
      answers_.emplace_back(question, answer);
      if (answers_.size() > kMostAnswers) answers_.pop_front();
    }
  }
  if (promise) {
    try {
      promise->set_value(strategy.plan(problem));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }
  Planned planned = answer.get();
  if (problem.use_runtime) planned.plan.runtime = problem.runtime;
  return planned;
}

}  // namespace spillway
