// The memory of one session of the CUDA device: the arena, the library's device memory, and one block of pinned host
// memory. The block holds the host buffers, then the staging buffers of CudaStaging.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_MEMORY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_MEMORY_H_

#include <span>
#include <vector>

#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/staging.h"
#include "sim/execute/device.h"
#include "sim/execute/session_layout.h"

namespace spillway {

// Owns pinned memory from session to session, because pinning takes a second for every few GB.
class PinnedPool {
 public:
  explicit PinnedPool(CudaCalls& calls) : calls_(calls), memory_(nullptr, CudaFreeHost{&calls}) {}
  // Returns at least `bytes` bytes, with undefined contents. Memory of an earlier call may be freed. Throws as
  // CudaCalls::MallocHost.
  std::byte* Get(Bytes bytes);
  void Release() noexcept;

 private:
  CudaCalls& calls_;
  OwnedPinnedMemory memory_;
  Bytes bytes_ = 0;
};

// The byte with which a debug session fills memory without contents. Four of them are a NaN in fp32.
constexpr unsigned char kCudaEmpty = 0xff;

class CudaSessionMemory {
 public:
  // Allocates the arena, exactly session.arena_bytes. `pool` must outlive this object. Throws DeviceError (kNoMemory)
  // with the sizes, as do the two Reserve calls.
  CudaSessionMemory(CudaCalls& calls, const Session& session, PinnedPool& pool);

  void ReserveLibrary(Bytes bytes);  // device memory for the library
  void ReserveHost(Bytes staging);   // the host buffers, and `staging` bytes for CudaStaging::Use
  std::byte* library() const { return library_.get(); }
  Bytes arena_bytes() const { return arena_bytes_; }
  Bytes library_bytes() const { return library_bytes_; }
  Bytes host_bytes() const { return layout_.host_bytes(); }
  std::span<std::byte> staging() const { return {staging_, static_cast<std::size_t>(staging_bytes_)}; }

  // The address of `at`, in the arena or in the block of host buffers. Throws DeviceError (kContract) that blames
  // `instruction` if some of the bytes lie outside.
  std::byte* At(const Location& at, std::uint32_t instruction) const;
  const SessionLayout& layout() const { return layout_; }

  // Fills the arena with copies of `bytes`, in stream order. The last copy may be cut off. REQUIRES: neither `bytes`
  // nor the arena is empty.
  void FillArena(std::span<const std::byte> bytes, CudaStaging& staging, CudaStream* stream) const;

  // ---- debug sessions -----------------------------------------------------------------------------------------------

  // Fills [begin, end) of the arena with kCudaEmpty, in stream order.
  void Empty(Bytes begin, Bytes end, CudaStream* stream) const;
  void EmptyHost() const;  // fills all host memory that holds no resident with kCudaEmpty
  // True if a byte below `end` of the arena may lie above highest().
  bool MayRaise(Bytes end) const { return end > highest_; }
  // Searches [begin, end) above highest() for bytes that are not kCudaEmpty, and raises highest(). No stream may write
  // there meanwhile.
  void LookFor(Bytes begin, Bytes end, CudaStaging& staging);
  Bytes highest() const { return highest_; }  // one past the highest byte of the arena found so far

 private:
  CudaCalls& calls_;
  const SessionLayout layout_;
  const Bytes arena_bytes_;
  PinnedPool& pool_;
  OwnedDeviceMemory arena_, library_;
  Bytes library_bytes_ = 0, staging_bytes_ = 0;
  std::byte* host_ = nullptr;  // owned by the pool
  std::byte* staging_ = nullptr;
  Bytes highest_ = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_MEMORY_H_
