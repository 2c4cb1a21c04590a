#include <cassert>
#include <cmath>
#include <numeric>

#include "model/cost/menu.h"
#include "model/recorded/recorded_step.h"

namespace spillway {

namespace {

Nanos TimeOf(const RecordedWay& way, const Launch& launch) {
  return launch.recomputation ? way.recompute_time : way.time;
}

bool IsBetter(const RecordedWay& a, const RecordedWay& b, const Launch& launch, Bytes granted) {
  const bool a_fits = a.workspace <= granted, b_fits = b.workspace <= granted;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? TimeOf(a, launch) < TimeOf(b, launch) : a.workspace < b.workspace;
}

}  // namespace

Cost RecordedCosts::CostOf(const Launch& launch, std::size_t way) const {
  const auto op = static_cast<std::size_t>(launch.shape.recorded - 1);
  const RecordedWay& taken = recorded_->ways[op][way];
  const bool by_flops = recorded_->calls[op].flops > 0;
  const double factor = by_flops ? carried_.by_flops : carried_.by_bytes;
  const double more = by_flops ? carried_.flops_error : carried_.bytes_error;
  Cost cost;
  cost.time = std::llround(static_cast<double>(TimeOf(taken, launch)) * factor * options().compute_slowdown);
  cost.source = carried_.same ? recorded_->source.kind : Source::Kind::kAssumed;
  cost.error = std::hypot(recorded_->error, more);
  cost.shared_error = std::hypot(recorded_->shared_error, more);
  cost.group = recorded_->digest;
  cost.how = "recorded";
  cost.algorithm = static_cast<std::int32_t>(way) + 1;
  cost.workspace = taken.workspace;
  return cost;
}

Cost RecordedCosts::Kernel(const Launch& launch, int device) const {
  if (launch.kind != OpKind::kRecorded) return CostModel::Kernel(launch, device);
  assert(launch.shape.recorded >= 1 && launch.shape.recorded <= static_cast<std::int64_t>(recorded_->ways.size()));
  const std::vector<RecordedWay>& ways = recorded_->ways[static_cast<std::size_t>(launch.shape.recorded - 1)];
  const Bytes granted = launch.workspace == kUsualWorkspace ? options().workspace_limit : launch.workspace;
  std::size_t best = 0;
  if (launch.algorithm > 0 && Index(launch.algorithm) <= ways.size()) {
    best = Index(launch.algorithm) - 1;
  } else {
    for (std::size_t k = 1; k < ways.size(); ++k) {
      if (IsBetter(ways[k], ways[best], launch, granted)) best = k;
    }
  }
  return CostOf(launch, best);
}

std::vector<MenuEntry> RecordedCosts::Menu(const Launch& launch, int device) const {
  if (launch.kind != OpKind::kRecorded) return CostModel::Menu(launch, device);
  std::vector<std::int32_t> algorithms(recorded_->ways[static_cast<std::size_t>(launch.shape.recorded - 1)].size());
  std::iota(algorithms.begin(), algorithms.end(), 1);
  return MenuOf(launch, algorithms, [&](const Launch& asked) { return Kernel(asked, device); });
}

}  // namespace spillway
