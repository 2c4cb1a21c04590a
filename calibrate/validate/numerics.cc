#include "calibrate/validate/numerics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "model/util/hash.h"

namespace spillway {

namespace {

std::vector<double> AsNumbers(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return {values.begin(), values.end()};
}

double Difference(const std::vector<double>& actual, const std::vector<double>& expected) {
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(actual[i]) != std::isnan(expected[i])) return std::numeric_limits<double>::infinity();
    if (std::isnan(expected[i])) continue;
    largest = std::max(largest, std::abs(expected[i]));
    difference = std::max(difference, std::abs(actual[i] - expected[i]));
  }
  return difference / std::max(largest, static_cast<double>(std::numeric_limits<float>::min()));
}

void Note(const std::string& what, bool same, double difference, Numerics& numerics) {
  if (numerics.kind == Numerics::Kind::kSkipped) numerics.kind = Numerics::Kind::kBitwise;
  if (same) return;
  numerics.kind = Numerics::Kind::kDiffers;
  if (!numerics.tensor.empty() && difference <= numerics.largest_difference) return;
  numerics.largest_difference = difference;
  numerics.tensor = what;
}

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

}  // namespace

TrainingResults ResultsOf(const TrainingStep& step, const TrainingValues& values, std::vector<double> losses) {
  TrainingResults results;
  results.losses = std::move(losses);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const Tensor& tensor = step.tensors[t];
    if (tensor.Traits().resident) results.tensors[tensor.name] = values.Result(static_cast<TensorId>(t));
  }
  return results;
}

Numerics CompareResults(const TrainingResults& actual, const TrainingResults& expected) {
  Numerics numerics;
  for (const auto& [name, a] : actual.tensors) {
    const auto found = expected.tensors.find(name);
    if (found == expected.tensors.end() || a.empty() || a.size() != found->second.size()) continue;
    const bool same = a == found->second;
    Note(name, same, same ? 0 : Difference(AsNumbers(a), AsNumbers(found->second)), numerics);
  }
  if (!actual.losses.empty() && actual.losses.size() == expected.losses.size()) {
    const bool same = SameBits(actual.losses, expected.losses);
    Note("the loss", same, same ? 0 : Difference(actual.losses, expected.losses), numerics);
  }
  return numerics;
}

namespace {

// So many units of its last place up, or down below 0.
float Moved(float value, int places) {
  for (int i = 0; i < std::abs(places); ++i) value = std::nextafter(value, places > 0 ? HUGE_VALF : -HUGE_VALF);
  return value;
}

}  // namespace

void RoundedValues::Fill(int iteration, TensorId tensor, std::span<std::byte> bytes) {
  values_.Fill(iteration, tensor, bytes);
  const Tensor& filled = step_.tensors[static_cast<std::size_t>(tensor)];
  if (!filled.Traits().on_host && !filled.Traits().resident) return;
  const std::uint64_t of_tensor = Identity(iteration, tensor);
  for (std::size_t i = 0; (i + 1) * sizeof(float) <= bytes.size(); ++i) {
    float value = 0;
    std::memcpy(&value, &bytes[i * sizeof(float)], sizeof(float));
    const std::uint64_t drawn = Hasher(of_tensor).Add(static_cast<std::uint64_t>(i)).Value();
    if (value == 0) continue;
    value = Moved(value, static_cast<int>(drawn % (2 * kMostPlaces + 1)) - kMostPlaces);
    std::memcpy(&bytes[i * sizeof(float)], &value, sizeof(float));
  }
}

std::uint64_t RoundedValues::Identity(int iteration, TensorId tensor) const {
  return Hasher(values_.Identity(iteration, tensor)).Add(draw_).Value() | 1;
}

}  // namespace spillway
