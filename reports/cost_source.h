// Where the costs of a prediction come from.
#ifndef SPILLWAY_REPORTS_COST_SOURCE_H_
#define SPILLWAY_REPORTS_COST_SOURCE_H_

#include "sim/evaluate.h"

namespace spillway {

// The least sure origin among the costs of a Program's kernels and copies.
Source::Kind LeastSureSource(const Program& program, const CostModel& costs);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_COST_SOURCE_H_
