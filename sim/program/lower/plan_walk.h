// The data of one walk over the ops of a step that carries out a plan. The functions of this folder share it and
// remember nothing elsewhere.
//
//   in      the plan, the step, decisions by op     is only read
//   state   where every tensor is                   changes; LowerWalk::LookAhead copies it whole
//   out     items, live bytes                       only grows; looking ahead writes no items
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_PLAN_WALK_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_PLAN_WALK_H_

#include <cstdint>
#include <map>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/program/lower/decisions_at.h"
#include "sim/program/lower/item_writer.h"
#include "sim/program/lower/launch_choice.h"
#include "sim/program/lower/walk_state.h"
#include "sim/program/step_tables.h"

namespace spillway {

constexpr StreamId kComputeStream = 0;

struct WalkInput {
  // Fills the streams, launches and boxes of `program`. `plan` and `tables` must outlive this. REQUIRES: CheckPlan
  // found nothing wrong with the plan for the tables' step; its checks are not repeated here.
  WalkInput(const Plan& plan, const StepTables& tables, Program& program, Bytes room);

  OpId ops() const { return static_cast<OpId>(step.ops.size()); }
  const GapDecision& Gap(std::uint32_t gap) const { return plan.gaps[gap]; }
  const Tensor& TensorOf(TensorId tensor) const { return step.tensors[static_cast<std::size_t>(tensor)]; }
  // In its first run `op` streams the tensor instead of finding it on the device.
  bool Streams(OpId op, TensorId tensor) const { return launches.Streams(op, tensor); }
  bool IsUsedFrom(OpId op, TensorId tensor) const { return tables.uses.Next(tensor, op - 1) != kNoOp; }
  bool StartsUnit(OpId op) const { return step.IsBackward(op) && (op == 0 || unit[Index(op)] != unit[Index(op - 1)]); }
  bool EndsUnit(OpId op) const { return op + 1 == ops() || unit[Index(op + 1)] != unit[Index(op)]; }
  OpId EndOfUnit(OpId op) const;  // one past the last op of `op`'s unit

  const Plan& plan;
  const StepTables& tables;
  const Bytes room;  // grants are cut so that no more is live (Lower)
  const TrainingStep& step;
  LaunchChoice launches;
  const bool counted;                     // Program::memory
  const Bytes capacity;                   // of counted memory; 0: without limit
  const std::vector<std::int32_t>& unit;  // by op: the unit of backward (BackwardUnits)
  StreamId out_stream = 1, in_stream;     // for copies from and to the device; one stream may serve both
  DecisionsAt gaps_after;                 // rows of Plan::gaps
  DecisionsAt copies_out_after;           // rows of Plan::gaps whose copy out starts at another op than the gap
  DecisionsAt entries_before;             // rows of Plan::recompute
  // By op: tensors that leave after it, because a gap or an entry says so (`leaves_after`).
  std::map<OpId, std::vector<PendingEviction>> stays_until;

 private:
  void FindStays();
  bool StaysForGroup(OpId leaves_after, OpId next) const;
};

struct WalkOutput {
  Program program;
  ItemWriter items;             // writes into `program`
  std::vector<Bytes> live_at;   // by op: the most bytes live while it was at hand
  std::vector<OpId> needed_at;  // by row of Plan::gaps: the first op that needed the tensor back; kNoOp: none yet
};

struct PlanWalk {
  // Before the first op: nothing is on the device; the input is on the host, and so is what a gap to the next step left
  // there.
  PlanWalk(const Plan& plan, const StepTables& tables, Bytes room);
  PlanWalk(const PlanWalk&) = delete;

  // As LaunchChoice has it, or with the grant that is left (lower/grants.h).
  OpLaunch FirstRun(OpId op) const {
    OpLaunch launch = in.launches.FirstRun(op);
    const auto found = state.cut.find(op);
    if (found == state.cut.end()) return launch;
    launch.parts = found->second.parts;
    launch.workspace = found->second.workspace;
    return launch;
  }

  WalkOutput out;
  const WalkInput in;
  WalkState state;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_PLAN_WALK_H_
