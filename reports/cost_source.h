// Where the costs of a prediction come from.
#ifndef SPILLWAY_REPORTS_COST_SOURCE_H_
#define SPILLWAY_REPORTS_COST_SOURCE_H_

#include "sim/evaluate.h"

namespace spillway {

// Shares of a step's time, adding up to 1: kernels by the source of each one's cost, stalls on copies by that of the
// copies waited for, stalls on the host by that of its costs. What is neither (kernels slowed down by copies, waits for
// other kernels) is shared out like the rest.
struct SourceShares {
  double measured = 0, published = 0, assumed = 0;
  Source::Kind Largest() const;  // of equals the less sure one
};

// REQUIRES: a feasible evaluation with a timeline.
SourceShares SharesOf(const Evaluation& evaluation, const CostModel& costs);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_COST_SOURCE_H_
