#include <cassert>
#include <numeric>

#include "model/cost/menu.h"
#include "model/recorded/recorded_step.h"

namespace spillway {

namespace {

Nanos TimeOf(const CarriedWay& way, const Launch& launch) { return launch.recomputation ? way.again : way.cost.time; }

bool IsBetter(const CarriedWay& a, const CarriedWay& b, const Launch& launch, Bytes granted) {
  const bool a_fits = a.cost.workspace <= granted, b_fits = b.cost.workspace <= granted;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? TimeOf(a, launch) < TimeOf(b, launch) : a.cost.workspace < b.cost.workspace;
}

}  // namespace

const std::vector<CarriedWay>& RecordedCosts::WaysOf(const Launch& launch) const {
  assert(launch.shape.recorded >= 1 && launch.shape.recorded <= static_cast<std::int64_t>(carried_.ways.size()));
  return carried_.ways[static_cast<std::size_t>(launch.shape.recorded - 1)];
}

Cost RecordedCosts::Kernel(const Launch& launch, int device) const {
  if (launch.kind != OpKind::kRecorded) return CostModel::Kernel(launch, device);
  const std::vector<CarriedWay>& ways = WaysOf(launch);
  const Bytes granted = launch.workspace == kUsualWorkspace ? options().workspace_limit : launch.workspace;
  std::size_t best = 0;
  if (launch.algorithm > 0 && Index(launch.algorithm) <= ways.size()) {
    best = Index(launch.algorithm) - 1;
  } else {
    for (std::size_t k = 1; k < ways.size(); ++k) {
      if (IsBetter(ways[k], ways[best], launch, granted)) best = k;
    }
  }
  Cost cost = ways[best].cost;
  cost.time = TimeOf(ways[best], launch);
  return cost;
}

std::vector<MenuEntry> RecordedCosts::Menu(const Launch& launch, int device) const {
  if (launch.kind != OpKind::kRecorded) return CostModel::Menu(launch, device);
  std::vector<std::int32_t> algorithms(WaysOf(launch).size());
  std::iota(algorithms.begin(), algorithms.end(), 1);
  return MenuOf(launch, algorithms, [&](const Launch& asked) { return Kernel(asked, device); });
}

}  // namespace spillway
