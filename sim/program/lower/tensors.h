// Brings tensors to the device and takes them off it. The functions write allocations, copies and frees, and decide
// nothing.
//
//                   items (stream)                           the value is then on
//   AllocateTensor  alloc (compute)                          neither: a kernel will write it
//   SwapIn          alloc (h2d); copy in (h2d)               device and host
//   CopyOut         copy out (d2h), unless the host has it   device and host
//   Evict           CopyOut; free (d2h)                      the host
//   FreeTensor      free (compute)                           the host, or neither
//
// A tensor may lie in sections: each batch range between two of the plan's cuts (sim/plan/parts.h) has a buffer of its
// own while it is on the device. Live buffers of one tensor form a frame: their addresses are as far apart as their
// samples (Buffer::frame).
//
//   gap of X         |--- use ---|                              |--- use ---|
//   section 0        ===================================================      stays: one buffer
//   section 1        ===========----- out                 in ---=======      two buffers, at one address
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_TENSORS_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_TENSORS_H_

#include "sim/program/lower/plan_walk.h"

namespace spillway {

void AllocateMissing(PlanWalk& w, TensorId tensor);
inline void AllocateTensor(PlanWalk& w, TensorId tensor) {
  if (!w.state[tensor].OnDevice()) AllocateMissing(w, tensor);
}
// Swaps in all of the tensor that is missing. REQUIRES: the host holds it.
void SwapIn(PlanWalk& w, TensorId tensor);
// Swaps in what this gap took away, unless a later gap of the tensor has begun. Returns whether anything was missing.
bool SwapInGap(PlanWalk& w, std::uint32_t gap);
// Copies out the gap's tensor, or section, if it is on the device.
void CopyOut(PlanWalk& w, const GapDecision& gap);
// Takes the tensor off the device for its gap. Copies nothing if the gap recomputes, or if the host has the master
// copy, or the value that the step began with and no op has changed. REQUIRES: a tensor in one piece is on the device.
void Evict(PlanWalk& w, const GapDecision& gap);
void FreeTensor(PlanWalk& w, TensorId tensor);
// Notes that the tensor gets a new value: its copy on the host is stale.
void Invalidate(PlanWalk& w, TensorId tensor);
// Lets the host wait for operands of the ops [first, end) that are still being swapped in.
void AwaitSwapIns(PlanWalk& w, OpId first, OpId end);

// ---- Sections. The functions above call these for a tensor in sections, so that callers need not know which tensors
// are. The tensor counts as on the device (TensorState::device) when all its sections are.

void FindSections(PlanWalk& w);  // before the first op, for all tensors; no section is on the device yet

void AllocateSections(PlanWalk& w, SectionedTensor& tensor);  // the missing ones; nothing is copied
void SwapInSections(PlanWalk& w, SectionedTensor& tensor);    // the missing ones
// The missing ones in this gap. Returns whether there were any.
bool SwapInSectionsOf(PlanWalk& w, SectionedTensor& tensor, std::uint32_t gap);
void OpenGapOfSections(PlanWalk& w, SectionedTensor& tensor, std::uint32_t gap);
void CopyOutSections(PlanWalk& w, SectionedTensor& tensor, const GapDecision& gap);
void EvictSections(PlanWalk& w, SectionedTensor& tensor, const GapDecision& gap);
void FreeSections(PlanWalk& w, SectionedTensor& tensor);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_TENSORS_H_
