#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "calibrate/validate/measure.h"

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

}  // namespace spillway
