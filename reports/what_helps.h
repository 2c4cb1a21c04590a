// What would help: the fastest strategy of a place, planned again with more memory and behind a faster link.
//
// Two answers side by side. What planning again gains is there to be had, and may be more or less than the best plans
// would: planners jump. What the lower bound gains is what no plan can (nor can a plan gain more than its step is above the
// bound with more). Both are differences over an eighth, told per gigabyte and per gigabyte a second.
#ifndef SPILLWAY_REPORTS_WHAT_HELPS_H_
#define SPILLWAY_REPORTS_WHAT_HELPS_H_

#include <string>
#include <vector>

#include "reports/result.h"

namespace spillway {

// A step and its lower bound, nanoseconds. 0: does not run, or has no bound.
struct StepAndBound {
  Nanos step = 0, bound = 0;
};

struct WhatHelps {
  ResultRow row;          // the fastest of its place, feasible
  Bytes more = 0;         // memory beyond row.memory_limit
  StepAndBound memory{};  // with it
  // The machine's link as one rate in each direction, latencies kept, and a faster one: bytes per nanosecond.
  double even_rate = 0, faster_rate = 0;
  StepAndBound even{}, faster{};
  // From which rate on copying every feature map there and back (swap-all, on the row's runtime or its own) costs less than
  // a hundredth of the step behind the fastest link asked about. 0: it does not run there.
  double free_from = 0;
};

// One line a place; "" without any.
std::string WhatHelpsTable(const std::vector<WhatHelps>& places);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_WHAT_HELPS_H_
