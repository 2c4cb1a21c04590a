// The pace of a device: how fast it computes now, compared with the time when its profile was measured.
//
// A profile holds the figures of one moment. A shared processor was seen to compute a fifth faster an hour later; a
// GPU's clock follows its temperature. Kernels of a kind then change together, which says nothing about the model of
// the step. So a few launches of the profile are measured again, by the same harness, and predictions are made for the
// machine at that pace. Products (convolutions, linear) have one factor. All other ops, which memory bandwidth limits,
// have another, because a disturbance of one group need not affect the other.
//
// Example: launches of products take 1.10 times their profile times, with the interval [1.06, 1.14]. The interval does
// not contain 1, so predicted times of products are multiplied by 1.10.
//
// Tested by pace_test, cli_validate_pace_test and cli_cuda_pace_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_PACE_H_
#define SPILLWAY_CALIBRATE_VALIDATE_PACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "calibrate/measure/run.h"
#include "calibrate/validate/results.h"
#include "model/cost/cost_model.h"

namespace spillway {

struct PaceOptions {
  std::size_t launches = 16;                        // the most launches for each group
  Bytes workspace = CostOptions{}.workspace_limit;  // the workspace that plans grant
  // The algorithm that plans use for the launch with that workspace. If it returns 0, or is empty: the fastest one
  // measured.
  std::function<std::int32_t(const Launch& launch)> algorithm{};
  LoopOptions loop{.target = 0.01, .time_limit = 60 * kMillisecond};
};

// A launch that can be timed again.
struct PacedLaunch {
  BenchItem item;
  Cost then;  // its cost in the profile
};

// Times launches of the profile again and returns a factor for each group.
//
// Launches: those with measured times on the profile's first device that make up most of a step. Each runs with the
// algorithm that a plan uses (on a GPU one that repeats its bits, if there is one), and is compared with the profile's
// time for that algorithm. Without PaceOptions::algorithm it is the fastest within the workspace, or else the one that
// needs least. Launches of `steps`, for which the pace is wanted, come first. Launches of `others` follow if the
// profile lacks launches of `steps`. Products are timed in the math mode of the steps, or in fp32 if the profile holds
// fewer than six in that mode. Launches that the target refuses are left out.
//
// Factors are medians of time now / time in the profile. Intervals are by ranks (95 %), widened to be symmetric. A
// group with fewer than six launches takes the other group's factor and says so (PaceGroup::of_other). If both have
// fewer, the factors are 1. A factor whose interval contains 1 is not applied, because the machine may not have
// changed.
//
// The fastest algorithm in a profile is in part the luckiest, and takes a little longer when timed again. The factor
// contains that effect, as it should: the profile's times are too short by as much.
//
// No timeout guards these launches. Each has run to its end on such a device when it was calibrated. `validate` warns
// if the libraries have changed since (DeviceBackend::ChangedSince). The user has to end a launch that hangs, because
// CUDA frees no memory that a kernel may still use.
//
// `timed`, if given, receives the launches in the order in which they were timed.
MeasuredPace MeasurePace(const Machine& profile, const std::vector<std::shared_ptr<const BenchNetwork>>& steps,
                         const std::vector<std::shared_ptr<const BenchNetwork>>& others, BenchTarget& target,
                         const PaceOptions& options = {}, std::vector<PacedLaunch>* timed = nullptr);

// Median and interval of `ratios`: sets factor, low, high and launches; with fewer than six ratios only `launches`.
PaceGroup PaceGroupOf(std::vector<double> ratios);

// The factors that are applied; 1 for others.
KernelPace FactorsOf(const MeasuredPace& pace);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_PACE_H_
