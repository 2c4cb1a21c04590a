// Memory of this machine for the CPU device: how much there is, and pieces of it that are really there.
#ifndef SPILLWAY_CALIBRATE_RUN_CPU_HOST_MEMORY_H_
#define SPILLWAY_CALIBRATE_RUN_CPU_HOST_MEMORY_H_

#include <cstddef>
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

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_CPU_HOST_MEMORY_H_
