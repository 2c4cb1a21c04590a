#include "reports/rows/result_row.h"

namespace spillway {

double ResultRow::SamplesPerSecond() const {
  if (!feasible || times.step <= 0) return 0;
  return static_cast<double>(batch) * static_cast<double>(kSecond) / static_cast<double>(times.step);
}

double ResultRow::ElementsPerSecond() const {
  return SamplesPerSecond() * static_cast<double>(grouping.sample_elements);
}

Bytes ResultRow::MeanBytes() const {
  Bytes sum = 0;
  for (const auto& [name, bytes] : memory.on_average) sum += bytes;
  return sum;
}

namespace {

double SavingOf(Bytes mean, Bytes whole) {
  return whole > 0 ? 1 - static_cast<double>(mean) / static_cast<double>(whole) : 0;
}

}  // namespace

double ResultRow::MeanSaving() const { return SavingOf(MeanBytes(), memory.network_wide); }

double ResultRow::MeanSavingBesideParameters() const {
  Bytes parameters_mean = 0;
  for (const auto& [name, bytes] : memory.on_average) {
    for (const TensorTraits& traits : kTensorTraits) {
      if (traits.of_parameters && name == traits.name) parameters_mean += bytes;
    }
  }
  return SavingOf(MeanBytes() - parameters_mean, memory.network_wide - memory.parameters);
}

double ResultRow::MapShare() const {
  for (const auto& [name, bytes] : memory.at_peak) {
    if (memory.live_peak > 0 && name == TensorClassName(TensorClass::kFeatureMap)) {
      return static_cast<double>(bytes) / static_cast<double>(memory.live_peak);
    }
  }
  return 0;
}

double ResultRow::CopyRate() const {
  return static_cast<double>(kSecond) * (memory.page_rate > 0 ? memory.page_rate : grouping.link_rate);
}

double ResultRow::BoundGap() const {
  if (!feasible || bounds.lower <= 0) return 0;
  return static_cast<double>(times.step) / static_cast<double>(bounds.lower) - 1;
}

}  // namespace spillway
