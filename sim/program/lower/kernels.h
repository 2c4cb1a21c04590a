// The kernels of an op: its results and its workspace are allocated, then each part is a kernel.
//
//   TakeWorkspace     alloc workspace
//   RunPart 0         kernel  r=x[0,8) w=y[0,8) w=workspace      an op in two parts of 8 samples; boxes name the places
//   RunPart 1         kernel  r=x[8,16) w=y[8,16) w=workspace
//   ReturnWorkspace   free workspace
//
// An op may stream operands (OpDecision::streamed). A streamed tensor lies on the host. On the device it has tiles,
// buffers for one part each: a tile comes in, the kernel runs, a tile goes out.
//
// With TileDepth {ahead 1, behind 1} (depth 3):
//
//   h2d      in 0 | in 1 | in 2 | in 3 |                  While part k runs, part k+1 is copied in and part k-1 out. In
//   compute         run 0| run 1| run 2| run 3|           list order the copies in come before the kernel that they
//   d2h                    out 0| out 1| out 2| out 3|    overlap with, and the tiles of part k-1 are freed after part
//                                                         k: addresses are reused two parts later.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_KERNELS_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_KERNELS_H_

#include <algorithm>
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

// ---- Ops that stream operands.

// Run one op, or the ops [first, end), which are fused. REQUIRES: results that lie in place are allocated.
void RunStreamed(PlanWalk& w, OpId op, BufferId workspace);
void RunFused(PlanWalk& w, OpId first, OpId end, BufferId workspace);

// Both call this: copy_in(k), run(k) and free_behind(k), once for each of `parts`, in list order.
template <typename CopyIn, typename Run, typename FreeBehind>
void PipelineParts(std::size_t parts, TileDepth depth, CopyIn copy_in, Run run, FreeBehind free_behind) {
  std::size_t next_in = 0;
  for (std::size_t k = 0; k < parts; ++k) {
    for (; next_in < std::min(parts, k + depth.ahead + 1); ++next_in) copy_in(next_in);
    run(k);
    if (k >= depth.behind) free_behind(k - depth.behind);
  }
  for (std::size_t k = parts - std::min(parts, depth.behind); k < parts; ++k) free_behind(k);
}

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_KERNELS_H_
