// Losses in double, from what an op of the loss wrote.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "calibrate/ops/training_state.h"

namespace spillway {
namespace {

double MinusLog(float probability) { return -std::log(std::max(probability, std::numeric_limits<float>::min())); }

// One minus Dice, the mean over samples and classes.
double DiceLoss(const Shape& shape, std::span<const float> probabilities, std::span<const std::int32_t> labels) {
  const std::int64_t places = shape.Spatial();
  double sum = 0;
  for (std::int64_t plane = 0; plane < shape.n * shape.c; ++plane) {
    double both = 0, all = 0;
    for (std::int64_t i = 0; i < places; ++i) {
      const double p = probabilities[static_cast<std::size_t>(plane * places + i)];
      const bool right = labels[static_cast<std::size_t>(plane / shape.c * places + i)] == plane % shape.c;
      both += right ? p : 0;
      all += p + (right ? 1 : 0);
    }
    sum += 1 - (2 * both + kDiceSmooth) / (all + kDiceSmooth);
  }
  return sum / static_cast<double>(shape.n * shape.c);
}

double Mean(std::span<const float> numbers) {
  double sum = 0;
  for (const float number : numbers) sum += number;
  return sum / static_cast<double>(numbers.size());
}

}  // namespace

double CrossEntropy(const Shape& shape, std::span<const float> probabilities, std::span<const std::int32_t> labels,
                    double smoothing) {
  const std::int64_t positions = shape.Spatial();
  assert(probabilities.size() == static_cast<std::size_t>(shape.Elements()));
  assert(labels.size() == static_cast<std::size_t>(shape.n * positions));
  double right = 0, all = 0;
  for (std::int64_t i = 0; i < shape.n * positions; ++i) {
    const std::int64_t first = i / positions * shape.c * positions + i % positions;
    const std::int64_t at = first + labels[static_cast<std::size_t>(i)] * positions;
    right += MinusLog(probabilities[static_cast<std::size_t>(at)]);
    for (std::int64_t c = 0; smoothing > 0 && c < shape.c; ++c) {
      all += MinusLog(probabilities[static_cast<std::size_t>(first + c * positions)]);
    }
  }
  return ((1 - smoothing) * right + smoothing * all / static_cast<double>(shape.c)) /
         static_cast<double>(shape.n * positions);
}

double LossOf(OpKind kind, const LossRule& rule, const Shape& shape, std::span<const float> result,
              std::span<const std::int32_t> labels) {
  if (kind == OpKind::kPairLoss) return Mean(result);
  if (kind == OpKind::kDiceLoss) return DiceLoss(shape, result, labels);
  return CrossEntropy(shape, result, labels, rule.smoothing);
}

}  // namespace spillway
