// Where the stand-in's memory is, and what copies carry.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/cuda/cuda_stand_in_parts.h"

namespace spillway {

namespace {

constexpr std::size_t kAlignment = 4096;

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

// In sparse memory. A copy that carries nothing fills what was empty all the same.
void CudaStandIn::CarryOverLink(void* to, const void* from, Bytes bytes, Direction direction, bool carries) {
  const bool in = direction == Direction::kHostToDevice;
  if (carries && in) contents_.Bring(to, from, bytes);
  if (carries && !in) contents_.Fetch(to, from, bytes);
  if (!carries && in) contents_.Touch(to, bytes);
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
