// Where the costs of a prediction come from, as shares of the step's time.
//
// Tested by run_test.
#ifndef SPILLWAY_REPORTS_ROWS_SOURCE_SHARES_H_
#define SPILLWAY_REPORTS_ROWS_SOURCE_SHARES_H_

#include "model/cost/cost_model.h"
#include "sim/evaluate/evaluation.h"

namespace spillway {

// The shares add up to 1. A kernel counts by the source of its cost, a stall on copies by that of the copies waited for
// (page faults are assumed), a stall on the host by that of its costs. The rest of the step (kernels slowed down by
// copies, waits for other kernels) is shared out likewise.
struct SourceShares {
  double measured = 0, published = 0, assumed = 0;
  Source::Kind Largest() const;  // of equals the less sure one
};

// REQUIRES: a feasible evaluation with a timeline.
SourceShares SharesOf(const Evaluation& evaluation, const CostModel& costs);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_SOURCE_SHARES_H_
