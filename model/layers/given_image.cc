#include <algorithm>

#include "model/layers/shared.h"
#include "model/network/layer_kind.h"

namespace spillway {
namespace {

bool Any(const std::array<std::int64_t, 3>& sizes, std::int64_t unless) {
  return std::any_of(sizes.begin(), sizes.end(), [unless](std::int64_t size) { return size != unless; });
}

std::int64_t SizeOf(std::int64_t given, std::int64_t size, std::int64_t scale) {
  return given > 0 ? given : size * scale;
}

}  // namespace

Shape GivenImage(const LayerAttributes& a, const char* name, const std::vector<Shape>& inputs, std::string& problem) {
  Shape shape = inputs[0];
  const bool image = Any(a.image, 0), scale = Any(a.scale, 1), like = inputs.size() > 1;
  if (image + scale + like > 1) problem = std::string(name) + " is given its size in more than one way";
  if (image + scale + like == 0) {
    const char* const ways = FindLayerKind(name)->keys & kScaleKey ? "`scale`, `image`," : "`image`,";
    problem = std::string(name) + " has no size: give " + ways + " or a second layer in `from`";
  }
  shape.d = like ? inputs[1].d : SizeOf(a.image[0], shape.d, a.scale[0]);
  shape.h = like ? inputs[1].h : SizeOf(a.image[1], shape.h, a.scale[1]);
  shape.w = like ? inputs[1].w : SizeOf(a.image[2], shape.w, a.scale[2]);
  return shape;
}

}  // namespace spillway
