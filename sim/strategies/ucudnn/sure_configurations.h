// Whether dividing a convolution pays for sure: in at least 90 % of the common draws of the cost model's errors.
//
// micro-cuDNN's optimisers take the times they are given at their word. Where those are predicted, a division that gains a
// tenth may be one between an algorithm whose times are predicted too short and one whose times are not. What all answers
// for one algorithm share, its parts share: a division that stays with its algorithm, or gains more than the two models
// err against each other, is sure (sim/uncertainty/uncertainty.h).
#ifndef SPILLWAY_SIM_STRATEGIES_UCUDNN_SURE_CONFIGURATIONS_H_
#define SPILLWAY_SIM_STRATEGIES_UCUDNN_SURE_CONFIGURATIONS_H_

#include <optional>
#include <vector>

#include "sim/strategies/ucudnn/configurations.h"

namespace spillway::ucudnn {

// A convolution in parts, each by an algorithm of its own, in the draws that intervals of steps are made of.
class DrawnConfigurations {
 public:
  // `per_kernel` as in FastestConfiguration; it is nothing that errs.
  DrawnConfigurations(const CostModel& costs, const Launch& launch, Nanos per_kernel, int device)
      : costs_(costs), launch_(launch), per_kernel_(per_kernel), device_(device) {}

  // By draw.
  std::vector<Nanos> Times(const Configuration& configuration) const;
  // One that does not divide is as sure as one that does not run undivided at all.
  bool PaysForSure(const Configuration& divided, const Configuration& undivided) const;

 private:
  const CostModel& costs_;
  const Launch& launch_;
  Nanos per_kernel_;
  int device_;
};

// Of `front`, the fastest one that pays for sure against the fastest of `undivided`, which may be it; nullopt: neither has
// any. Both as ConfigurationFront has them.
std::optional<Configuration> FastestSure(const std::vector<Configuration>& front,
                                         const std::vector<Configuration>& undivided, const DrawnConfigurations& draws);

// The front of those undivided and of those of `front` that pay for sure against the fastest undivided one in no more
// workspace than they take.
std::vector<Configuration> SureFront(const std::vector<Configuration>& front,
                                     const std::vector<Configuration>& undivided, const DrawnConfigurations& draws);

}  // namespace spillway::ucudnn

#endif  // SPILLWAY_SIM_STRATEGIES_UCUDNN_SURE_CONFIGURATIONS_H_
