// The decisions of a plan that a framework can carry out while it executes the step itself (Runtime::gaps).
//
//   any    everything: the runtime is ours, or a system with its own executor
//   all    eager PyTorch, where storages may be emptied under their readers: gaps of whole tensors before the update
//   saved  eager PyTorch by saved tensors alone: gaps from a forward use to a backward use
//
// Under the last two, ops and the batch stay whole. The framework chooses each algorithm, also of recomputations. Nothing
// happens between updates.
//
// Tested by carried_gaps_test and cli_carry_test (tests/).
#ifndef SPILLWAY_SIM_PLAN_CARRIED_H_
#define SPILLWAY_SIM_PLAN_CARRIED_H_

#include <string>

#include "sim/plan/plan.h"

namespace spillway {

// Whether a tensor may be away between these consecutive uses. `before` == kNoOp: the gap has an open end.
bool MayCarryGap(CarriedGaps gaps, const TrainingStep& step, OpId after, OpId before);

// The first decision that `gaps` excludes, with its names: "'conv1' runs in parts". "": none. REQUIRES: CheckPlan.
std::string NotCarried(CarriedGaps gaps, const Plan& plan, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_CARRIED_H_
