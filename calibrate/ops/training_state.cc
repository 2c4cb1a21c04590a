#include "calibrate/ops/training_state.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "model/util/hash.h"

namespace spillway {

namespace {

constexpr std::uint64_t kLabels = 1;  // kind of what is drawn; values.cc has the others

}  // namespace

std::int32_t LabelOf(std::uint64_t seed, std::uint64_t iteration, std::uint64_t index, std::int64_t classes) {
  const std::uint64_t labels = Hasher().Add(seed).Add(kLabels).Value();
  const std::uint64_t sequence = Hasher().Add(labels).Add(iteration).Value();
  return static_cast<std::int32_t>(Hasher(sequence).Add(index).Value() % static_cast<std::uint64_t>(classes));
}

// Elements are told apart by multiples of the same number (dropout.cc), so that going on is one more.
std::uint64_t RandomStream(std::uint64_t seed, std::uint64_t iteration, LayerId layer, std::int64_t first_element) {
  const std::uint64_t mixed = SplitMix(SplitMix(seed + kGolden) + kGolden * (iteration + 1));
  const std::uint64_t stream = SplitMix(mixed + kGolden * (static_cast<std::uint64_t>(layer) + 1));
  return stream + kGolden * static_cast<std::uint64_t>(first_element);
}

std::vector<float> OneHot(const Shape& shape, std::span<const std::int32_t> labels) {
  std::vector<float> rows(static_cast<std::size_t>(shape.Elements()), 0.0f);
  const std::int64_t positions = shape.Spatial();
  for (std::int64_t i = 0; i < shape.n * positions; ++i) {
    const std::int64_t channel = i / positions * shape.c + labels[static_cast<std::size_t>(i)];
    rows[static_cast<std::size_t>(channel * positions + i % positions)] = 1;
  }
  return rows;
}

void TrainingState::StartIteration(std::uint64_t iteration) {
  iteration_ = iteration;
  loss_ = std::numeric_limits<double>::quiet_NaN();
  for (auto& [key, labels] : labels_) {
    const auto [first, count, classes] = key;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = LabelOf(options_.seed, iteration, static_cast<std::uint64_t>(first) + i, classes);
    }
  }
}

void TrainingState::NoteLoss(double loss, double share) { loss_ = share * loss + (std::isnan(loss_) ? 0 : loss_); }

std::span<const std::int32_t> TrainingState::Labels(std::int64_t first, std::int64_t count, std::int64_t classes) {
  std::vector<std::int32_t>& labels = labels_[{first, count, classes}];
  labels.resize(static_cast<std::size_t>(count));
  return labels;
}

std::span<float> TrainingState::Statistics(LayerId layer, std::int64_t channels) {
  std::vector<float>& values = statistics_[layer];
  if (!values.empty()) return values;
  values.resize(static_cast<std::size_t>(2 * channels), 0.0f);
  std::fill(values.begin() + static_cast<std::ptrdiff_t>(channels), values.end(), 1.0f);
  return values;
}

}  // namespace spillway
