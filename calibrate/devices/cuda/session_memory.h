// The memory of one session of the CUDA device: the arena, the library's memory beside it, and one block of pinned memory
// with the host buffers and what CudaStaging works on.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_MEMORY_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_MEMORY_H_

#include <span>
#include <vector>

#include "calibrate/devices/cuda/owned.h"
#include "calibrate/devices/cuda/staging.h"
#include "sim/execute/device.h"
#include "sim/execute/session_layout.h"

namespace spillway {

// Pinned memory that stays from session to session: pinning takes a second for every few GB.
class PinnedPool {
 public:
  explicit PinnedPool(CudaCalls& calls) : calls_(calls), memory_(nullptr, CudaFreeHost{&calls}) {}
  // At least so many bytes; what was there before is gone. Throws as CudaCalls::MallocHost.
  std::byte* Get(Bytes bytes);
  void Release() noexcept;

 private:
  CudaCalls& calls_;
  OwnedPinnedMemory memory_;
  Bytes bytes_ = 0;
};

// What a debug session puts where nothing is: as fp32, NaN.
constexpr unsigned char kCudaEmpty = 0xff;

class CudaSessionMemory {
 public:
  // Reserves the arena, exactly session.arena_bytes. Throws DeviceError (kNoMemory) with the sizes.
  CudaSessionMemory(CudaCalls& calls, const Session& session, PinnedPool& pool);

  // The library's memory; host buffers and `staging` bytes of pinned memory for CudaStaging::Use.
  void ReserveLibrary(Bytes bytes);
  void ReserveHost(Bytes staging);
  std::byte* library() const { return library_.get(); }
  Bytes arena_bytes() const { return arena_bytes_; }
  Bytes library_bytes() const { return library_bytes_; }
  Bytes host_bytes() const { return layout_.host_bytes(); }
  std::span<std::byte> staging() const { return {staging_, static_cast<std::size_t>(staging_bytes_)}; }

  // Throws DeviceError (kContract) blaming `instruction` if the bytes are not all inside.
  std::byte* At(const Location& at, std::uint32_t instruction) const;
  const SessionLayout& layout() const { return layout_; }

  // `bytes`, not empty, over and over up to the arena's end, in order of the stream. REQUIRES: it has one.
  void FillArena(std::span<const std::byte> bytes, CudaStaging& staging, CudaStream* stream) const;

  // ---- debug sessions -----------------------------------------------------------------------------------------------

  void Empty(Bytes begin, Bytes end, CudaStream* stream) const;  // of the arena; in order of the stream
  void EmptyHost() const;                                        // what holds no resident's value
  // Whether a byte in [begin, end) of the arena may be higher than the highest known.
  bool MayRaise(Bytes end) const { return end > highest_; }
  // Reads the part above the highest byte known. Nothing may write there meanwhile.
  void LookFor(Bytes begin, Bytes end, CudaStaging& staging);
  Bytes highest() const { return highest_; }

 private:
  CudaCalls& calls_;
  const SessionLayout layout_;
  const Bytes arena_bytes_;
  PinnedPool& pool_;
  OwnedDeviceMemory arena_, library_;
  Bytes library_bytes_ = 0, staging_bytes_ = 0;
  std::byte* host_ = nullptr;  // of the pool
  std::byte* staging_ = nullptr;
  Bytes highest_ = 0;  // one past it
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_SESSION_MEMORY_H_
