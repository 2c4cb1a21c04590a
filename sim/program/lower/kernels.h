// The kernels of an op: its results and its workspace are allocated, then each part is a kernel.
//
//   TakeWorkspace     alloc workspace
//   RunPart 0         kernel  r=x[0,8) w=y[0,8) w=workspace      an op in two parts of 8 samples; boxes name the places
//   RunPart 1         kernel  r=x[8,16) w=y[8,16) w=workspace
//   ReturnWorkspace   free workspace
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_KERNELS_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_KERNELS_H_

#include <span>

#include "sim/program/lower/plan_walk.h"

namespace spillway {

// Workspaces::kHeld: each op's own is allocated before the step and freed after it.
void HoldWorkspaces(PlanWalk& w);
void FreeHeldWorkspaces(PlanWalk& w);

// Recomputes an op: results, workspace and kernels, on operands that lie in place.
void RecomputeOp(PlanWalk& w, OpId op);

// The same in steps, for the first run of an op, or of several that share a workspace.
void AllocateResults(PlanWalk& w, const OpLaunch& launch);  // streamed ones have tiles instead
BufferId TakeWorkspace(PlanWalk& w, Bytes bytes);           // kNoBuffer: none is needed, or each op holds its own
void ReturnWorkspace(PlanWalk& w, BufferId workspace);
// Runs all parts on operands that lie in place. `workspace` comes from TakeWorkspace.
void RunInPlace(PlanWalk& w, const OpLaunch& launch, BufferId workspace);
// Runs one kernel. `tiles`: a buffer for each of StepTables::Touches, kNoBuffer where the operand lies in place; empty:
// all operands lie in place.
void RunPart(PlanWalk& w, const OpLaunch& launch, std::size_t part, BufferId workspace,
             std::span<const BufferId> tiles = {});

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_KERNELS_H_
