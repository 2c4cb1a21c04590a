// Falsification: tests if measured steps reject the full model of step time in favour of another model, or the reverse.
//
// Tested by validate_falsify_test, cli_validate_test and cli_validate_pace_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_FALSIFY_H_
#define SPILLWAY_CALIBRATE_VALIDATE_FALSIFY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calibrate/validate/case.h"
#include "calibrate/validate/results.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"

namespace spillway {

// A model of the step time: the full model, an ablation, or a rival.
//
// Ablations leave one feature of the simulator out. Rivals are simpler models that people use. All models get the same
// costs and the same Program or plan; none has a parameter to tune.
struct StepModel {
  const char* name;
  const char* description;
  // REQUIRES: `evaluation` is that of `plan` and `problem`, and feasible.
  Nanos (*predict)(const Evaluation& evaluation, const Plan& plan, const Problem& problem);
};
// The full model first.
const std::vector<StepModel>& StepModels();

// Predictions of one model for each measured row of the set, in order.
struct ModelPredictions {
  std::string name, description;
  std::vector<double> predicted;
};

// Compares each model with the full one, which is the first; returns one row per model. A model is rejected if two
// things hold. Its error is larger than the full model's at more rows than chance explains (sign test, 5 %). Its mean
// error is larger, with cases drawn anew (95 % interval). With fewer than kFewCases cases, rows are drawn instead of
// cases. That overstates the evidence, because rows of one network have much in common. REQUIRES: a prediction for each
// measured row.
constexpr std::size_t kFewCases = 5;
std::vector<FalsificationRow> Falsify(const ValidationSet& set, std::span<const ModelPredictions> models,
                                      std::uint64_t seed);

// Corrects `table` for a common bias of the machine. On a machine that is a quarter slower than predicted, a model that
// predicts half a percent less would be rejected. So a verdict "rejected" or "closer" in `table` must also hold in
// `scaled`, the same models with one factor per case. Otherwise the verdict becomes that such factors explain the
// difference. REQUIRES: the same models in the same order.
void AllowCommonFactors(std::span<const FalsificationRow> scaled, std::vector<FalsificationRow>& table);

// The models' predictions times one factor per case, the median of measured / predicted. Without such factors, kernels
// that are all slower than predicted favour every model that adds time.
std::vector<ModelPredictions> ScaledByCase(const ValidationSet& set, std::span<const ModelPredictions> models);

// ---- Summaries over rows.

// Sets the summary fields of the case from its measured rows: the order of all rows, the strategy predicted best, and
// its regret. Among strategies with the same prediction the first one is chosen. The choice equals the best within
// noise if the interval of their ratio contains 1 (rounds drawn together). Two rows differ beyond noise (clear_pairs)
// if the 99 % interval of their ratio does not contain 1.
void JudgeCase(std::span<const ValidationRow> rows, std::uint64_t seed, ValidationCase& place);

// Pointers to the measured rows, in order; `rows` must outlive them.
std::vector<const ValidationRow*> MeasuredRows(std::span<const ValidationRow> rows);

// Signed median, and median and largest magnitude of `errors`. REQUIRES: at least one.
ErrorSummary SummaryOf(std::string group, const std::vector<double>& errors);

// A network counts as seen in calibration if the launches that were timed there make up this share of its kernel time.
constexpr double kSeenShare = 0.5;

// Sets tau, clear_pairs, clear_right, best_or_noise, judged, median_replay and summaries from cases and rows.
void SummariseSet(ValidationSet& set);

// ---- What each step model says of the plans that were measured.

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

#endif  // SPILLWAY_CALIBRATE_VALIDATE_FALSIFY_H_
