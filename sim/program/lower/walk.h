// One pass over the ops of a step that carries out a plan. It goes in the order of the ops, which is the host's issue
// order. Internal to `lower` (sim/program/lower/lower.h), as is this folder.
//
// Around each op the walk does, in this order:
//
//   swap-ins that are issued before it                           tensors.h
//   entries of Plan::recompute before it                         rematerialize.h
//   if a unit of backward begins: swap-ins that the runtime
//     awaits there, and recomputations
//   operands that are still missing                              rematerialize.h
//   results, workspace, kernels                                  kernels.h
//   copies out that may start, gaps that begin, last uses        evictions.h
//   waits of the host
//
// Fused ops take these steps together. The steps share a PlanWalk (plan_walk.h): read that first. Then read from the
// bottom: buffers.h, tensors.h, kernels.h, rematerialize.h, evictions.h. Each file calls only those before it, but for
// entries.cc, which also evicts.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_WALK_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_WALK_H_

#include <vector>

#include "sim/program/lower/lower.h"
#include "sim/program/lower/plan_walk.h"

namespace spillway {

class LowerWalk {
 public:
  // `plan` and `tables` must outlive this. `room`: as Lower. REQUIRES: as WalkInput.
  LowerWalk(const Plan& plan, const StepTables& tables, Bytes room = kEndlessBytes);

  // `issue_at[g]`: the op before which the swap-in of gap g is issued. An op beyond the last one, which is what holds
  // until this is called, means: not before the tensor is needed.
  void IssueSwapInsAt(const std::vector<OpId>& issue_at);
  void RunUntil(OpId end);   // goes on with the ops before `end`
  void LookAhead(OpId end);  // the same, but only live_at() and needed_at() remember it
  Lowered TakeItems();       // once; goes on to the end of the step

  // These cover the ops seen so far (WalkOutput).
  const std::vector<Bytes>& live_at() const { return walk_.out.live_at; }
  const std::vector<OpId>& needed_at() const { return walk_.out.needed_at; }

 private:
  void IssueSwapIns(OpId op);
  void BringOperands(OpId op);
  void RunTogether(OpId first, OpId end);

  PlanWalk walk_;
  DecisionsAt swap_ins_before_;  // rows of Plan::gaps
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_WALK_H_
