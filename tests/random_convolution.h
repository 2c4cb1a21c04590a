// Convolutions of any small shape.
#ifndef SPILLWAY_TESTS_RANDOM_CONVOLUTION_H_
#define SPILLWAY_TESTS_RANDOM_CONVOLUTION_H_

#include <cstdint>

#include "model/network/network.h"
#include "model/util/random.h"
#include "model/zoo/network_builder.h"

namespace spillway {

// Square windows of 1, 3 and 5, strides of 1 and 2, dilation, groups and a bias now and then. REQUIRES: `in` has 3 x 3 places.
inline LayerAttributes RandomConvolution(Random& random, const Shape& in) {
  const std::int64_t window = 1 + 2 * random.Between(0, in.h >= 5 && in.w >= 5 ? 2 : 1);
  const std::int64_t pad = random.Between(window / 2 > 0 ? 1 : 0, static_cast<std::int32_t>(window / 2));
  LayerAttributes attributes = Square(2 * random.Between(1, 5), window, random.Between(1, 2), pad);
  if (window == 3 && in.h >= 5 && in.w >= 5 && random.Below(4) == 0) attributes.dilation = {1, 2, 2};
  if (in.c % 2 == 0 && random.Below(4) == 0) attributes.groups = 2;
  attributes.bias = random.Below(2) == 0;
  return attributes;
}

// The shape of what it makes.
inline Shape ResultOf(const LayerAttributes& attributes, const Shape& in) {
  const auto out = [&](std::int64_t size) {
    const std::int64_t extent = attributes.dilation[1] * (attributes.window[1] - 1) + 1;
    return (size + 2 * attributes.pad[1] - extent) / attributes.stride[1] + 1;
  };
  return {.n = in.n, .c = attributes.out_channels, .h = out(in.h), .w = out(in.w)};
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RANDOM_CONVOLUTION_H_
