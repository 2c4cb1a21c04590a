#include "sim/bounds/part_rates.h"

#include <algorithm>

#include "model/cost/menu.h"
#include "model/cost/op_parts.h"

namespace spillway {

namespace {

void AddRates(const Launch& part, const CostModel& costs, int device, std::vector<PartRate>& rates) {
  const auto samples = static_cast<double>(part.shape.in.n);
  for (const MenuEntry& entry : ParetoSet(costs.Menu(part, device))) {
    rates.push_back({static_cast<double>(entry.cost.time) / samples, entry.workspace});
  }
}

std::vector<PartRate> NotBeaten(std::vector<PartRate> rates) {
  std::stable_sort(rates.begin(), rates.end(), [](const PartRate& a, const PartRate& b) {
    return a.nanos_per_sample != b.nanos_per_sample ? a.nanos_per_sample < b.nanos_per_sample
                                                    : a.workspace < b.workspace;
  });
  std::vector<PartRate> best;
  for (const PartRate& rate : rates) {
    if (best.empty() || rate.workspace < best.back().workspace) best.push_back(rate);
  }
  return best;
}

}  // namespace

// The first part of a sum writes and the others add, which are launches of their own.
std::vector<PartRate> PartRatesOf(const Launch& launch, const CostModel& costs, int device) {
  std::vector<PartRate> rates;
  if (!HasSampleParts(launch.kind)) return rates;
  if (launch.shape.in.n > kMostRatedSamples) return {{0, 0}};
  for (std::int64_t samples = launch.shape.in.n; samples > 0; --samples) {
    const Launch first = PartOf(launch, samples, true), later = PartOf(launch, samples, false);
    AddRates(first, costs, device, rates);
    if (!(later == first)) AddRates(later, costs, device, rates);
    if (samples % 64 == 0) rates = NotBeaten(std::move(rates));
  }
  return NotBeaten(std::move(rates));
}

LaunchPartRates PartRatesOf(const StepTables& tables, const CostModel& costs, PartScope parts) {
  LaunchPartRates rates;
  for (const Launch& launch : tables.launches) {
    const bool may = parts == PartScope::kStreamed || (parts == PartScope::kBatch && HasAlgorithms(launch.kind));
    rates.push_back(may ? PartRatesOf(launch, costs, tables.device) : std::vector<PartRate>{});
  }
  return rates;
}

}  // namespace spillway
