// How fast a device computes now, against when its profile was measured.
//
// A profile's figures are of one minute. A processor shared with others, a GPU that is warmer than it was, computes a
// fifth faster or slower the next hour, all kernels alike, which says nothing about a model of the step. So a few of the
// launches that the profile holds are measured again, by the same harness, and predictions are for the machine at that
// pace. Products (convolutions, linear) and all other ops, which the memory bounds, have a factor each: what disturbs
// one need not disturb the other.
//
// Tested by pace_test (tests/).
#ifndef SPILLWAY_CALIBRATE_PACE_H_
#define SPILLWAY_CALIBRATE_PACE_H_

#include <memory>
#include <span>
#include <vector>

#include "calibrate/bench_run.h"
#include "model/cost_model.h"
#include "sim/validation.h"

namespace spillway {

struct PaceOptions {
  std::size_t launches = 16;  // of products, and of others, at most
  LoopOptions loop{.target = 0.01, .time_limit = 60 * kMillisecond};
};

// Of the launches of `networks` that the profile's first device holds measured times of, those that make most of a
// step, each by its fastest algorithm; those that the target refuses are left out. Factors are medians of measured now /
// by the profile, their intervals by ranks (95 %). Where too few launches are left for an interval (fewer than six) the
// factor of the other group stands for both; where there are none, 1.
MeasuredPace MeasurePace(const Machine& profile, const std::vector<std::shared_ptr<const BenchNetwork>>& networks,
                         BenchTarget& target, const PaceOptions& options = {});

KernelPace FactorsOf(const MeasuredPace& pace);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_PACE_H_
