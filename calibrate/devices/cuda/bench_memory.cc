#include "calibrate/devices/cuda/bench_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "calibrate/measure/refused.h"
#include "calibrate/ops/operands.h"

namespace spillway {
namespace {

constexpr Bytes kUsualCache = 50 * kMiB;
// What is left to others; managed memory beyond what is free would make pages move to and fro while they are timed.
constexpr double kOfFree = 0.9, kManagedOfFree = 0.25;

}  // namespace

void CudaBlock::CheckRoom(Bytes bytes) {
  if (place_ == CudaPlace::kPinned || place_ == CudaPlace::kPageable) return;
  const Bytes free = calls_.Memory().free;
  const double share = place_ == CudaPlace::kManaged ? kManagedOfFree : kOfFree;
  if (static_cast<double>(bytes) <= share * static_cast<double>(free)) return;
  throw NoRoom(fmt::format("{} of {} memory are too much of the {} that the device has to spare", FormatBytes(bytes),
                           place_ == CudaPlace::kManaged ? "managed" : "device", FormatBytes(free)));
}

std::byte* CudaBlock::AtLeast(Bytes bytes) {
  if (bytes <= bytes_) return data_;
  if (data_ != nullptr) calls_.SynchronizeDevice();
  Drop();  // gone before the new one comes
  CheckRoom(bytes);
  switch (place_) {
    case CudaPlace::kDevice:
      data_ = static_cast<std::byte*>(calls_.Malloc(bytes));
      break;
    case CudaPlace::kPinned:
      data_ = static_cast<std::byte*>(calls_.MallocHost(bytes));
      break;
    case CudaPlace::kManaged:
      data_ = static_cast<std::byte*>(calls_.MallocManaged(bytes));
      break;
    case CudaPlace::kPageable:
      pageable_.assign(static_cast<std::size_t>(bytes), std::byte{1});  // touched, so that pages are there
      data_ = pageable_.data();
      break;
  }
  bytes_ = bytes;
  return data_;
}

void CudaBlock::Drop() noexcept {
  if (data_ != nullptr && place_ == CudaPlace::kPinned) calls_.FreeHost(data_);
  if (data_ != nullptr && (place_ == CudaPlace::kDevice || place_ == CudaPlace::kManaged)) calls_.Free(data_);
  pageable_ = {};
  data_ = nullptr;
  bytes_ = 0;
}

CudaBenchMemory::CudaBenchMemory(CudaCalls& calls, Bytes l2_cache)
    : calls_(calls), l2_cache_(l2_cache > 0 ? l2_cache : kUsualCache) {}

CudaBlock& CudaBenchMemory::Block(const std::string& name, CudaPlace place) {
  return blocks_.try_emplace(name, calls_, place).first->second;
}

CudaBlock& CudaBenchMemory::Pattern(bool sparse, CudaStream* stream) {
  CudaBlock& block = Block(sparse ? "sparse numbers" : "numbers");
  if (block.bytes() > 0) return block;
  const std::vector<float> contents = BenchNumbers(sparse);
  const auto bytes = static_cast<Bytes>(contents.size() * sizeof(float));
  std::byte* const host = Block("numbers on the host", CudaPlace::kPinned).AtLeast(bytes);
  std::memcpy(host, contents.data(), static_cast<std::size_t>(bytes));
  calls_.Copy(block.AtLeast(bytes), host, bytes, Direction::kHostToDevice, stream);
  calls_.Synchronize(stream);  // the host memory is used again
  return block;
}

void CudaBenchMemory::Fill(std::byte* at, Bytes bytes, bool sparse, CudaStream* stream) {
  CudaBlock& pattern = Pattern(sparse, stream);
  const Bytes block = pattern.bytes();
  for (Bytes done = 0; done < bytes; done += block) {
    calls_.CopyOnDevice(at + done, pattern.AtLeast(block), std::min(block, bytes - done), stream);
  }
}

void CudaBenchMemory::Evict(CudaStream* stream) {
  calls_.Fill(Block("evict").AtLeast(RingBytes()), 1, RingBytes(), stream);
}

void CudaBenchMemory::DropAll() {
  calls_.SynchronizeDevice();
  for (auto& [name, block] : blocks_) block.Drop();
}

}  // namespace spillway
