// Halves as tests see them: decoded by the definition of the format, apart from what the program encodes them with.
#ifndef SPILLWAY_TESTS_CUDA_HALF_VALUES_H_
#define SPILLWAY_TESTS_CUDA_HALF_VALUES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "calibrate/ops/half.h"

namespace spillway {

using Halves = std::vector<std::uint16_t>;

// A sign, five bits of exponent, ten of fraction.
inline float OfHalf(std::uint16_t half) {
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                              : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  if (exponent == 31) {
    value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  }
  return (half & 0x8000) != 0 ? -value : value;
}

inline Halves ToHalves(const std::vector<float>& values) {
  Halves halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(), HalfOf);
  return halves;
}

inline std::vector<float> OfHalves(const Halves& halves) {
  std::vector<float> values(halves.size());
  std::transform(halves.begin(), halves.end(), values.begin(), OfHalf);
  return values;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_CUDA_HALF_VALUES_H_
