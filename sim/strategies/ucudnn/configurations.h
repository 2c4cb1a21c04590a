// How a convolution is divided along its batch: micro-cuDNN's dynamic programs over micro-batches, which are pure
// arithmetic, and which of their divisions pay for sure.
//
// A configuration is a list of micro-kernels whose samples sum up to the batch. They run one behind another in one
// workspace: times add up, the workspace is the largest. With K[s] the desirable set of s samples and M a limit
//
//   T[0] = 0,   T[b] = min over 1 <= s <= b/2 of (best of K[s] within M) + T[b - s], and (best of K[b] within M)
//
// s <= b/2 will do: every division into two parts or more has a part of at most half. The part that comes first may be
// chosen from sets of its own (MicroKernels::first); one more minimum over all s sees to that.
//
// Published as WR, workspace reuse: one limit for each kernel. WD, workspace division, needs the front of all
// configurations in workspace and time. Because the workspace is the largest and no sum, that front is the fastest
// configuration under each limit that matters: one of the workspaces in the desirable sets. Between two limits with the
// same time no other one is, which leaves most of them unasked.
#ifndef SPILLWAY_SIM_STRATEGIES_UCUDNN_CONFIGURATIONS_H_
#define SPILLWAY_SIM_STRATEGIES_UCUDNN_CONFIGURATIONS_H_

#include <optional>
#include <vector>

#include "sim/strategies/ucudnn/micro_kernels.h"

namespace spillway::ucudnn {

struct Configuration {
  Nanos time = 0;                    // of all parts, `per_kernel` of each included
  Bytes workspace = 0;               // of the part that needs most
  std::vector<MicroKernel> parts{};  // the first one, then larger before smaller
};

// The fastest within `limit`; of equally fast ones one of the fewest parts. nullopt: nothing runs in so little.
// `per_kernel`: what each micro-kernel costs beside its own time. O(batch^2) additions.
std::optional<Configuration> FastestConfiguration(const MicroKernels& kernels, Bytes limit, Nanos per_kernel = 0);

// Those within `limit` that no other one beats in both workspace and time: ascending in workspace, descending in time,
// both strictly. The last one is FastestConfiguration's.
std::vector<Configuration> ConfigurationFront(const MicroKernels& kernels, Bytes limit, Nanos per_kernel = 0);

// ---- Divisions that pay for sure: in at least 90 % of the common draws of the cost model's errors.
//
// micro-cuDNN's optimisers take the times they are given at their word. Where those are predicted, a division that
// gains a tenth may be one between an algorithm whose times are predicted too short and one whose times are not. What
// all answers for one algorithm share, its parts share: a division that stays with its algorithm, or gains more than
// the two models err against each other, is sure (sim/uncertainty/uncertainty.h).

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

// Of `front`, the fastest one that pays for sure against the fastest of `undivided`, which may be it; nullopt: neither
// has any. Both as ConfigurationFront has them.
std::optional<Configuration> FastestSure(const std::vector<Configuration>& front,
                                         const std::vector<Configuration>& undivided, const DrawnConfigurations& draws);

// The front of those undivided and of those of `front` that pay for sure against the fastest undivided one in no more
// workspace than they take.
std::vector<Configuration> SureFront(const std::vector<Configuration>& front,
                                     const std::vector<Configuration>& undivided, const DrawnConfigurations& draws);

}  // namespace spillway::ucudnn

#endif  // SPILLWAY_SIM_STRATEGIES_UCUDNN_CONFIGURATIONS_H_
