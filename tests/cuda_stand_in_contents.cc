// Where the stand-in's memory is, and what copies carry.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/cuda_stand_in_parts.h"

namespace spillway {

namespace {

constexpr std::size_t kAlignment = 4096;
constexpr unsigned kMostRows = 64;  // of a pitched copy in sparse memory, where each is a range

// Pages that are touched only.
std::shared_ptr<void> Zeros(std::size_t bytes) {
  void* const memory = std::calloc(bytes, 1);
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, std::free};
}

// Addresses; of `used` ones single pages come when they are touched, never large ones.
std::shared_ptr<void> Unreserved(std::size_t bytes, bool used) {
  void* const memory = mmap(nullptr, bytes, used ? PROT_READ | PROT_WRITE : PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  return {memory, [bytes](void* mapped) { munmap(mapped, bytes); }};
}

}  // namespace

std::byte* CudaStandIn::Allocate(Bytes bytes, bool device, int on) {
  Allocation allocation{.bytes = bytes, .device = device, .on = on};
  const std::size_t size = static_cast<std::size_t>(bytes) + kAlignment;
  allocation.owned = options_.sparse ? Unreserved(size, !device) : Zeros(size);
  const auto misplaced = reinterpret_cast<std::uintptr_t>(allocation.owned.get()) % kAlignment;
  allocation.data = static_cast<std::byte*>(allocation.owned.get()) + (kAlignment - misplaced) % kAlignment;
  std::byte* const data = allocation.data;
  allocations_[data] = std::move(allocation);
  (device ? device_bytes_[on] : pinned_bytes_) += bytes;
  return data;
}

void CudaStandIn::Erase(std::map<const std::byte*, Allocation>::iterator found) {
  const Allocation& allocation = found->second;
  if (options_.sparse && allocation.device) contents_.Forget(allocation.data, allocation.bytes);
  (allocation.device ? device_bytes_[allocation.on] : pinned_bytes_) -= allocation.bytes;
  allocations_.erase(found);
}

void CudaStandIn::CarryRows(void* to, Bytes to_pitch, const void* from, Bytes from_pitch, Bytes row_bytes,
                            std::int64_t rows, Direction direction) {
  const bool in = direction == Direction::kHostToDevice;
  if (options_.sparse && (row_bytes * rows > options_.carried || rows > kMostRows)) {
    if (in) contents_.Touch(to, to_pitch * (rows - 1) + row_bytes);
    return;
  }
  const auto carried = static_cast<std::size_t>(std::min(row_bytes, options_.carried));
  for (std::int64_t row = 0; row < rows; ++row) {
    char* const there = static_cast<char*>(to) + row * to_pitch;
    const char* const here = static_cast<const char*>(from) + row * from_pitch;
    if (!options_.sparse) {
      std::memcpy(there, here, carried);
    } else if (in) {
      contents_.Bring(there, here, row_bytes);
    } else {
      contents_.Fetch(there, here, row_bytes);
    }
  }
}

void CudaStandIn::CarryOnDevice(void* to, const void* from, Bytes bytes) {
  if (options_.sparse) return contents_.Copy(to, from, bytes);
  std::memmove(to, from, static_cast<std::size_t>(bytes));
}

// Nothing is computed, but what was empty is no longer: sessions look for the highest byte that was written.
void CudaStandIn::TouchWrites(const std::vector<void*>& writes) {
  if (!options_.sparse) return;
  for (void* const write : writes) contents_.Touch(write, sizeof(float));
}

}  // namespace spillway
