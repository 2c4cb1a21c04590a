// What several kinds of layers share.
#ifndef SPILLWAY_MODEL_LAYERS_SHARED_H_
#define SPILLWAY_MODEL_LAYERS_SHARED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/network/network.h"
#include "model/unroll/step_writer.h"

namespace spillway {

// The output of layers that change no shapes; never a problem.
inline Shape SameShape(const LayerAttributes&, const std::vector<Shape>& inputs, std::string&) { return inputs[0]; }

// ---- The ops that convolution and linear layers have in common: one call per direction, all over the same weights.

// Weight (and bias, if the layer has one) for a weight of the given shape.
std::vector<ParameterShape> WeightAndBias(const LayerAttributes& attributes, const Shape& weight);

void EmitWeighted(StepWriter& b, OpKind kind);

// Saves the layer's input, unless it is frozen. Two orders are in use: bias, filter, data (Caffe), where the input can
// go before the gradient of it exists; and data, filter, bias (Chainer, PyTorch): StepOptions::data_first.
void EmitWeightedBackward(StepWriter& b, OpKind kind);

// Fills `problem` if the groups of a convolution do not divide its channels.
void CheckGroups(const LayerAttributes& attributes, std::int64_t in_channels, std::string& problem);

// What convolution and pooling share: how many positions a sliding window has.
// Sizes the output of `input` under the window (channels and batch are those of the input). With ceil_mode the last
// window may reach beyond the padded input but must start inside the input or its left padding (the rule of Caffe and
// PyTorch; Chainer's cover_all differs only where padding is so large that such a window would hold nothing).
// Fills `problem` if a window is larger than its padded input or, of pooling, padding as large as the window.
enum class Slides : std::uint8_t { kConvolution, kPooling };
Shape SlideWindow(const LayerAttributes& attributes, Slides slides, const Shape& input, std::string& problem);

// What resize and crop share: the size of the result. By `image:`, `scale:` or the second input, exactly one of them; an
// axis that the one leaves out keeps its size. Else fills `problem`, which begins with the kind's `name`.
Shape GivenImage(const LayerAttributes& attributes, const char* name, const std::vector<Shape>& inputs,
                 std::string& problem);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_LAYERS_SHARED_H_
