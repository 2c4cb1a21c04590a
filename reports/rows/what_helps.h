// What would help: the fastest strategy of a place, planned again with more memory and behind a faster link.
//
// Two answers side by side. What planning again gains is there to be had, and may be more or less than the best plans
// would: planners jump. What the lower bound gains is what no plan can (nor can a plan gain more than its step is above the
// bound with more). `run` asks about memory, for its page; `compare` about all.
#ifndef SPILLWAY_REPORTS_ROWS_WHAT_HELPS_H_
#define SPILLWAY_REPORTS_ROWS_WHAT_HELPS_H_

#include <cstddef>

#include "hw/text/units.h"

namespace spillway {

// A step and its lower bound, nanoseconds. 0: does not run, or has no bound.
struct StepAndBound {
  Nanos step = 0, bound = 0;
};

struct WhatHelps {
  std::size_t row = 0;    // of the run's rows the fastest of its place, feasible
  Bytes more = 0;         // memory beyond that row's limit
  StepAndBound memory{};  // with it
  bool links = false;     // whether the rest was asked
  // The machine's link as one rate in each direction, latencies kept, and a faster one: bytes per nanosecond.
  double even_rate = 0, faster_rate = 0;
  StepAndBound even{}, faster{};
  // From which rate on copying every feature map there and back (swap-all, on the row's runtime or its own) costs less than
  // a hundredth of the step behind the fastest link asked about. 0: it does not run there.
  double free_from = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_WHAT_HELPS_H_
