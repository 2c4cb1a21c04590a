#include "scenarios/validate/validate_contenders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/planning/random_plans.h"

namespace spillway {

CaseSetup Contenders::SetUp(const Place& place, const std::vector<Place>& places) {
  CaseSetup setup;
  setup.step = &run_.steps[place.step]->step;
  setup.costs = run_.machines[place.machine]->costs.get();
  setup.capacity = place.limit;
  for (const PlannedPoint& planned : place.planned) {
    setup.contenders.push_back({.name = planned.point->row.strategy,
                                .stratum = "",
                                .random = false,
                                .plan = &planned.result.plan,
                                .evaluation = Judged(planned.result),
                                .step = StepOf(place, planned.result)});
  }
  AddRandomPlans(place, places, setup);
  return setup;
}

// The evaluation, with the reason of a row that has none.
const Evaluation* Contenders::Judged(const PointResult& result) {
  if (result.row.feasible) return &result.evaluation;
  evaluations_.emplace_back();
  evaluations_.back().reason = result.row.reason;
  return &evaluations_.back();
}

// nullptr: the place's own.
const TrainingStep* Contenders::StepOf(const Place& place, const PointResult& result) {
  if (!result.row.feasible || result.plan.accumulate == 1) return nullptr;
  const PreparedStep& step = *run_.steps[place.step];
  const auto at_batch = [&step](std::int64_t batch) { return StepAtBatch(step, batch); };
  StepsInParts& steps = in_parts_.try_emplace(place.step, step.batch, at_batch).first->second;
  return &steps.In(result.plan.accumulate).all.step;
}

void Contenders::AddRandomPlans(const Place& place, const std::vector<Place>& places, CaseSetup& setup) {
  if (!place.Fits()) return;
  const std::string& network = run_.steps[place.step]->network;
  int sharing = 0, before = 0;  // places of this network
  for (const Place& other : places) {
    if (run_.steps[other.step]->network != network || !other.Fits()) continue;
    before += &other < &place ? 1 : 0;
    ++sharing;
  }
  const int plans = random_plans_ * (before + 1) / sharing - random_plans_ * before / sharing;
  const Problem problem = ProblemOf(setup, *setup.step, place.planned.front().point->runtime);
  const auto seed = seed_ + static_cast<std::uint64_t>(before);
  for (DrawnPlan& drawn : DrawPlans(problem, {.plans = plans, .seed = seed})) {
    plans_.push_back(std::move(drawn.plan));
    evaluations_.push_back(Evaluate(plans_.back(), problem));
    setup.contenders.push_back({.name = fmt::format("random {}", setup.contenders.size() - place.planned.size() + 1),
                                .stratum = drawn.stratum.Text(),
                                .random = true,
                                .plan = &plans_.back(),
                                .evaluation = &evaluations_.back()});
  }
}

}  // namespace spillway
