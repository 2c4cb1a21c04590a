// The cut bound: a lower bound on the step time of every plan, from one instant, the start S of an op c.
//
// A value is needed at S if an op after S reads it, or if the recomputation of a needed value reads it. At S each
// needed value is in one of three states:
//
//   kept         its buffer is on the device, whole
//   copied       its swap-out ended before S and its swap-in starts after S; the input needs only the swap-in
//   recomputed   all forward ops that write it run again after S; all that they read is kept, copied or recomputed
//
//   (P)  S >= head + compute before c + idle time      (Q)  T >= S + compute from c on + ops that run again + idle time
//   (M)  kept bytes <= capacity - c's operands and workspace - what never moves
//
// Swap-outs run while ops after the first result run, or while no op runs. Swap-ins run while ops before the last op
// that waits for one run, or while no op runs. While a copy runs, an op with slowdown s proceeds at 1 / s of its pace.
// So w nanoseconds of copying make the op w (1 - 1 / s) longer, and w is at most s t, where t is its time alone.
// Example: t = 100, s = 1.25: up to 125 ns of copying fit, and they make the op 25 ns longer. The least cost of copying
// is a fractional knapsack. By linear duality, for all weights a and b from 0 to 1:
//
//   (P)  S >= head + sum over ops before c of min(t, a s t) + (1 - a) copies out, t alone before the first result
//   (Q)  T >= S + sum over ops from c on, and those that run again, of min(t, b s t) + (1 - b) copies in, t alone
//        after the last op that waits for one
//
// At a = 1 the right side of (P) is the work before c; at a = 0 it is the first result and the copies. If an op may run
// in several ways, t is the least of its times and s t the least of its times while copies run.
//
// An op that runs again counts once, even if several values need it. (The linear program of memory_bound.h counts the
// writers of each value separately.) All versions of a tensor that is written in place are one buffer. Multiply (M) by
// a price m per byte and add: the least sum over all choices is then a minimum cut (cut_graph.h). It is a bound for
// every a, b and m (Lagrangian relaxation), and concave in them. Cutting planes find the best values (Kelley 1960). c
// may run in any of its ways.
//
// Ops run first in the order of the step, in every Plan. The bound leaves out small tensors, the rounding of
// allocations, latencies, and copies that slow each other down. There is no instant inside an op that runs in parts,
// but a copy may start or be awaited there. If parts of tensors also arrive separately, such an op begins with its
// first part. Then there is no instant just before it, and the first op of the step waits for no upload.
//
// Plans may also stream operands, and ops may take turns on the parts of a batch (OpDecision::fused). Then the bound
// holds at the start of an op that cannot take turns with the op before it: after forward, and next to ops without
// parts. Differences:
//
//   - A value may be partly on the device, in tiles, and partly copied. Choices are then shares, and the least sum is
//     the same. Bytes off the device at S left their buffers before S, and arrive by copies that begin after S. Tiles
//     that are being copied at S are on the device and count as kept.
//   - An operand that c may stream counts as a value needed after S. (M) counts only operands that c cannot stream.
//   - Swap-outs begin after the first tile of the first op of a group; the last tile of the last op may wait for a
//     swap-in. So (P) counts alone only the ops before the group that makes the first value. (Q) counts alone only the
//     ops after the group that awaits the last value.
//   - A value that forward is still making at S may lie on either side, and counts for nothing.
#ifndef SPILLWAY_SIM_BOUNDS_CUT_BOUND_H_
#define SPILLWAY_SIM_BOUNDS_CUT_BOUND_H_

#include <vector>

#include "sim/bounds/memory_bound.h"

namespace spillway {

struct CutBound {
  Nanos time = 0;                           // the bound; 0: no instant gives one
  OpId op = kNoOp;                          // c
  double before = 1, after = 1, price = 0;  // a, b and m, with which the bound can be checked (sim/certify)
  // The values that the cheapest choice copies and recomputes: a start for a search. The choice need not fit.
  std::vector<TensorId> copied, recomputed;
};

// The best bound over up to `cuts` instants, at ops that do not fit with everything kept: the first op after forward,
// the op with the largest excess, and ops in between. Its time is 0 if MemoryBound is 0.
CutBound BestCut(const BoundProblem& problem, int cuts);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_CUT_BOUND_H_
