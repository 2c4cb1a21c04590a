// Brings missing tensors back to the device: by a copy if the host holds the value, else by recomputation.
//
// Recomputing a tensor runs its writers: the forward ops that wrote it. Their operands, its sources, may be missing
// too, and so on, as far back as need be. In this example c is on the device; n and r are recomputed:
//
//   forward   conv: x -> c     norm: c -> n     relu: n -> r                  relu:backward needs r:
//   sources of r: n; of n: c                                                  norm  r=c w=n
//                                                                             relu  r=n w=r
//                                                                             free n: a temporary, for relu alone
//
// A source stays if an op will use it: in this unit of backward, or later if its gap says so
// (GapDecision::keep_passed). Sources that stay come first, so that no temporary is live during the recomputation of
// another source:
//
//   Materialize(r)   1  VisitSources(r): depth first; brings back each source that stays, only visits the others
//                    2  BringBack(r): one copy, or each writer once, with temporaries around it
//
// Everywhere `op` is the op that needs the tensor; for an entry of Plan::recompute, the op before which it runs.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_REMATERIALIZE_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_REMATERIALIZE_H_

#include "sim/program/lower/plan_walk.h"

namespace spillway {

// Thrown where recomputation goes beyond kRecomputeLimit; LowerItems makes a result of it.
struct RecomputesWithoutEnd {
  OpId op;
};

// Puts `tensor` on the device unless it is there.
void MaterializeMissing(PlanWalk& w, TensorId tensor, OpId op);
inline void Materialize(PlanWalk& w, TensorId tensor, OpId op) {
  if (!w.state[tensor].OnDevice()) MaterializeMissing(w, tensor, op);
}
// Recomputes a missing tensor, even if the host holds it. Returns false if recomputing one of its sources brought it
// already: it is a source of its own source.
bool Recompute(PlanWalk& w, TensorId tensor, OpId op);

bool NeedsRecompute(const PlanWalk& w, TensorId tensor);  // no copy brings it back
bool KeepsResult(const PlanWalk& w, TensorId tensor);     // recomputed, it stays beyond its next use
// Whether `entry`, if it ran now, would read the tensor: by its own op, or by one that computes a temporary for that.
bool Reads(const PlanWalk& w, const Recomputation& entry, TensorId tensor);

// ---- Entries of a schedule (Plan::recompute): forward ops that are recomputed at a moment of their own.

// Each entry says how long its results stay. Example: norm computes n from c, relu computes r from n, c is on the
// device.
//
//   entries before op 9               items
//   {run norm, keep false}            norm  r=c w=n          n waits to leave, since the next entry reads it
//   {run relu}                        relu  r=n w=r          r stays for its next use
//                                     free n
//
// An entry computes the results whose gap is open and recomputed. If there are none, it computes results that no op
// uses any more, for other entries. It passes over results that are on the device, and over the other results of an op whose
// result in place is.
void RunEntriesBefore(PlanWalk& w, OpId op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_REMATERIALIZE_H_
