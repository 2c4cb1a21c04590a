#include "model/layers/shared.h"
#include "model/network/network.h"

namespace spillway {
namespace {

struct Axis {
  const char* name;
  std::int64_t size, window, stride, pad;
};

std::int64_t Positions(const Axis& axis, bool ceil_mode, std::string& problem) {
  const std::int64_t padded = axis.size + 2 * axis.pad;
  if (axis.window > padded) {
    problem = "the window's " + std::string(axis.name) + " " + std::to_string(axis.window) +
              " exceeds the padded input's " + std::to_string(padded);
    return 1;
  }
  if (axis.pad >= axis.window) {
    problem = "padding " + std::to_string(axis.pad) + " must be less than the window's " + axis.name + " " +
              std::to_string(axis.window);
    return 1;
  }
  const std::int64_t span = padded - axis.window;
  std::int64_t positions = span / axis.stride + 1;
  if (ceil_mode && span % axis.stride != 0 && positions * axis.stride < axis.size + axis.pad) ++positions;
  return positions;
}

}  // namespace

Shape SlideWindow(const LayerAttributes& a, const Shape& input, std::string& problem) {
  Shape shape = input;
  shape.d = Positions({"depth", input.d, a.window[0], a.stride[0], a.pad[0]}, a.ceil_mode, problem);
  shape.h = Positions({"height", input.h, a.window[1], a.stride[1], a.pad[1]}, a.ceil_mode, problem);
  shape.w = Positions({"width", input.w, a.window[2], a.stride[2], a.pad[2]}, a.ceil_mode, problem);
  return shape;
}

}  // namespace spillway
