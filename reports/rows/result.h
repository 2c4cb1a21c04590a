// The results of a run, ready to be shown: its rows, the verdicts on its expectations, and how to make it faster.
#ifndef SPILLWAY_REPORTS_ROWS_RESULT_H_
#define SPILLWAY_REPORTS_ROWS_RESULT_H_

#include <cstddef>
#include <vector>

#include "model/cost/cost_model.h"
#include "reports/rows/expectation.h"
#include "reports/rows/result_row.h"
#include "sim/evaluate/evaluation.h"

namespace spillway {

// A step and its lower bound, nanoseconds. 0: does not run, or has no bound.
struct StepAndBound {
  Nanos step = 0, bound = 0;
};

// How much faster a place would be with more memory and with a faster link: its fastest strategy, planned again.
//
// There are two answers side by side. The new plan's gain is there to be had, and may be more or less than the best plan
// would gain: planners jump. No plan gains more than the lower bound does, apart from its distance to the bound before.
// `run` asks about memory, for its page; `compare` about all.
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

struct ResultSet {
  std::vector<ResultRow> rows;
  std::vector<Expectation> expectations;
  std::vector<WhatHelps> helps{};  // of some places, or of none
};

// Everything a feasible row was computed from. Refers to objects of the run; valid during the call it is passed to.
struct PointDetail {
  const ResultRow& row;
  const TrainingStep& step;
  const Machine& machine;
  const Plan& plan;
  const Evaluation& evaluation;
  const CostModel& costs;
};

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_RESULT_H_
