// Layers that move elements and compute nothing: one op each way. Private to model/layers/.
#ifndef SPILLWAY_MODEL_LAYERS_REARRANGE_H_
#define SPILLWAY_MODEL_LAYERS_REARRANGE_H_

#include "model/step/rearrangement.h"
#include "model/unroll/step_writer.h"

namespace spillway {

// Both directions of input 0 and the layer's result. They save nothing.
void EmitRearranged(StepWriter& b, const Rearrangement& rearrangement);
void EmitRearrangedBack(StepWriter& b, const Rearrangement& rearrangement);

// "2x7x7", or "7x7" without depth.
std::string ExtentsText(const std::array<std::int64_t, 3>& extents);

// The windows that `block` divides `image` into as rows of positions: height which, width which place. Fills `problem`
// where it does not.
Shape InWindows(const std::array<std::int64_t, 3>& block, const Shape& image, std::string& problem);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_LAYERS_REARRANGE_H_
