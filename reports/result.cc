#include "reports/result.h"

namespace spillway {

namespace {

double ElementsPerSecond(const ResultRow& row) {
  return row.SamplesPerSecond() * static_cast<double>(row.sample_elements);
}

}  // namespace

double ResultRow::SamplesPerSecond() const {
  if (!feasible || step_time <= 0) return 0;
  return static_cast<double>(batch) * static_cast<double>(kSecond) / static_cast<double>(step_time);
}

double ResultRow::BoundGap() const {
  if (!feasible || lower_bound <= 0) return 0;
  return static_cast<double>(step_time) / static_cast<double>(lower_bound) - 1;
}

Nanos ResultRow::OtherTime() const { return step_time - compute_time - stall_out - stall_in - stall_host; }

double LossAgainst(const ResultRow& reference, const ResultRow& row) {
  return 1 - ElementsPerSecond(row) / ElementsPerSecond(reference);
}

}  // namespace spillway
