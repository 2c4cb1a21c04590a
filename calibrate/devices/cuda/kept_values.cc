#include "calibrate/devices/cuda/device.h"
#include "sim/execute/device.h"

namespace spillway {

const std::byte* CudaKeptValues::Find(std::uint64_t identity, Bytes bytes) const {
  const auto found = copies_.find({identity, bytes});
  return found == copies_.end() ? nullptr : found->second.get();
}

std::byte* CudaKeptValues::Make(std::uint64_t identity, Bytes bytes) {
  if (bytes == 0 || calls_.Memory().free - bytes < kSpare) return nullptr;
  try {
    OwnedDeviceMemory& copy = copies_.insert_or_assign({identity, bytes}, NewDeviceMemory(calls_, bytes)).first->second;
    bytes_ += bytes;
    return copy.get();
  } catch (const DeviceError& error) {
    if (error.fault() != Fault::kNoMemory) throw;
    return nullptr;  // free, but not in one piece
  }
}

bool CudaKeptValues::Crowd(Bytes arena_bytes) const {
  return !copies_.empty() && calls_.Memory().free - arena_bytes < kSpare;
}

void CudaKeptValues::Release() noexcept {
  copies_.clear();
  bytes_ = 0;
}

}  // namespace spillway
