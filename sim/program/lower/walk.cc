#include "sim/program/lower/walk.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "sim/program/lower/buffers.h"
#include "sim/program/lower/evictions.h"
#include "sim/program/lower/grants.h"
#include "sim/program/lower/kernels.h"
#include "sim/program/lower/rematerialize.h"
#include "sim/program/lower/tensors.h"

namespace spillway {

namespace {

// The host waits for the copies of all operands of the unit, which must be issued before. A tensor that an op of the
// unit streams, perhaps as a result, comes in after that op.
void SwapInForUnit(PlanWalk& w, OpId first) {
  const OpId end = w.in.EndOfUnit(first);
  for (OpId op = first; op < end; ++op) {
    for (const auto& [t, access, last] : w.in.tables.Touches(op)) {
      const bool streamed = w.in.Streams(w.in.tables.uses.Next(t, first - 1), t);
      if (access != Access::kWrite && !streamed && !NeedsRecompute(w, t)) Materialize(w, t, first);
    }
  }
  AwaitSwapIns(w, first, end);
}

// Frameworks fetch what a unit saved before any op of its backward runs. Recomputing between those ops would need its
// memory beside the gradients that the first of them has written.
void RecomputeForUnit(PlanWalk& w, OpId first) {
  const OpId end = w.in.EndOfUnit(first);
  for (OpId op = first; op < end; ++op) {
    for (const StepTables::Touch& touch : w.in.tables.Touches(op)) {
      const std::uint32_t gap = w.state[touch.tensor].gap;
      const bool dropped = gap != kNoGap && w.in.Gap(gap).action == GapAction::kRecompute;
      if (dropped && touch.access != Access::kWrite) Materialize(w, touch.tensor, first);
    }
  }
}

// One op, or ops [first, end) that are fused.
void RunKernels(PlanWalk& w, OpId first, OpId end, Bytes workspace_bytes) {
  const BufferId workspace = TakeWorkspace(w, workspace_bytes);
  if (end > first + 1) {
    RunFused(w, first, end, workspace);
  } else if (w.in.launches.Streams(first)) {
    RunStreamed(w, first, workspace);
  } else {
    RunInPlace(w, w.FirstRun(first), workspace);
  }
  ReturnWorkspace(w, workspace);
}

// The last op of its layer in its direction. The last layer's forward ops and backward ops follow each other.
bool EndsLayer(const TrainingStep& step, OpId op) {
  const OpId next = op + 1;
  if (next == static_cast<OpId>(step.ops.size()) || step.IsForward(op) != step.IsForward(next)) return true;
  return step.ops[Index(op)].layer != step.ops[Index(next)].layer;
}

bool EndsForward(const TrainingStep& step, OpId op) {
  const OpId next = op + 1;
  return step.IsForward(op) && (next == static_cast<OpId>(step.ops.size()) || !step.IsForward(next));
}

//                             the host waits after                      for
//   Barrier::kCall              every op                                  kernels and copies
//   Barrier::kOp                the last op of a layer in one direction   kernels and copies
//   Barrier::kPhase             the last op of forward                    copies
//   HostSyncs::kBackwardLayer   the last op of a unit of backward         kernels
void WaitAfter(PlanWalk& w, OpId op) {
  const Barrier barrier = w.in.plan.runtime.barrier;
  const bool units = w.in.plan.runtime.host_syncs == HostSyncs::kBackwardLayer;
  const bool all = barrier == Barrier::kCall || (barrier == Barrier::kOp && EndsLayer(w.in.step, op));
  const bool phase = barrier == Barrier::kPhase && EndsForward(w.in.step, op);
  const bool unit = units && w.in.step.IsBackward(op) && w.in.EndsUnit(op);
  if (all || unit) w.out.items.HostSync(kComputeStream);
  if (!all && !phase) return;
  w.out.items.HostSync(w.in.out_stream);
  if (w.in.in_stream != w.in.out_stream) w.out.items.HostSync(w.in.in_stream);
}

// Copies out that may start when an op is done overlap with the next layer, so a barrier after every layer comes first.
void LeaveOps(PlanWalk& w, OpId first, OpId end) {
  const Barrier barrier = w.in.plan.runtime.barrier;
  const bool after_barrier = barrier == Barrier::kOp || barrier == Barrier::kCall;
  for (OpId op = first; op < end; ++op) {
    if (!after_barrier) StartCopiesOut(w, op);
    EvictAfter(w, op);
  }
  WaitAfter(w, end - 1);
  for (OpId op = first; after_barrier && op < end; ++op) StartCopiesOut(w, op);
}

}  // namespace

LowerWalk::LowerWalk(const Plan& plan, const StepTables& tables, Bytes room) : walk_(plan, tables, room) {
  FindSections(walk_);
  for (TensorId t = 0; Index(t) < tables.persistent.size(); ++t) {
    if (tables.persistent[Index(t)] && !walk_.state[t].host_valid) AllocateTensor(walk_, t);
  }
  if (plan.runtime.workspaces == Workspaces::kHeld) HoldWorkspaces(walk_);
  OpenGaps(walk_, kNoOp);
}

void LowerWalk::IssueSwapInsAt(const std::vector<OpId>& issue_at) {
  swap_ins_before_ = DecisionsAt(issue_at, std::identity{}, walk_.in.step.ops.size());
}

void LowerWalk::RunUntil(OpId end) {
  while (walk_.state.next < end) {
    const OpId first = walk_.state.next;
    walk_.state.next = walk_.in.launches.EndOfGroup(first);
    RunTogether(first, walk_.state.next);
  }
}

void LowerWalk::LookAhead(OpId end) {
  WalkState saved = walk_.state;
  walk_.out.items.StartTrial();
  RunUntil(end);
  walk_.out.items.EndTrial();
  walk_.state = std::move(saved);
}

Lowered LowerWalk::TakeItems() {
  RunUntil(walk_.in.ops());
  for (const TensorState& at : walk_.state.tensors) {  // those that are persistent
    if (at.OnDevice()) FreeBuffer(walk_, at.device, kComputeStream);
  }
  FreeHeldWorkspaces(walk_);
  FreeDeferred(walk_);
  WalkOutput& out = walk_.out;
  return {.list_peak = walk_.state.live.peak,
          .counted_peak = walk_.state.deferred.peak,
          .op = walk_.state.live.peak_op,
          .live_at = std::move(out.live_at),
          .program = std::move(out.program),
          .skeleton = out.items.TakeSkeleton()};
}

void LowerWalk::IssueSwapIns(OpId op) {
  for (const std::uint32_t g : swap_ins_before_[op]) {
    const GapDecision& gap = walk_.in.Gap(g);
    const bool streamed =
        !gap.EndsInNextStep() && walk_.in.Streams(gap.before, gap.tensor);  // the op brings it in, part by part
    if (!streamed && SwapInGap(walk_, g)) walk_.out.needed_at[g] = op;
  }
}

void LowerWalk::BringOperands(OpId op) {
  IssueSwapIns(op);
  RunEntriesBefore(walk_, op);
  if (walk_.in.StartsUnit(op)) {
    if (walk_.in.plan.runtime.swap_in_waits == SwapInWaits::kBackwardLayer) SwapInForUnit(walk_, op);
    RecomputeForUnit(walk_, op);
  }
  for (const StepTables::Touch& touch : walk_.in.tables.Touches(op)) {
    const bool in_place = touch.access != Access::kWrite && !walk_.in.Streams(op, touch.tensor);
    if (in_place) Materialize(walk_, touch.tensor, op);
  }
}

void LowerWalk::RunTogether(OpId first, OpId end) {
  walk_.state.now = first;
  for (OpId op = first; op < end; ++op) {
    BringOperands(op);
    AllocateResults(walk_, walk_.in.launches.FirstRun(op));
  }
  RunKernels(walk_, first, end, CutGrants(walk_, first, end));
  walk_.state.cut.clear();
  LeaveOps(walk_, first, end);
}

}  // namespace spillway
