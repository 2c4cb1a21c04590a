// Sections: batch ranges of one tensor that a plan swaps apart (GapDecision::samples).
//
//   samples  0          64         128         192        256
//            |---------------------|----------|-----------|      two sections of 64 and what is between and beside them
//             stays                 out: section, section
//
// A tensor of which some gap swaps a section lies in sections throughout: bytes at fixed distances, each with a lifetime of
// its own, so that an op that is not divided finds the tensor whole, while others may lie where a section is away. The form
// is that of tvDNN's memory-object sectioning (Park et al., PPoPP 2018), whose publication says no more than that there are
// sections; batch ranges are the only boxes of a tensor that are contiguous bytes.
//
// A pool hands out allocations, and takes back no part of one: sections are for arenas.
#ifndef SPILLWAY_SIM_PLAN_SECTIONS_H_
#define SPILLWAY_SIM_PLAN_SECTIONS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "sim/plan/plan.h"

namespace spillway {

// Sections begin and end at multiples of so many bytes of their tensor, so that what lies in their place is aligned as
// everywhere (kAllocationUnit). The smallest has kLeastCopyChunk, and so has what lies between two.
constexpr Bytes kSectionUnit = 512;

// The fewest samples whose bytes are a multiple of kSectionUnit. REQUIRES: the tensor has samples of equal size.
std::int64_t SamplesApart(const Tensor& tensor);

// What a decision moves.
Bytes MovedBytes(const GapDecision& gap, const Tensor& tensor);

// Of each tensor that lies in sections: the samples at which they, and what is between them, begin; at last the batch.
using SectionCuts = std::map<TensorId, std::vector<std::int64_t>>;
SectionCuts CutsOf(const Plan& plan, const TrainingStep& step);

// Sections of what has no samples, beyond them, too small or not at multiples of SamplesApart, that overlap without being
// the same; a second decision on one; a pool; a tensor in sections that is recomputed or streamed elsewhere.
// REQUIRES: each decision by itself is right.
std::vector<PlanMistake> SectionMistakes(const Plan& plan, const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_SECTIONS_H_
