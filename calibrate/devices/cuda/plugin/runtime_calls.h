// CudaCalls on the real libraries: the CUDA runtime, cuDNN, cuBLAS, and NVML where it is. Private to
// calibrate/devices/cuda/plugin/.
//
// What each call does, its units (bytes, nanoseconds), who owns what it returns and what it throws is said once, in
// calibrate/devices/cuda/calls.h. Every status of a library that is not success becomes a DeviceError that names the call
// (check.h); only what gives back swallows errors, since it runs while others are thrown.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_RUNTIME_CALLS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_RUNTIME_CALLS_H_

#include "calibrate/devices/cuda/plugin/kernel.h"
#include "calibrate/devices/cuda/plugin_entry.h"
#ifdef SPILLWAY_HAS_CUDA_HEADERS

#include "calibrate/devices/cuda/plugin/nvml.h"

namespace spillway::cuda {

// Opaque streams and events are CUDA's own.
class RuntimeCalls : public CudaCalls {
 public:
  // Makes `device` the one of this thread, on which all calls then are to be made. REQUIRES: it exists. `host` is copied.
  RuntimeCalls(int device, const PluginHost& host);

  CudaProperties Properties() override;
  CudaMemory Memory() override;
  CudaClocks Clocks() override { return nvml_.Clocks(); }

  void* Malloc(Bytes bytes) override;
  void Free(void* memory) noexcept override;
  void* MallocHost(Bytes bytes) override;
  void FreeHost(void* memory) noexcept override;
  void* MallocManaged(Bytes bytes) override;
  void PrefetchManaged(void* memory, Bytes bytes, bool to_device, CudaStream* stream) override;
  void TouchOnHost(const void* memory, Bytes bytes) override;
  void* MallocAsync(Bytes bytes, CudaStream* stream) override;
  void FreeAsync(void* memory, CudaStream* stream) override;

  CudaStream* MakeStream(bool urgent) override;
  void Destroy(CudaStream* stream) noexcept override;
  CudaEvent* MakeEvent(bool timed) override;
  void Destroy(CudaEvent* event) noexcept override;
  void Record(CudaEvent* event, CudaStream* stream) override;
  void Wait(CudaStream* stream, CudaEvent* event) override;
  bool IsDone(CudaEvent* event) override;
  void Synchronize(CudaEvent* event) override;
  void Synchronize(CudaStream* stream) override;
  void SynchronizeDevice() override;
  double Elapsed(CudaEvent* from, CudaEvent* to) override;

  void Copy(void* to, const void* from, Bytes bytes, Direction direction, CudaStream* stream) override;
  void CopyRows(void* to, Bytes to_pitch, const void* from, Bytes from_pitch, Bytes row_bytes, std::int64_t rows,
                Direction direction, CudaStream* stream) override;
  void CopyOnDevice(void* to, const void* from, Bytes bytes, CudaStream* stream) override;
  void Fill(void* at, unsigned char value, Bytes bytes, CudaStream* stream) override;
  void Spin(double nanoseconds, CudaStream* stream) override;
  void HoldUntil(volatile int* flag, CudaStream* stream) override;
  void Mark(CudaMoment* moments, CudaStream* stream) override;
  void ReadTicks(std::int64_t* nanoseconds, int count, CudaStream* stream) override;

  // peer_calls.cc
  int DeviceNumber() override { return device_; }
  int DeviceCount() override;
  CudaMemory MemoryOf(int device) override;
  void* MallocOn(int device, Bytes bytes) override;
  void FreeOn(int device, void* memory) noexcept override;
  bool CanAccessPeer(int device, int peer) override;
  bool EnablePeerAccess(int device, int peer) override;
  void DisablePeerAccess(int device, int peer) noexcept override;
  void CopyPeer(void* to, int to_device, const void* from, int from_device, Bytes bytes, CudaStream* stream) override;

  // prepare.cc
  std::vector<CudaAlgorithm> Algorithms(const OpCall& call) override;
  std::unique_ptr<CudaKernel> Prepare(const OpCall& call) override;

 private:
  int Attribute(cudaDeviceAttr attribute) const;  // -1: not known
  const LibrariesPtr& Handles();                  // made when the first kernel needs them

  int device_;
  PluginHost host_;
  std::string pci_bus_;
  int numa_node_;
  Nvml nvml_;
  LibrariesPtr libraries_;
};

}  // namespace spillway::cuda

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_RUNTIME_CALLS_H_
