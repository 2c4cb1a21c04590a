// From a plan of one batch part to a plan of the step that runs all of them.
#ifndef SPILLWAY_SIM_STRATEGIES_ACCUMULATE_REPEAT_PLAN_H_
#define SPILLWAY_SIM_STRATEGIES_ACCUMULATE_REPEAT_PLAN_H_

#include "model/step/accumulate.h"
#include "sim/plan/plan.h"

namespace spillway {

// What `large` decides, in each part of the first one's size, and what `small` decides in those that are smaller; head and
// runtime are those of `large`, batch and `accumulate` those of the whole. Beside that
// the input of each part but the first is fetched while the last layer of the part before is in backward.
// REQUIRES: both were checked against the steps that `all` repeats.
Plan RepeatedPlan(const Plan& large, const Plan& small, const AccumulatedStep& all);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_ACCUMULATE_REPEAT_PLAN_H_
