// How sure a predicted step time is, from how sure the costs are.
//
// From the errors of the cost model alone: what Programs leave out of a runtime, or get wrong about it, is not in it and
// may well be larger. The interval says nothing about how a published runtime compares with ours.
#ifndef SPILLWAY_REPORTS_INTERVAL_H_
#define SPILLWAY_REPORTS_INTERVAL_H_

#include <span>

#include "sim/evaluate.h"

namespace spillway {

// Errors of kernel times are correlated: what a driver, a library version or a clock does to one kernel it does to
// all. This part does not average out over a step. Assumed: cuDNN 7.0 and 7.6 differ by a median factor of 1.14 on
// equal shapes and device, and a stack that is not the profile's cannot be known better than that.
inline constexpr double kSharedStackError = 0.15;
inline constexpr double kEightyPercent = 1.28;  // standard deviations, both sides, of a normal distribution

// A share of the step whose time has a residual error of its own, independent of the other parts.
struct TimedError {
  Nanos time = 0;
  double error = 0;  // relative, one standard deviation
};

// sqrt(shared^2 + sum (time_i x error_i)^2 / step_time^2): relative, one standard deviation.
double RelativeSpread(double shared, std::span<const TimedError> parts, Nanos step_time);

struct Interval {
  Nanos low = 0, high = 0;
};
// 80 %: step_time x (1 -+ 1.28 x spread), never below 0.
Interval EightyPercentInterval(Nanos step_time, double spread);

// The parts of an evaluated step: one per cost law, and one per copy direction with the time that the step visibly waits
// for it. Kernels of one kind, pass and window go by one law and err together: their errors add up and do not average
// out. Error of such a part: the mean over its kernels, weighted by time.
std::vector<TimedError> PartsOf(const Evaluation& evaluation, const CostModel& costs);

// The least sure origin among the costs of a Program's kernels and copies.
Source::Kind LeastSureSource(const Program& program, const CostModel& costs);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_INTERVAL_H_
