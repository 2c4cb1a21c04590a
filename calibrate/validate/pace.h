// How fast a device computes now, against when its profile was measured.
//
// A profile's figures are of one minute. A processor shared with others was seen to compute a fifth faster the next
// hour; a GPU's clock follows its temperature. Kernels of a kind change together then, which says nothing about a model
// of the step. So a few of the launches that the profile holds are measured again, by the same harness, and predictions
// are for the machine at that pace. Products (convolutions, linear) and all other ops, which the memory bounds, have a
// factor each: what disturbs one need not disturb the other.
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
  std::size_t launches = 16;                        // of products, and of others, at most
  Bytes workspace = CostOptions{}.workspace_limit;  // that plans grant
  // That plans take for the launch, granted that workspace; 0, and empty: the fastest one measured.
  std::function<std::int32_t(const Launch& launch)> algorithm{};
  LoopOptions loop{.target = 0.01, .time_limit = 60 * kMillisecond};
};

// A launch that can be timed again.
struct PacedLaunch {
  BenchItem item;
  Cost then;  // by the profile
};

// Of the launches that the profile's first device holds measured times of, those that make most of a step, each by the
// algorithm that a plan takes (a GPU's plans take one that repeats its bits where there is any, fast or not) and
// against the profile's own time of that one; left out where the profile has none. Where nobody says which: the fastest
// within the workspace, else the one that wants least. Launches of `steps`, which the pace is wanted for, come first:
// their plans load the same code. Those of `others` make up for what the profile lacks; their code nobody else needs.
// Products are timed in the math of the steps, which all have the same; in fp32 where the profile holds fewer than six
// of those. What the target refuses is left out.
//
// Factors are medians of measured now / by the profile; their intervals are by ranks (95 %), as wide to both sides as
// to the wider one. Where too few launches are left for an interval (fewer than six) the other group's stands for both
// and says so; where that has too few, too, 1.
//
// The algorithm that a profile holds as the fastest is in part the luckiest one, and takes a little longer when it is
// timed again. The factor has that in it, and should: it goes with the profile's times, which are too short by as much.
//
// Nothing watches over these launches. Each has run to its end on such a device, by the same algorithm, when it was
// calibrated; `validate` warns before it times any where the libraries have changed since (DeviceBackend::ChangedSince). One
// that hangs all the same has to be ended by the user, as CUDA gives back no memory that a kernel may still use.
//
// A factor whose interval holds 1 is not applied: by what was timed the machine may be as it was.
//
// `timed`, if given: the launches that it comes from, in the order in which they were timed.
MeasuredPace MeasurePace(const Machine& profile, const std::vector<std::shared_ptr<const BenchNetwork>>& steps,
                         const std::vector<std::shared_ptr<const BenchNetwork>>& others, BenchTarget& target,
                         const PaceOptions& options = {}, std::vector<PacedLaunch>* timed = nullptr);

// Median and interval of ratios: factor, low, high and launches of a group; of fewer than six the last alone.
PaceGroup PaceGroupOf(std::vector<double> ratios);

// As far as they are applied.
KernelPace FactorsOf(const MeasuredPace& pace);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_PACE_H_
