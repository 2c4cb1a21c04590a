// Other devices of the machine: their memory, and copies between two of them.
#include "calibrate/devices/cuda/plugin/runtime_calls.h"

namespace spillway::cuda {
namespace {

std::size_t SizeOf(Bytes bytes) { return static_cast<std::size_t>(bytes); }

// Makes `device` the thread's, and its own one again at the end.
class Visit {
 public:
  Visit(int device, int home) : home_(home) { SPILLWAY_CHECK(cudaSetDevice(device)); }
  ~Visit() { static_cast<void>(cudaSetDevice(home_)); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  int home_;
};

}  // namespace

int RuntimeCalls::DeviceCount() {
  int count = 0;
  SPILLWAY_CHECK(cudaGetDeviceCount(&count));
  return count;
}

CudaMemory RuntimeCalls::MemoryOf(int device) {
  const Visit visit(device, device_);
  return Memory();
}

void* RuntimeCalls::MallocOn(int device, Bytes bytes) {
  const Visit visit(device, device_);
  return Malloc(bytes);
}

// Addresses are unique among devices: the pointer tells whose it is.
void RuntimeCalls::FreeOn(int /*device*/, void* memory) noexcept { Free(memory); }

bool RuntimeCalls::CanAccessPeer(int device, int peer) {
  int can = 0;
  SPILLWAY_CHECK(cudaDeviceCanAccessPeer(&can, device, peer));
  return can != 0;
}

bool RuntimeCalls::EnablePeerAccess(int device, int peer) {
  const Visit visit(device, device_);
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());  // not an error
    return false;
  }
  Check(status, "cudaDeviceEnablePeerAccess(peer, 0)", __FILE__, __LINE__);
  return true;
}

void RuntimeCalls::DisablePeerAccess(int device, int peer) noexcept {
  if (cudaSetDevice(device) == cudaSuccess) static_cast<void>(cudaDeviceDisablePeerAccess(peer));
  static_cast<void>(cudaSetDevice(device_));
  static_cast<void>(cudaGetLastError());
}

void RuntimeCalls::CopyPeer(void* to, int to_device, const void* from, int from_device, Bytes bytes,
                            CudaStream* stream) {
  SPILLWAY_CHECK(
      cudaMemcpyPeerAsync(to, to_device, from, from_device, SizeOf(bytes), reinterpret_cast<cudaStream_t>(stream)));
}

}  // namespace spillway::cuda
