// Numbers in IEEE half precision, for operands of kernels that compute on it: no type of C++20 holds them.
#ifndef SPILLWAY_CALIBRATE_OPS_HALF_H_
#define SPILLWAY_CALIBRATE_OPS_HALF_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace spillway {

// The bits of the half nearest to `value`, ties to even. From 65520 on infinite; NaN stays NaN.
// One sign, five bits of exponent with a bias of 15, ten of the fraction; below 2^-14 subnormal numbers, which are kept.
inline std::uint16_t HalfOf(float value) {
  constexpr float kSmallest = 0x1p-14f, kBeyond = 65520;  // normal number; what rounds to infinity
  constexpr float kSteps = 0x1p24f;                       // subnormal numbers are multiples of its inverse
  constexpr std::uint32_t kDropped = 13, kBias = (127 - 15) << 10;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  const float magnitude = std::abs(value);
  std::uint32_t half = 0;
  if (std::isnan(value)) {
    half = 0x7e00u;
  } else if (magnitude >= kBeyond) {
    half = 0x7c00u;
  } else if (magnitude < kSmallest) {
    half = static_cast<std::uint32_t>(std::lrint(magnitude * kSteps));
  } else {  // what the dropped bits round up may run over into the exponent, as it should
    half = ((size + 0xfffu + (size >> kDropped & 1u)) >> kDropped) - kBias;
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_OPS_HALF_H_
