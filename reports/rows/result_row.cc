#include "reports/rows/result_row.h"

namespace spillway {

double ResultRow::SamplesPerSecond() const {
  if (!feasible || step_time <= 0) return 0;
  return static_cast<double>(batch) * static_cast<double>(kSecond) / static_cast<double>(step_time);
}

double ResultRow::ElementsPerSecond() const { return SamplesPerSecond() * static_cast<double>(sample_elements); }

Bytes ResultRow::MeanBytes() const {
  Bytes sum = 0;
  for (const auto& [name, bytes] : mean_by_class) sum += bytes;
  return sum;
}

namespace {

double SavingOf(Bytes mean, Bytes whole) {
  return whole > 0 ? 1 - static_cast<double>(mean) / static_cast<double>(whole) : 0;
}

}  // namespace

double ResultRow::MeanSaving() const { return SavingOf(MeanBytes(), network_wide); }

double ResultRow::MeanSavingBesideParameters() const {
  Bytes parameters_mean = 0;
  for (const auto& [name, bytes] : mean_by_class) {
    for (const TensorTraits& traits : kTensorTraits) {
      if (traits.of_parameters && name == traits.name) parameters_mean += bytes;
    }
  }
  return SavingOf(MeanBytes() - parameters_mean, network_wide - parameter_bytes);
}

double ResultRow::MapShare() const {
  for (const auto& [name, bytes] : memory_by_class) {
    if (live_peak > 0 && name == TensorClassName(TensorClass::kFeatureMap)) {
      return static_cast<double>(bytes) / static_cast<double>(live_peak);
    }
  }
  return 0;
}

double ResultRow::CopyRate() const { return static_cast<double>(kSecond) * (page_rate > 0 ? page_rate : link_rate); }

double ResultRow::BoundGap() const {
  if (!feasible || lower_bound <= 0) return 0;
  return static_cast<double>(step_time) / static_cast<double>(lower_bound) - 1;
}

Nanos ResultRow::OtherTime() const { return step_time - compute_time - stall_out - stall_in - stall_host; }

}  // namespace spillway
