// When tensors leave the device: after an op that uses them.
//
//   where a gap begins      the tensor is evicted, or stays until op GapDecision::leaves_after
//   after its last use      it is freed
//   recomputed for a use    it is freed after it if its gap says so (keep_result false); the next use recomputes it
//   after op leaves_after   it leaves, but waits for entries of Plan::recompute before the next op that read it
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_EVICTIONS_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_EVICTIONS_H_

#include <span>

#include "sim/program/lower/plan_walk.h"

namespace spillway {

// Begins the gaps that follow `op`; kNoOp: the input's gaps before its first use.
void OpenGaps(PlanWalk& w, OpId op);
// Starts copies out that may start when `op` is done, for tensors that leave later.
void StartCopiesOut(PlanWalk& w, OpId op);
// Begins gaps, and evicts or frees every tensor that leaves after `op`.
void EvictAfter(PlanWalk& w, OpId op);
// Evicts the tensors that wait for it (WalkState::evictions) and that none of these entries reads.
void EvictUnread(PlanWalk& w, std::span<const std::uint32_t> entries);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_EVICTIONS_H_
