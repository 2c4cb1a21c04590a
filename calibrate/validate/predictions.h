// What each step model (calibrate/validate/falsify.h) says of the plans that were measured.
//
// Tested by cli_validate_test and cli_validate_pace_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_PREDICTIONS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_PREDICTIONS_H_

#include <vector>

#include "calibrate/validate/case.h"
#include "calibrate/validate/falsify.h"
#include "sim/planning/problem.h"

namespace spillway {

// On the runtime that a plan asks for, or a strategy was asked for.
Problem ProblemOf(const CaseSetup& setup, const TrainingStep& step, const Runtime& runtime);

// By measured row of a case, by model; at these costs.
std::vector<std::vector<double>> PredictionsOfAll(const CaseSetup& setup, const CostModel& costs,
                                                  const std::vector<ValidationRow>& rows);

// By model, of all measured rows of all cases; the profile at its own pace is one more where the pace of any is known.
// `by_row`: the above, of all cases in order.
std::vector<ModelPredictions> ModelsOf(const std::vector<std::vector<double>>& by_row,
                                       const std::vector<ValidationRow>& rows);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_PREDICTIONS_H_
