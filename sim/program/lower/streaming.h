// Ops that stream operands (OpDecision::streamed). A streamed tensor lies on the host. On the device it has tiles,
// buffers for one part each: a tile comes in, the kernel runs, a tile goes out.
//
// With TileDepth {ahead 1, behind 1} (depth 3):
//
//   h2d      in 0 | in 1 | in 2 | in 3 |                  While part k runs, part k+1 is copied in and part k-1 out. In
//   compute         run 0| run 1| run 2| run 3|           list order the copies in come before the kernel that they
//   d2h                    out 0| out 1| out 2| out 3|    overlap with, and the tiles of part k-1 are freed after part
//                                                         k: addresses are reused two parts later.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_STREAMING_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_STREAMING_H_

#include <algorithm>

#include "sim/program/lower/plan_walk.h"

namespace spillway {

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

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_STREAMING_H_
