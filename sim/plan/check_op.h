// Checks of three parts of a plan: decisions on one op, schedule entries, and streamed operands.
#ifndef SPILLWAY_SIM_PLAN_CHECK_OP_H_
#define SPILLWAY_SIM_PLAN_CHECK_OP_H_

#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace spillway {

// The mistakes of a decision, each with the op's name: algorithms that the op does not have, workspaces out of range,
// parts of an op that cannot be divided, parts that are not the whole batch. The needs of an algorithm depend on the
// machine and are checked elsewhere (sim/evaluate/unsupported_launch.h). REQUIRES: the op is one of the step's.
std::vector<std::string> OpMistakes(const OpDecision& decision, const TrainingStep& step);

// The last op up to `until` that writes the tensor; kNoOp: none does.
OpId LastWriterUntil(OpId until, TensorId tensor, const TrainingStep& step, const Uses& uses);

// Mistakes of schedule entries: they compute nothing missing, an unfinished tensor, or one that leaves after its gap.
// `uses` are the step's.
std::vector<PlanMistake> EntryMistakes(const Plan& plan, const TrainingStep& step, const Uses& uses);

// Mistakes where gaps contradict streamed operands: a streamed operand is on the host before and after the op.
// REQUIRES: the plan has no other mistakes. `uses` are the step's.
std::vector<PlanMistake> StreamMistakes(const Plan& plan, const TrainingStep& step, const Uses& uses);

// Fused ops that cannot run part by part together: the op before lacks parts, or has others; what they find in place would
// move, or be computed again, between them. REQUIRES: as above.
std::vector<PlanMistake> FusedMistakes(const Plan& plan, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_CHECK_OP_H_
