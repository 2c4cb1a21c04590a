// Ops in parts along the batch: what each part works on.
//
//   forward, backward data            backward filter
//   x |--0--|--1--|--2--|             x  |--0--|--1--|--2--|    every part adds to all of dw; the first one writes it
//   w (whole)                         dy |--0--|--1--|--2--|
//   y |--0--|--1--|--2--|             dw (whole)
//
// The training step is never divided: its ops and tensors stay what they are, and a part is a launch of a smaller shape
// on boxes of the same tensors. verify has rules of its own (sim/verify/part_rules.h).
#ifndef SPILLWAY_MODEL_COST_OP_PARTS_H_
#define SPILLWAY_MODEL_COST_OP_PARTS_H_

#include <cstdint>

#include "model/step/launch.h"
#include "model/step/training_step.h"

namespace spillway {

// Whether ops of the kind may run in parts along the batch: those that compute each sample by itself. Batch norm's
// statistics and the loss's mean are of all samples, a dropout mask is drawn for all at once, and updates have none.
constexpr bool HasSampleParts(OpKind kind) { return TraitsOf(kind).samples_apart; }

// Whether an op may stream the tensor, part by part (OpDecision::streamed): it has samples, and may leave the device.
inline bool MayStream(const Tensor& tensor) { return tensor.Traits().may_move && !tensor.Traits().of_parameters; }

// Whether the parts of an op add up: its result is of all samples.
bool AddsUpSamples(const Op& op);

// What a part with the samples [begin, end) touches of a tensor of its op: all of parameters and their gradients.
Box SamplesOf(const Tensor& tensor, std::int64_t begin, std::int64_t end);

// The launch of a part with so many samples. `first`: no part of the op runs before it.
Launch PartOf(Launch whole, std::int64_t samples, bool first);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_OP_PARTS_H_
