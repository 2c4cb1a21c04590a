// Whether measured steps can tell the full model from others: ablations and rivals (calibrate/validate/rivals.h).
//
// Tested by validate_falsify_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_FALSIFY_H_
#define SPILLWAY_CALIBRATE_VALIDATE_FALSIFY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/validation.h"

namespace spillway {

// Predictions of one model (calibrate/validate/rivals.h) for each measured row of the set, in order.
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

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_FALSIFY_H_
