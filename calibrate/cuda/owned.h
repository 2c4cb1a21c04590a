// Things of CudaCalls that give themselves back. The CudaCalls must outlive them.
#ifndef SPILLWAY_CALIBRATE_CUDA_OWNED_H_
#define SPILLWAY_CALIBRATE_CUDA_OWNED_H_

#include <cstddef>
#include <memory>

#include "calibrate/cuda/calls.h"

namespace spillway {

struct CudaGiveBack {
  CudaCalls* calls = nullptr;
  void operator()(CudaStream* stream) const noexcept { calls->Destroy(stream); }
  void operator()(CudaEvent* event) const noexcept { calls->Destroy(event); }
};
using OwnedCudaStream = std::unique_ptr<CudaStream, CudaGiveBack>;
using OwnedCudaEvent = std::unique_ptr<CudaEvent, CudaGiveBack>;

struct CudaFree {
  CudaCalls* calls = nullptr;
  void operator()(std::byte* memory) const noexcept { calls->Free(memory); }
};
struct CudaFreeHost {
  CudaCalls* calls = nullptr;
  void operator()(std::byte* memory) const noexcept { calls->FreeHost(memory); }
};
using OwnedDeviceMemory = std::unique_ptr<std::byte, CudaFree>;
using OwnedPinnedMemory = std::unique_ptr<std::byte, CudaFreeHost>;

inline OwnedCudaStream NewStream(CudaCalls& calls, bool urgent = false) { return {calls.MakeStream(urgent), {&calls}}; }
inline OwnedCudaEvent NewEvent(CudaCalls& calls, bool timed) { return {calls.MakeEvent(timed), {&calls}}; }
// nullptr for no bytes.
inline OwnedDeviceMemory NewDeviceMemory(CudaCalls& calls, Bytes bytes) {
  return {bytes > 0 ? static_cast<std::byte*>(calls.Malloc(bytes)) : nullptr, {&calls}};
}
inline OwnedPinnedMemory NewPinnedMemory(CudaCalls& calls, Bytes bytes) {
  return {bytes > 0 ? static_cast<std::byte*>(calls.MallocHost(bytes)) : nullptr, {&calls}};
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_CUDA_OWNED_H_
