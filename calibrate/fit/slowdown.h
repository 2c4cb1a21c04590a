// How much a kernel slows down while a copy runs: the copy takes memory bandwidth.
#ifndef SPILLWAY_CALIBRATE_FIT_SLOWDOWN_H_
#define SPILLWAY_CALIBRATE_FIT_SLOWDOWN_H_

#include <span>
#include <vector>

#include "calibrate/sample/sample.h"
#include "hw/machine/machine.h"

namespace spillway {

// A number with the interval that it is believed to lie in: of the samples, or of the assumption.
struct RangedValue {
  double value = 0, low = 0, high = 0;
  int samples = 0;  // 0 = assumed
  Source source;
};

// Factor on a kernel's time while a copy runs, by op and pass (KernelModel::copy_slowdown).
struct FittedSlowdown {
  std::string device;
  OpKind kind = OpKind::kCopy;
  Pass pass = Pass::kForward;
  RangedValue factor;  // at least 1
};

// From kernel samples with contention, each against the median of its twins without: same device, harness, launch and
// Sample::kind. By device, op and pass; the value is the median over the pairs, the interval all of them. Only what was
// measured.
std::vector<FittedSlowdown> FitSlowdowns(std::span<const Sample> samples);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_FIT_SLOWDOWN_H_
