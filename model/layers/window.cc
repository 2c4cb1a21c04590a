#include <algorithm>

#include "model/layers/shared.h"
#include "model/network/network.h"

namespace spillway {
namespace {

struct Axis {
  const char* name;
  std::int64_t size, window, stride;  // window: with the places that a dilated one leaves out
  Padding pad;
};

Axis AxisOf(const char* name, std::int64_t size, const LayerAttributes& a, std::size_t k) {
  return {name, size, a.dilation[k] * (a.window[k] - 1) + 1, a.stride[k], {a.pad[k], a.PadAfter(k)}};
}

// Sizes of pooling may be rounded up, and none of its windows may lie in the padding alone: that one has no maximum.
// A convolution of zeros is zero, so that its padding may be any (cuDNN, Caffe, PyTorch).
std::int64_t Positions(const Axis& axis, const LayerAttributes& a, Slides slides, std::string& problem) {
  const std::int64_t padded = axis.size + axis.pad.Sum();
  if (axis.window > padded) {
    problem = "the window's " + std::string(axis.name) + " " + std::to_string(axis.window) +
              " exceeds the padded input's " + std::to_string(padded);
    return 1;
  }
  const std::int64_t most = std::max(axis.pad.begin, axis.pad.end);
  if (slides == Slides::kPooling && most >= axis.window) {
    problem = "padding " + std::to_string(most) + " must be less than the window's " + axis.name + " " +
              std::to_string(axis.window);
    return 1;
  }
  const std::int64_t span = padded - axis.window;
  std::int64_t positions = span / axis.stride + 1;
  if (a.ceil_mode && span % axis.stride != 0 && positions * axis.stride < axis.size + axis.pad.begin) ++positions;
  return positions;
}

}  // namespace

Shape SlideWindow(const LayerAttributes& a, Slides slides, const Shape& input, std::string& problem) {
  Shape shape = input;
  shape.d = Positions(AxisOf("depth", input.d, a, 0), a, slides, problem);
  shape.h = Positions(AxisOf("height", input.h, a, 1), a, slides, problem);
  shape.w = Positions(AxisOf("width", input.w, a, 2), a, slides, problem);
  return shape;
}

}  // namespace spillway
