#include "sim/strategies/best/found_plans.h"

#include <utility>

namespace spillway {

FoundPlans FindPlans(const Problem& problem, const Contest& contest, const SearchOrder& order, const GapChoices& start,
                     const std::string& by, const std::stop_token& stop) {
  const SearchSpace& space = *order.space;
  FoundPlans found;
  const auto add = [&](GapModel& model, Annealed annealed) {
    if (!annealed.found || stop.stop_requested()) return;
    Plan plan = PlanOf(problem, model, annealed.choices, by);
    PlanJudgement judged = contest.Judge(plan);
    found.plans.push_back({std::move(annealed.choices), model.capacity(), std::move(plan), std::move(judged)});
  };
  GapModel model(space.tables, problem.runtime, order.rung);
  const Annealed first =
      SearchRung(model, space.open, start, order.search, order.judgements, order.seed, order.insist, stop);
  found.insisted = first.insisted;
  add(model, first);
  for (const Bytes rung : order.around) {
    if (!first.found || stop.stop_requested()) break;
    GapModel other(space.tables, problem.runtime, rung);
    add(other, SearchAround(other, space.open, first.choices, order.judgements, order.seed));
  }
  return found;
}

}  // namespace spillway
