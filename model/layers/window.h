// What convolution and pooling share: how many positions a sliding window has.
#ifndef SPILLWAY_MODEL_LAYERS_WINDOW_H_
#define SPILLWAY_MODEL_LAYERS_WINDOW_H_

#include <string>

#include "model/network/network.h"

namespace spillway {

// Sizes the output of `input` under the window (channels and batch are those of the input). With ceil_mode the last
// window may reach beyond the padded input but must start inside the input or its left padding (the rule of Caffe and
// PyTorch; Chainer's cover_all differs only where padding is so large that such a window would hold nothing).
// Fills `problem` if a window is larger than its padded input or padding as large as the window.
Shape SlideWindow(const LayerAttributes& attributes, const Shape& input, std::string& problem);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_LAYERS_WINDOW_H_
