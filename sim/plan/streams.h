// What follows from ops that stream operands (OpDecision::streamed), for those who write plans.
#ifndef SPILLWAY_SIM_PLAN_STREAMS_H_
#define SPILLWAY_SIM_PLAN_STREAMS_H_

#include "sim/plan/plan.h"

namespace spillway {

// Makes the plan's gaps go with what its ops stream: a swap where one of two uses in a row has the tensor on the device,
// in place of whatever was decided there; nothing where neither does. Copies out start where their gaps do. Gaps of tensors
// that nobody streams stay as they are, and all others in their order; new ones come last, each with `reason`.
// REQUIRES: the plan's ops and tensors are the step's; `uses` are the step's.
void SwapWhereStreamed(const TrainingStep& step, const Uses& uses, const std::string& reason, Plan& plan);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_STREAMS_H_
