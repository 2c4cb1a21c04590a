// Memory of this machine for the CPU device: how much there is, and pieces of it that are really there.
#ifndef SPILLWAY_CALIBRATE_HOST_HOST_MEMORY_H_
#define SPILLWAY_CALIBRATE_HOST_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "hw/text/units.h"

namespace spillway {

// What can be had without swapping and without going over the limit of any control group that this process is in (cgroup
// v1 and v2, the groups around its own included), less what they use already but for what the system can take back from
// them; -1 if the system does not say. `root`: where /proc and /sys are, for tests.
Bytes AvailableMemory(const std::string& root = "");

// Zeros, page-aligned, every page touched: using it causes no page fault. In huge pages where the system has them.
class MappedMemory {
 public:
  MappedMemory() = default;
  explicit MappedMemory(Bytes bytes);  // std::bad_alloc
  ~MappedMemory();
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  Bytes mapped() const { return mapped_; }  // whole pages

 private:
  std::byte* data_ = nullptr;
  Bytes bytes_ = 0, mapped_ = 0;
};

// ---- Debug sessions of the CPU device: memory that holds nothing is full of one bit pattern, by which use of it and
// the highest byte in use are found out.

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

#endif  // SPILLWAY_CALIBRATE_HOST_HOST_MEMORY_H_
