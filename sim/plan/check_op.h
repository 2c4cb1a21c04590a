// The checks of CheckPlan (plan.h) beyond single gaps within a step: what a plan may say of gaps that end in the next
// step, of one op, of entries that recompute, of streamed operands, of fused ops, and of sections.
#ifndef SPILLWAY_SIM_PLAN_CHECK_OP_H_
#define SPILLWAY_SIM_PLAN_CHECK_OP_H_

#include <string>
#include <vector>

#include "sim/plan/plan.h"

namespace spillway {

// What is wrong with a decision, each with the op's name: algorithms that it has not, workspaces out of range, parts of
// what has none, or that are not all samples of its batch. What an algorithm needs, a machine says
// (sim/evaluate/compile.h). REQUIRES: the op is one of the step's.
std::vector<std::string> OpMistakes(const OpDecision& decision, const TrainingStep& step);

// The last op up to `until` that writes the tensor; kNoOp: none does.
OpId LastWriterUntil(OpId until, TensorId tensor, const TrainingStep& step, const Uses& uses);

// By tensor: the first op after forward that writes it, or anything that it is made from; kNoOp: none does.
std::vector<OpId> FirstChanges(const TrainingStep& step);

// What is wrong with a gap that ends in the next step (kNextStep): its tensor does not outlive the step, or does not begin
// with what the step before left; the gap does not begin at the last use; moments that it cannot have. REQUIRES: the
// tensor and the ops that it names are the step's. `uses`: of the step.
std::vector<std::string> NextStepMistakes(const GapDecision& gap, const TrainingStep& step, const Uses& uses);

// Entries of a schedule that compute nothing missing, what is unfinished, or what leaves behind its gap. `uses`: of the
// step.
std::vector<PlanMistake> EntryMistakes(const Plan& plan, const TrainingStep& step, const Uses& uses);

// Where gaps and streamed operands do not go together: what is streamed is on the host before the op and behind it.
// REQUIRES: nothing else is wrong with the plan. `uses`: of the step.
std::vector<PlanMistake> StreamMistakes(const Plan& plan, const TrainingStep& step, const Uses& uses);

// Fused ops that cannot run part by part together: the op before lacks parts, or has others; what they find in place
// would move, or be computed again, between them. REQUIRES: as above.
std::vector<PlanMistake> FusedMistakes(const Plan& plan, const TrainingStep& step);

// Sections that are wrong: of a tensor without samples, beyond them, too small or not at multiples of SamplesApart, or
// that overlap without being the same; a second decision on one; sections in a pool; a tensor in sections that is
// recomputed or streamed elsewhere.
// REQUIRES: each decision by itself is right.
std::vector<PlanMistake> SectionMistakes(const Plan& plan, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_CHECK_OP_H_
