#include "model/cost/launch_costs.h"

#include <algorithm>

namespace spillway {

LaunchCosts::LaunchCosts(const HostCosts& costs) {
  times_.fill(costs.kernel_launch);
  for (const LaunchCost& cost : costs.launches) times_[Index(cost.op, cost.pass)] = cost.time;
  differ_ = std::any_of(times_.begin(), times_.end(), [&](Nanos time) { return time != costs.kernel_launch; });
}

}  // namespace spillway
