// Who takes part in a case: the strategies' plans of a place, and random ones; and what step models say of them.
//
// Tested by cli_validate_test and cli_validate_pace_test (tests/).
#ifndef SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_CONTENDERS_H_
#define SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_CONTENDERS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "calibrate/validate/case.h"
#include "calibrate/validate/falsify.h"
#include "model/step/steps_in_parts.h"
#include "scenarios/validate/validate_places.h"

namespace spillway {

// On the runtime that a plan asks for, or a strategy was asked for.
Problem ProblemOf(const CaseSetup& setup, const TrainingStep& step, const Runtime& runtime);

// Owns what setups point to; places, too, have to outlive these.
class Contenders {
 public:
  // `random_plans`: per network, spread over its places at which a strategy fits.
  Contenders(const PreparedRun& run, int random_plans, std::uint64_t seed)
      : run_(run), random_plans_(random_plans), seed_(seed) {}
  CaseSetup SetUp(const Place& place, const std::vector<Place>& places);

 private:
  const Evaluation* Judged(const PointResult& result);
  const TrainingStep* StepOf(const Place& place, const PointResult& result);
  void AddRandomPlans(const Place& place, const std::vector<Place>& places, CaseSetup& setup);

  const PreparedRun& run_;
  int random_plans_;
  std::uint64_t seed_;
  std::deque<Plan> plans_;                        // random ones; addresses stay
  std::deque<Evaluation> evaluations_;            // theirs, and those of rows without one
  std::map<std::size_t, StepsInParts> in_parts_;  // by step of the run
};

// ---- What each step model (calibrate/validate/falsify.h) says of those that were measured.

// By measured row of a case, by model; at these costs.
std::vector<std::vector<double>> PredictionsOfAll(const CaseSetup& setup, const CostModel& costs,
                                                  const std::vector<ValidationRow>& rows);

// By model, of all measured rows of all cases; the profile at its own pace is one more where the pace of any is known.
// `by_row`: the above, of all cases in order.
std::vector<ModelPredictions> ModelsOf(const std::vector<std::vector<double>>& by_row,
                                       const std::vector<ValidationRow>& rows);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_VALIDATE_VALIDATE_CONTENDERS_H_
