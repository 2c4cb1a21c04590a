#include "reports/result.h"

namespace spillway {

namespace {

double ElementsPerSecond(const ResultRow& row) {
  return row.SamplesPerSecond() * static_cast<double>(row.sample_elements);
}

// "pooch+arena" -> "+arena": the runtime put in place of the strategies' own.
std::string RuntimeSuffix(const std::string& strategy) {
  const auto plus = strategy.find('+');
  return plus == std::string::npos ? "" : strategy.substr(plus);
}

std::int64_t BatchElements(const ResultRow& row) { return row.batch * row.sample_elements; }

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
    if (!r.feasible || r.strategy != "in-core" + RuntimeSuffix(row.strategy)) continue;
    if (r.scenario != row.scenario || r.network_base != row.network_base) continue;
    if (r.machine != row.machine || r.memory_limit != row.memory_limit) continue;
    if (best == nullptr || BatchElements(r) > BatchElements(*best)) best = &r;
  }
  return best;
}

double LossAgainst(const ResultRow& reference, const ResultRow& row) {
  return 1 - ElementsPerSecond(row) / ElementsPerSecond(reference);
}

}  // namespace spillway
