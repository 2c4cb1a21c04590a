// Memory of the stand-in that is not the device's own: unified memory, and other devices'.
#include <fmt/format.h>

#include <cstring>

#include "tests/cuda/cuda_stand_in_parts.h"

namespace spillway {

namespace {

using What = StandInFault::What;

[[noreturn]] void Throw(Fault fault, const std::string& what) { throw DeviceError(fault, kNoInstruction, what); }

}  // namespace

// ---- unified memory ---------------------------------------------------------------------------------------------------

void* CudaStandIn::MallocManaged(Bytes bytes) {
  void* const memory = Malloc(bytes);
  allocations_.at(static_cast<std::byte*>(memory)).managed = true;
  return memory;
}

void CudaStandIn::PrefetchManaged(void* memory, Bytes bytes, bool to_device, CudaStream* stream) {
  Enter(What::kNone, "cudaMemPrefetchAsync(memory, bytes, where, stream)");
  if (!Holds(memory, bytes, true)) Violated("a prefetch of memory that is not there");
  const auto arrive = [this, memory, to_device] {
    const auto found = allocations_.find(static_cast<std::byte*>(memory));
    if (found != allocations_.end()) found->second.on_host = !to_device;
  };
  Give(stream, {.duration = CopyTime(bytes, to_device ? Direction::kHostToDevice : Direction::kDeviceToHost),
                .effect = arrive});
}

void CudaStandIn::TouchOnHost(const void* memory, Bytes bytes) {
  Enter(What::kNone, "memory[i]");
  const auto found = allocations_.find(static_cast<const std::byte*>(memory));
  if (!Holds(memory, bytes, true) || found == allocations_.end() || !found->second.managed) {
    return Violated("the host touches memory that is not unified");
  }
  if (!Idle()) Violated("the host touches unified memory while streams work");
  if (!found->second.on_host) Pass(static_cast<double>(bytes) / options_.fault_rate);
  found->second.on_host = true;
}

// How long the kernel waits for pages that are on the host; then they are here.
double CudaStandIn::FaultTime(const StandInKernel& kernel, const std::vector<void*>& reads) const {
  double time = 0;
  for (const void* at : reads) {
    const Allocation* const found = Find(at);
    if (found == nullptr || !found->managed || !found->on_host) continue;
    time += static_cast<double>(kernel.call().launch.shape.in.Elements()) * sizeof(float) / options_.fault_rate;
  }
  return time;
}

// ---- other devices ----------------------------------------------------------------------------------------------------

bool CudaStandIn::HasDevice(int device, const char* expression) {
  Enter(What::kNone, expression);
  if (device >= 0 && device < options_.devices) return true;
  Throw(Fault::kFailed, fmt::format("{}: no device {}", expression, device));
}

CudaMemory CudaStandIn::MemoryOf(int device) {
  HasDevice(device, "cudaSetDevice(device)");
  if (device == 0) return Memory();
  return {.free = options_.memory - device_bytes_[device], .total = options_.memory};
}

void* CudaStandIn::MallocOn(int device, Bytes bytes) {
  HasDevice(device, "cudaSetDevice(device)");
  if (device == 0) return Malloc(bytes);
  Enter(What::kMalloc, "cudaMalloc(&memory, bytes)");
  if (bytes > MemoryOf(device).free) Throw(Fault::kNoMemory, "cudaMalloc(&memory, bytes): out of memory");
  return Allocate(bytes, true, device);
}

void CudaStandIn::FreeOn(int device, void* memory) noexcept { Release(memory, true, device); }

bool CudaStandIn::CanAccessPeer(int device, int peer) {
  return HasDevice(device, "cudaDeviceCanAccessPeer(&can, device, peer)") &&
         HasDevice(peer, "cudaDeviceCanAccessPeer(&can, device, peer)") && options_.peers;
}

bool CudaStandIn::EnablePeerAccess(int device, int peer) {
  Enter(What::kPeer, "cudaDeviceEnablePeerAccess(peer, 0)");
  if (!CanAccessPeer(device, peer)) Throw(Fault::kFailed, "cudaDeviceEnablePeerAccess(peer, 0): not supported");
  return peer_access_.insert({device, peer}).second;
}

void CudaStandIn::DisablePeerAccess(int device, int peer) noexcept {
  if (peer_access_.erase({device, peer}) == 0) Violated("peer access is taken back that was not there");
}

void CudaStandIn::CopyPeer(void* to, int to_device, const void* from, int from_device, Bytes bytes,
                           CudaStream* stream) {
  constexpr const char* kCall = "cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream)";
  Enter(What::kCopyCall, kCall);
  HasDevice(to_device, kCall);
  HasDevice(from_device, kCall);
  const bool straight =
      peer_access_.contains({to_device, from_device}) && peer_access_.contains({from_device, to_device});
  const double rate = straight ? options_.peer_rate : options_.staged_rate;
  Item item{.duration = Shuffled(options_.copy_latency + static_cast<double>(bytes) / rate),
            .effect =
                [=, this] {
                  if (!Holds(to, bytes, true, to_device) || !Holds(from, bytes, true, from_device)) {
                    return Violated("a copy between devices touches memory that is not there");
                  }
                  CarryOnDevice(to, from, bytes);
                },
            .reported = true};
  item.done = {.work = Work::kPeer, .to = to, .from = from, .bytes = bytes};
  if (Hits(What::kCopyFails)) item.fails = "a copy failed on the device";
  Give(stream, std::move(item));
}

}  // namespace spillway
