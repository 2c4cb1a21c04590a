#include "model/cost/launch_costs.h"

#include <algorithm>

#include "model/profile/profile_names.h"

namespace spillway {

LaunchCosts::LaunchCosts(const Device& device, const std::string& machine) {
  const HostCosts& costs = device.host_costs;
  times_.fill(costs.kernel_launch);
  ProfileNames names(device, machine, "launches");
  for (const LaunchCost& cost : costs.launches) {
    const LaunchCost::Places& at = cost.places;
    const auto kind = names.Op(cost.op, at.file, at.op);
    const auto pass = names.Pass(cost.pass, at.file, at.pass);
    if (kind && pass) times_[Index(*kind, *pass)] = cost.time;
  }
  names.ThrowIfAny();
  differ_ = std::any_of(times_.begin(), times_.end(), [&](Nanos time) { return time != costs.kernel_launch; });
}

}  // namespace spillway
