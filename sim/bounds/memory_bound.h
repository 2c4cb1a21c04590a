// The memory bound: a lower bound from a linear program over the shares of tensors that are swapped or recomputed.
//
// A gap is the time between two consecutive uses of a tensor that may move (memory_gaps.h). A share s_g of each gap g
// is swapped, a share r_g is recomputed, and the rest stays on the device. While op i runs, the device holds the op's
// operands and workspace, tensors that never move, and the rest of every tensor in a gap over i (after < i < before):
//
//   (i)    sum over gaps over i of bytes_g (s_g + r_g)  >=  excess_i     excess_i: bytes with all kept - capacity
//   (T1)   T >= head + compute + sum recompute_g r_g                     head: upload of the input, which op 0 reads
//   (T2)   T >= sum out_g s_g,  T >= upload + sum in_g s_g               one copy stream: their sum
//
// Where an op has several ways to run, excess_i counts the workspace of the fastest one, and a share of every other way
// relieves row i by the difference in workspace and adds the difference in time to (T1), and to (P1) or (P3) below.
//
// A plan sets every share to 0 or 1, so its time is no less than the minimum of T. Everything uncertain is left out.
// Recomputing costs only the tensor's own forward writers, because their operands may be on the device. A writer of
// several tensors is shared among them. A swap-out is paid once for all gaps of a tensor. Copies run at the best rate
// of the curve without latency. Allocation rounding is ignored. Very small tensors are not counted between their uses,
// nor any tensor before a use that only writes it.
//
// Example: one gap of 2 GB over an op with an excess of 1 GB. Swapping costs 200 ms a direction, recomputing 80 ms,
// compute is 1,000 ms. The least T takes r = 0 and s = 1/2: T = 1,000 ms, since the 100 ms of copies are less than
// compute.
//
// (T2) has no order in time: it lets swap-outs overlap with all of backward. So the op p with the largest excess gets a
// start time S of its own. Bytes that are off the device while p runs are either recomputed after p, or copied out
// before S and copied back after p's end:
//
//   (P1)   S >= head + compute before p + recomputation that ends before p
//   (P2)   S >= (excess_p - recomputed and input bytes absent at p) / rate out  + the first op that makes such bytes
//   (P3)   T >= S + compute from p on + recomputation that starts after p
//   (P4)   T >= S + p + (excess_p - recomputed bytes absent at p) / rate in  + compute after the last gap over p
//
// A tensor may also be dropped and recomputed before p, and be on the device while p runs. Such a share is a third
// kind: it relieves only the ops before p, and counts in (P1).
#ifndef SPILLWAY_SIM_BOUNDS_MEMORY_BOUND_H_
#define SPILLWAY_SIM_BOUNDS_MEMORY_BOUND_H_

#include <cstddef>
#include <map>
#include <vector>

#include "sim/plan/plan.h"

namespace spillway {

// No copy of b bytes takes less than b * nanos_per_byte - rounding.
struct CopyRate {
  double nanos_per_byte = 0;
  double rounding = 0;
  double Least(Bytes bytes) const;
};

struct OpWay {
  Nanos time = 0;
  Bytes workspace = 0;
  // Nanoseconds while copies run throughout (Cost::copy_slowdown), of this way or of another way that this one beats in
  // both fields above; at least `time`. Only BestCut uses it.
  double beside_copies = 0;
};

struct BoundProblem {
  const TrainingStep* step = nullptr;
  // By op, at least one way each, the fastest first; slower ways need less workspace.
  std::vector<std::vector<OpWay>> ways;
  std::map<OpId, std::vector<OpWay>> again;  // the same of recomputations, of ops whose recomputation differs
  const std::vector<OpWay>& WaysAgain(OpId op) const {
    const auto found = again.find(op);
    return found == again.end() ? ways[static_cast<std::size_t>(op)] : found->second;
  }
  CopyRate out, in;
  Nanos upload = 0;  // the time to copy the inputs in
  Nanos head = 0;    // the part of it that op 0 waits for
  Bytes capacity = 0;
  int copy_streams = 2;       // 0: only inputs are copied
  bool in_parts = false;      // ops may run in parts: copies of some samples start, and are awaited, inside an op
  bool streamed = false;      // ops may also stream operands with samples, in turns with others: only BestCut uses it
  bool in_rows = false;       // ops may run in tiles, which may leave out rows that no op reads
  bool states_leave = false;  // what outlives the step may be away before its first use and behind its last one
  bool in_sections = false;   // an op in parts may find operands section by section, and starts with the first section
};

// The bound in nanoseconds; 0 if everything fits, or if some op does not fit even with everything else moved out.
Nanos MemoryBound(const BoundProblem& problem);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_MEMORY_BOUND_H_
