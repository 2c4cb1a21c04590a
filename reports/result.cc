#include "reports/result.h"

namespace spillway {

namespace {

double ElementsPerSecond(const ResultRow& row) {
  return row.SamplesPerSecond() * static_cast<double>(row.sample_elements);
}

// "in-core" as it is, and on the runtimes put in place of its own.
bool IsInCore(const std::string& strategy) { return strategy == "in-core" || strategy.starts_with("in-core+"); }

}  // namespace

double ResultRow::SamplesPerSecond() const {
  if (!feasible || step_time <= 0) return 0;
  return static_cast<double>(batch) * static_cast<double>(kSecond) / static_cast<double>(step_time);
}

double ResultRow::BoundGap() const {
  if (!feasible || lower_bound <= 0) return 0;
  return static_cast<double>(step_time) / static_cast<double>(lower_bound) - 1;
}

const ResultRow* InCoreReference(const std::vector<ResultRow>& rows, const ResultRow& row) {
  const ResultRow* best = nullptr;
  for (const ResultRow& r : rows) {
    if (!r.feasible || !IsInCore(r.strategy)) continue;
    if (r.scenario != row.scenario || r.network_base != row.network_base) continue;
    if (r.machine != row.machine || r.memory_limit != row.memory_limit) continue;
    if (best == nullptr || ElementsPerSecond(r) > ElementsPerSecond(*best)) best = &r;
  }
  return best;
}

double LossAgainst(const ResultRow& reference, const ResultRow& row) {
  return 1 - ElementsPerSecond(row) / ElementsPerSecond(reference);
}

}  // namespace spillway
