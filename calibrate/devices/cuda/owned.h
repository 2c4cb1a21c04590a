// Things of CudaCalls that give themselves back. The CudaCalls must outlive them.
//
// Each is a unique_ptr whose deleter knows the calls that made it: movable, one owner, nullptr for none. Giving back
// does not throw: whoever gives back what a stream still works on sees to it that the stream is done. Making throws
// what CudaCalls throw: DeviceError, kNoMemory where there is too little.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_OWNED_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_OWNED_H_

#include <cstddef>
#include <memory>

#include "calibrate/devices/cuda/calls.h"

namespace spillway {

// Of streams and events.
struct CudaGiveBack {
  CudaCalls* calls = nullptr;
  void operator()(CudaStream* stream) const noexcept { calls->Destroy(stream); }
  void operator()(CudaEvent* event) const noexcept { calls->Destroy(event); }
};
using OwnedCudaStream = std::unique_ptr<CudaStream, CudaGiveBack>;
using OwnedCudaEvent = std::unique_ptr<CudaEvent, CudaGiveBack>;

// Memory of the calls' own device; pinned memory of the host; memory of a device by its number.
struct CudaFree {
  CudaCalls* calls = nullptr;
  void operator()(std::byte* memory) const noexcept { calls->Free(memory); }
};
struct CudaFreeHost {
  CudaCalls* calls = nullptr;
  void operator()(std::byte* memory) const noexcept { calls->FreeHost(memory); }
};
struct CudaFreeOn {
  CudaCalls* calls = nullptr;
  int device = 0;
  void operator()(std::byte* memory) const noexcept { calls->FreeOn(device, memory); }
};
using OwnedMemoryOn = std::unique_ptr<std::byte, CudaFreeOn>;
using OwnedDeviceMemory = std::unique_ptr<std::byte, CudaFree>;
using OwnedPinnedMemory = std::unique_ptr<std::byte, CudaFreeHost>;

// `urgent` and `timed` as in CudaCalls.
inline OwnedCudaStream NewStream(CudaCalls& calls, bool urgent = false) { return {calls.MakeStream(urgent), {&calls}}; }
inline OwnedCudaEvent NewEvent(CudaCalls& calls, bool timed) { return {calls.MakeEvent(timed), {&calls}}; }
// nullptr for no bytes.
inline OwnedDeviceMemory NewDeviceMemory(CudaCalls& calls, Bytes bytes) {
  return {bytes > 0 ? static_cast<std::byte*>(calls.Malloc(bytes)) : nullptr, {&calls}};
}
inline OwnedPinnedMemory NewPinnedMemory(CudaCalls& calls, Bytes bytes) {
  return {bytes > 0 ? static_cast<std::byte*>(calls.MallocHost(bytes)) : nullptr, {&calls}};
}

inline OwnedMemoryOn NewMemoryOn(CudaCalls& calls, int device, Bytes bytes) {
  return {static_cast<std::byte*>(calls.MallocOn(device, bytes)), {&calls, device}};
}

// Peer access is a setting of the process, not of an object: it is switched off only by who switched it on.
// Lets one device reach another's memory for as long as it lives; what could be reached before stays so.
class OwnedPeerAccess {
 public:
  OwnedPeerAccess(CudaCalls& calls, int device, int peer)
      : calls_(calls), device_(device), peer_(peer), own_(calls.EnablePeerAccess(device, peer)) {}
  ~OwnedPeerAccess() {
    if (own_) calls_.DisablePeerAccess(device_, peer_);
  }
  OwnedPeerAccess(const OwnedPeerAccess&) = delete;
  OwnedPeerAccess& operator=(const OwnedPeerAccess&) = delete;

 private:
  CudaCalls& calls_;
  int device_, peer_;
  bool own_;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_OWNED_H_
