// Tensors that lie in sections: each batch range between two of the plan's cuts (sim/plan/sections.h) has a buffer of
// its own while it is on the device. Live buffers of one tensor form a frame: their addresses are as far apart as their
// samples (Buffer::frame).
//
//   gap of X         |--- use ---|                              |--- use ---|
//   section 0        ===================================================      stays: one buffer
//   section 1        ===========----- out                 in ---=======      two buffers, at one address
//
// These functions are called by those of tensors.h and do the same for a tensor in sections. The tensor counts as on
// the device (TensorState::device) when all its sections are.
#ifndef SPILLWAY_SIM_PROGRAM_LOWER_SECTIONS_H_
#define SPILLWAY_SIM_PROGRAM_LOWER_SECTIONS_H_

#include "sim/program/lower/plan_walk.h"

namespace spillway {

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

#endif  // SPILLWAY_SIM_PROGRAM_LOWER_SECTIONS_H_
