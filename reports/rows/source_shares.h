// Where the costs of a prediction come from, as shares of the step's time.
//
// Tested by run_test.
#ifndef SPILLWAY_REPORTS_ROWS_SOURCE_SHARES_H_
#define SPILLWAY_REPORTS_ROWS_SOURCE_SHARES_H_

#include "model/cost/cost_model.h"
#include "sim/evaluate/evaluation.h"

namespace spillway {

// Where the costs of a prediction come from.
// Shares of a step's time, adding up to 1: kernels by the source of each one's cost, stalls on copies by that of the
// copies waited for (page faults are assumed), stalls on the host by that of its costs. What is neither (kernels slowed down by copies, waits for
// other kernels) is shared out like the rest.
struct SourceShares {
  double measured = 0, published = 0, assumed = 0;
  Source::Kind Largest() const;  // of equals the less sure one
};

// REQUIRES: a feasible evaluation with a timeline.
SourceShares SharesOf(const Evaluation& evaluation, const CostModel& costs);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_ROWS_SOURCE_SHARES_H_
