// Parts: what follows from a plan that divides ops into tiles or tensors into sections, or streams operands.
//
// A section is a batch range of one tensor that a plan swaps apart (GapDecision::samples).
//
//   samples  0          64         128         192        256
//            |---------------------|----------|-----------|      two sections of 64 and what is between and beside them
//             stays                 out: section, section
//
// A tensor of which some gap swaps a section lies in sections throughout: bytes at fixed distances, each with a
// lifetime of its own, so that an op that is not divided finds the tensor whole, while others may lie where a section
// is away. The form is that of tvDNN's memory-object sectioning (Park et al., PPoPP 2018), whose publication says no
// more than that there are sections; batch ranges are the only boxes of a tensor that are contiguous bytes.
//
// Other memory hands out allocations, and takes back no part of one: sections are for arenas.
#ifndef SPILLWAY_SIM_PLAN_PARTS_H_
#define SPILLWAY_SIM_PLAN_PARTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/cost/op_tiles.h"
#include "sim/plan/plan.h"

namespace spillway {

// ---- Tiles of an op (OpDecision::parts and ::tiles).

// In the order in which they run. REQUIRES: the decision, one of `op`, has parts and no mistakes.
std::vector<OpTile> TilesOf(const OpDecision& decision, const Op& op);

// Whether the tiles of its input hold padding: they are copied in, and do not have all rows.
bool HoldsPadding(const OpDecision& decision, const Op& op);

// By part: the different launches that its tiles may come to, run for the first time or again, their choice of algorithm
// left open. REQUIRES: as above.
std::vector<std::vector<Launch>> LaunchesOfParts(const OpDecision& decision, const Op& op);

// ---- Streamed operands (OpDecision::streamed).

// Makes the plan's gaps go with what its ops stream: a swap where one of two uses in a row has the tensor on the device,
// in place of whatever was decided there; nothing where neither does. Copies out start where their gaps do. Gaps of
// tensors that nobody streams stay as they are, and all others in their order; new ones come last, each with `reason`.
// REQUIRES: the plan's ops and tensors are the step's; `uses` are the step's.
void SwapWhereStreamed(const TrainingStep& step, const Uses& uses, const std::string& reason, Plan& plan);

// ---- Sections.

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

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_PARTS_H_
