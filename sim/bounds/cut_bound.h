// The lower bound that one instant imposes: the start S of an op c, whatever the plan.
//
// Each value that is needed after S, by an op or to compute such a value again, is one of three then:
//
//   kept         its buffer is on the device, whole
//   copied       a copy to the host ended before S and one back starts after it; the input needs only the latter
//   recomputed   all forward ops that write it run again after S, and all that they read is kept, copied or recomputed
//
//   (P)  S >= head + compute before c + idle time      (Q)  T >= S + compute from c on + ops that run again + idle time
//   (M)  kept bytes <= capacity - c's operands and workspace - what never moves
//
// Copies out run beside ops behind the first result, or while no op runs; copies in beside those before the last one that
// waits for them. Beside a copy an op proceeds at 1 / s of its pace, s being its slowdown: w nanoseconds of copying beside
// it make it w (1 - 1 / s) longer, and w is at most s times its time t alone. What copying costs least is a fractional
// knapsack, by linear duality and for every weight a from 0 to 1:
//
//   (P)  S >= head + sum over ops before c of min(t, a s t) + (1 - a) copies out, t alone before the first result
//   (Q)  T >= S + sum over ops from c on, and those that run again, of min(t, b s t) + (1 - b) copies in, t alone
//        behind the last op that waits for one
//
// At a = 1 that is the work before c, at a = 0 the first result and the copies. Where s is 1 the others are between them.
// Of several ways to run an op both t and s t are the least of all.
//
// An op that runs again counts once, whoever needs it: the closure is counted, where the linear program (memory_bound.h)
// counts each value's own writers. Versions of a tensor that is written in place are one buffer. With the weights and a
// price m per byte of (M) the least sum over all choices is a minimum cut, for every a, b and m a bound (Lagrangian
// relaxation), concave in them; the best of them is found by cutting planes (Kelley 1960). c may run in any of its ways.
//
// The order of first executions is the step's own, which is so for every Plan. Small tensors, the rounding of allocations,
// latencies and copies that slow each other down are left out. Ops in parts have no cut inside; a copy may then start and
// be awaited inside an op. Where besides parts of tensors come by themselves such an op begins with the first of them: so
// there is no cut just before one, and the first op of all waits for no upload.
//
// Where operands may be streamed, and ops take turns on the parts of a batch (OpDecision::fused), all this holds at the start
// of an op that cannot take turns with the one before it: behind forward, and around what has no parts. What differs:
//
//   - A value may be there in part, in tiles, and the rest copied: the choices are shares, which the least of a sum does not
//     mind. Bytes that are not there were copied out from buffers that are gone, so before S, and come by copies that begin
//     behind it, for buffers that are not there yet; tiles under way at S are there, and count as kept.
//   - What c may stream counts as any value needed behind S; in (M) only what it cannot.
//   - Copies out begin behind the first tile of the first op of a group, copies in are awaited by the last one's: alone are
//     in (P) the ops before those that may take turns with the first to make a value, in (Q) those behind the ones that may
//     with the last to await one.
//   - Forward still makes a value: it may lie on either side, and counts for nothing.
#ifndef SPILLWAY_SIM_BOUNDS_CUT_BOUND_H_
#define SPILLWAY_SIM_BOUNDS_CUT_BOUND_H_

#include <vector>

#include "sim/bounds/memory_bound.h"

namespace spillway {

struct CutBound {
  Nanos time = 0;                           // 0: no cut says anything
  OpId op = kNoOp;                          // c
  double before = 1, after = 1, price = 0;  // a, b and m: with them the bound can be checked (sim/certify)
  // What the relaxation's best choice copies and recomputes: what a plan may begin with. It need not fit.
  std::vector<TensorId> copied, recomputed;
};

// The best of up to `cuts` ops that do not fit with all kept: the one behind forward, the one with the largest excess and
// others in between. 0 where MemoryBound is 0.
CutBound BestCut(const BoundProblem& problem, int cuts);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_CUT_BOUND_H_
