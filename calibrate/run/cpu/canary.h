// Debug sessions of the CPU device: memory that holds nothing is full of one bit pattern, by which use of it and the
// highest byte in use are found out.
#ifndef SPILLWAY_CALIBRATE_RUN_CPU_CANARY_H_
#define SPILLWAY_CALIBRATE_RUN_CPU_CANARY_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "hw/text/units.h"

namespace spillway {

// A signalling NaN: whatever is computed from it is NaN, but another one.
constexpr std::uint32_t kCanary = 0x7fa5eed5u;

// In all of these `offset` is that of the first byte from a multiple of four: a byte's pattern depends on its place.
void FillCanary(std::span<std::byte> memory, Bytes offset);
// One past the last byte that differs from the pattern; 0: none does.
Bytes LastChange(std::span<const std::byte> memory, Bytes offset);
// Whether four bytes together, at a multiple of four, have the pattern.
bool HoldsCanary(std::span<const std::byte> memory, Bytes offset);
// Whether any of these numbers is NaN.
bool HoldsNan(std::span<const std::byte> numbers);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_CPU_CANARY_H_
