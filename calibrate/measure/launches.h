// What issuing each kind of op costs the host, from the rows of a calibration.
#ifndef SPILLWAY_CALIBRATE_MEASURE_LAUNCHES_H_
#define SPILLWAY_CALIBRATE_MEASURE_LAUNCHES_H_

#include <span>
#include <vector>

#include "calibrate/measure/profile.h"
#include "hw/machine/machine.h"

namespace spillway {

struct BenchLaunches {
  std::vector<LaunchCost> costs;  // by op and pass, in the model's order; whole nanoseconds
  int launches = 0;               // that they are medians of
};
// The median over the fp32 launches of each op and pass that were timed alone and whose rows tell `host_us`. Of a
// launch with several algorithms the fastest one counts, as it does in a step.
BenchLaunches LaunchesOf(std::span<const BenchTime> times);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_LAUNCHES_H_
