// The lower bound that memory imposes: a linear program over what is moved out or recomputed.
//
// A gap is the stretch between two consecutive uses of a tensor that may move (memory_gaps.h). Of each gap g a share s_g
// is swapped and a share r_g recomputed; what is left stays on the device. While op i runs, the device must hold the op's
// operands and workspace, what never moves, and the unmoved share of every tensor in a gap over i (after < i < before):
//
//   (i)    sum over gaps over i of bytes_g (s_g + r_g)  >=  excess_i     excess_i: bytes with all kept - capacity
//   (T1)   T >= head + compute + sum recompute_g r_g                     head: upload of the input, which op 0 reads
//   (T2)   T >= sum out_g s_g,  T >= upload + sum in_g s_g               one copy stream: their sum
//
// Where an op has several ways to run, excess_i counts the workspace of the fastest one, and a share of every other way
// relieves row i by the difference in workspace and adds the difference in time to (T1), and to (P1) or (P3) below.
//
// A plan sets every share to 0 or 1, so its time is no less than the minimum of T. Everything uncertain is left out:
// recomputing costs the tensor's own forward writers only (what they read may be at hand), a writer of several
// tensors is shared among them, a host copy is paid once for all gaps of a tensor, copies run at the best rate of the
// curve without latency, allocation rounding is ignored, and neither very small tensors are counted between their uses
// nor any tensor before a use that only writes it.
//
// (T2) knows no order: it lets copies to the host overlap with all of backward. So the boundary p with the largest
// excess gets a start time S of its own. What is absent while p runs either will be recomputed after p, or has been
// copied out before S and comes back after p's end:
//
//   (P1)   S >= head + compute before p + recomputation that ends before p
//   (P2)   S >= (excess_p - recomputed and input bytes absent at p) / rate out  + the first op that makes such bytes
//   (P3)   T >= S + compute from p on + recomputation that starts after p
//   (P4)   T >= S + p + (excess_p - recomputed bytes absent at p) / rate in  + compute after the last gap over p
//
// A tensor could also be dropped and recomputed before p, and be there again while p runs; such a share is a third
// kind, which relieves the boundaries before p only and counts in (P1).
#ifndef SPILLWAY_SIM_BOUNDS_MEMORY_BOUND_H_
#define SPILLWAY_SIM_BOUNDS_MEMORY_BOUND_H_

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
  // Nanoseconds, at least `time`: what it takes while copies run all along (Cost::copy_slowdown), or another way that this
  // one beats in both of the above. For BestCut alone.
  double beside_copies = 0;
};

struct BoundProblem {
  const TrainingStep* step = nullptr;
  // By op, at least one: slower ones need less workspace.
  std::vector<std::vector<OpWay>> ways;
  CopyRate out, in;
  Nanos upload = 0;  // of the inputs
  Nanos head = 0;    // the part of it that op 0 waits for
  Bytes capacity = 0;
  int copy_streams = 2;      // 0: only inputs are copied
  bool in_parts = false;     // ops may run in parts: copies of some samples start, and are awaited, inside an op
  bool streamed = false;     // and stream what has samples, in turns with others: for BestCut alone
  bool in_rows = false;      // in tiles that may leave out rows which nobody reads
  bool in_sections = false;  // what runs in parts may find its operands section by section, and starts with the first
};

// Nanoseconds; 0 if everything fits as it is, or if some op does not fit whatever is moved out.
Nanos MemoryBound(const BoundProblem& problem);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_MEMORY_BOUND_H_
