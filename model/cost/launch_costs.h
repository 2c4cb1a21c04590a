// What issuing a launch costs the host, by op and pass: the host costs of a profile as a table.
#ifndef SPILLWAY_MODEL_COST_LAUNCH_COSTS_H_
#define SPILLWAY_MODEL_COST_LAUNCH_COSTS_H_

#include <array>

#include "model/profile/machine.h"
#include "model/step/launch.h"

namespace spillway {

class LaunchCosts {
 public:
  explicit LaunchCosts(const HostCosts& costs);

  // False: one figure holds for every op and pass.
  bool differ() const { return differ_; }
  Nanos Of(OpKind kind, Pass pass) const { return times_[Index(kind, pass)]; }

 private:
  static constexpr std::size_t kKinds = kOpTraits.size();
  static constexpr std::size_t kPasses = static_cast<std::size_t>(Pass::kUpdate) + 1;
  static std::size_t Index(OpKind kind, Pass pass) {
    return kPasses * static_cast<std::size_t>(kind) + static_cast<std::size_t>(pass);
  }
  std::array<Nanos, kKinds * kPasses> times_{};
  bool differ_ = false;
};

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_LAUNCH_COSTS_H_
