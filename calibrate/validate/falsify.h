// Whether measured steps can tell the full model from others: ablations and rivals.
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

// Other models of the step time, to see whether what was measured can tell the full one from them.
//
// Ablations leave one feature of the simulator out. Rivals are simpler models that people use. Each looks at the same
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

// One row per model, the first of which is the full one, judged by the rows one by one: is its error larger or smaller
// than the full model's? A model is rejected if it is farther off at so many rows that chance would not do it (sign
// test, 5 %) and its mean error is larger, too, whichever cases had been drawn (95 % interval). With fewer than
// kFewCases cases rows stand for themselves, which overstates what they say: rows of a network have much in common.
// REQUIRES: a prediction for each measured row.
constexpr std::size_t kFewCases = 5;
std::vector<FalsificationRow> Falsify(const ValidationSet& set, std::span<const ModelPredictions> models,
                                      std::uint64_t seed);

// A common bias says nothing about a model: a machine that is a quarter slower than predicted rejects whoever predicts half
// a percent less. So what `table` calls rejected, or closer to the data, has to be so of `scaled` as well, the same models
// with one factor per case; otherwise its verdict becomes that such factors explain it.
// REQUIRES: the same models in the same order.
void AllowCommonFactors(std::span<const FalsificationRow> scaled, std::vector<FalsificationRow>& table);

// The same models, each with one factor per case: the median of measured / predicted. Kernels that are all slower than
// predicted make every model look right that adds time, for whatever reason; after this they do not.
std::vector<ModelPredictions> ScaledByCase(const ValidationSet& set, std::span<const ModelPredictions> models);

// ---- What many rows of predicted and measured step times come to.

// Sets what the rows of a case say about it: the order of all of them, and the choice of a strategy with what it costs.
// Rows that were not measured do not count. Of strategies predicted to take the same time the first one is the choice.
// It is as good as the best one within noise if the interval of their ratio, rounds drawn together, holds 1. Two rows
// differ beyond noise (clear_pairs) if their ratio's 99 % interval does not.
void JudgeCase(std::span<const ValidationRow> rows, std::uint64_t seed, ValidationCase& place);

// Those that were measured, in their order; `rows` must outlive them.
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
