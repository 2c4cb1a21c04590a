// A transfer curve of few points from measured times of single copies.
//
// The curve is linear between its points (model/profile/machine.h, TransferCurve) and its points lie at measured sizes. Minimised
// is the sum of squared relative errors, w (curve / measured - 1)^2, where w is 1 from `judged_from` on and small below
// it, and less where a measurement says that it scattered. Points are found one by one: each new one where it helps
// most, then every one moved where that helps more, until another point would not pay (Schwarz 1978) or there are
// `max_points`. Their times follow by linear least squares, never decreasing with the size. Where no copy of at most
// `judged_from` was measured, the line through the first two points goes on to small ones, with at least a microsecond.
#ifndef SPILLWAY_CALIBRATE_FIT_CURVE_H_
#define SPILLWAY_CALIBRATE_FIT_CURVE_H_

#include <cmath>
#include <span>
#include <vector>

#include "model/profile/machine.h"

namespace spillway {

struct TimedCopy {
  Bytes bytes = 0;
  double nanos = 0;
  double deviation = 0;  // relative standard deviation; 0 = not known
};

struct CurveFitOptions {
  int max_points = 12;            // at least 2
  Bytes judged_from = 64 * kKiB;  // smaller copies are a matter of latency, and few of a training step's
};

// At least two points, strictly increasing in size; the rate beyond the last one is at most twice the mean rate up to
// it. REQUIRES: two different sizes at least; all sizes and times positive.
std::vector<TransferCurve::Point> FitCurve(std::span<const TimedCopy> copies, const CurveFitOptions& options = {});

// A copy predicted by a fit to all other sizes.
struct LeftOutCopy {
  Bytes bytes = 0;
  double nanos = 0, predicted = 0;
  double Error() const { return std::abs(predicted / nanos - 1); }
};

// Every copy of at least `judged_from`, by size; empty with fewer than four sizes. The largest one is an extrapolation.
std::vector<LeftOutCopy> PredictLeftOut(std::span<const TimedCopy> copies, const CurveFitOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_CURVE_H_
