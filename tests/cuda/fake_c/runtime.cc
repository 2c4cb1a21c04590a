// The CUDA runtime of the fake library.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "tests/cuda/fake_c/fake.h"

struct CUevent_st {
  bool timed = false, recorded = false;
  std::size_t moment = 0;  // one tick of the fake clock for each record
};
struct CUstream_st {};

namespace cuda_fake {
namespace {

std::set<const void*>& Streams() {
  static std::set<const void*> streams;
  return streams;
}
std::size_t Tick() {
  static std::size_t ticks = 0;
  return ++ticks;
}
bool IsStream(cudaStream_t stream) { return stream == nullptr || Streams().count(stream) != 0; }

// The block that holds all of it; nullptr: none.
const char* Within(const std::map<const char*, std::size_t>& blocks, const void* memory, std::size_t bytes) {
  const char* const begin = static_cast<const char*>(memory);
  auto block = blocks.upper_bound(begin);
  if (block == blocks.begin()) return nullptr;
  --block;
  return begin + bytes <= block->first + block->second ? block->first : nullptr;
}

bool IsDevice(int device) { return device >= 0 && device < TheState().devices; }

std::size_t InUse() {
  std::size_t sum = 0;
  for (const auto& [block, bytes] : TheState().device) {
    if (TheState().owners.at(block) == TheState().current) sum += bytes;
  }
  return sum;
}

cudaError_t Allocate(std::map<const char*, std::size_t>& blocks, void** memory, std::size_t bytes) {
  void* const block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(block, 0xff, bytes);  // NaN: nothing may count on zeros
  blocks[static_cast<const char*>(block)] = bytes;
  *memory = block;
  return cudaSuccess;
}

cudaError_t Release(std::map<const char*, std::size_t>& blocks, void* memory) {
  if (memory == nullptr) return cudaSuccess;
  if (blocks.erase(static_cast<const char*>(memory)) == 0) return cudaErrorInvalidValue;
  std::free(memory);
  return cudaSuccess;
}

// The side of a copy that is said to be on the device must be there, the other must not.
bool SidesFit(const void* to, std::size_t to_bytes, const void* from, std::size_t from_bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return OnDevice(to, to_bytes) == to_device && OnDevice(from, from_bytes) == from_device;
}

}  // namespace

State& TheState() {
  static State state;
  return state;
}
bool OnDevice(const void* memory, std::size_t bytes) { return OnDevice(memory, bytes, TheState().current); }
bool OnDevice(const void* memory, std::size_t bytes, int device) {
  const char* const block = Within(TheState().device, memory, bytes);
  return block != nullptr && TheState().owners.at(block) == device;
}
void Log(const std::string& call) { TheState().calls.push_back(call); }

std::optional<int> Injected(const char* function) {
  State& state = TheState();
  if (state.fail_function != function) return std::nullopt;
  state.fail_function.clear();
  return state.fail_status;
}

}  // namespace cuda_fake

using namespace cuda_fake;

cudaError_t cudaGetDeviceCount(int* count) {
  if (const auto status = Injected("cudaGetDeviceCount")) return static_cast<cudaError_t>(*status);
  *count = TheState().devices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (!IsDevice(device)) return cudaErrorInvalidDevice;
  TheState().current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int) {
  *prop = {};
  std::snprintf(prop->name, sizeof(prop->name), "Fake");
  prop->major = 8;
  prop->multiProcessorCount = 4;
  prop->totalGlobalMem = TheState().device_limit;
  prop->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 8 : static_cast<int>(attribute);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:FF:1F.7");
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = TheState().device_limit;
  *free = *total - InUse();
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t status) {
  return status == cudaErrorMemoryAllocation ? "out of memory" : "some error";
}
const char* cudaGetErrorName(cudaError_t status) {
  return status == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaErrorOther";
}
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (const auto status = Injected("cudaMalloc")) return static_cast<cudaError_t>(*status);
  if (InUse() + bytes > TheState().device_limit) return cudaErrorMemoryAllocation;
  const cudaError_t status = Allocate(TheState().device, memory, bytes);
  TheState().owners[static_cast<const char*>(*memory)] = TheState().current;
  return status;
}
cudaError_t cudaFree(void* memory) {
  TheState().owners.erase(static_cast<const char*>(memory));
  return Release(TheState().device, memory);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return Allocate(TheState().host, memory, bytes);
}
cudaError_t cudaFreeHost(void* memory) { return Release(TheState().host, memory); }
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned) { return cudaMalloc(memory, bytes); }
cudaError_t cudaMallocAsync(void** memory, std::size_t bytes, cudaStream_t stream) {
  return IsStream(stream) ? cudaMalloc(memory, bytes) : cudaErrorInvalidResourceHandle;
}
cudaError_t cudaFreeAsync(void* memory, cudaStream_t stream) {
  return IsStream(stream) ? cudaFree(memory) : cudaErrorInvalidResourceHandle;
}
#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void* memory, std::size_t bytes, cudaMemLocation, unsigned, cudaStream_t) {
  return OnDevice(memory, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}
#else
cudaError_t cudaMemPrefetchAsync(const void* memory, std::size_t bytes, int, cudaStream_t) {
  return OnDevice(memory, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}
#endif

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
  *stream = new CUstream_st;
  Streams().insert(*stream);
  ++TheState().objects;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  Log("stream of priority " + std::to_string(priority));
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (Streams().erase(stream) == 0) return cudaErrorInvalidResourceHandle;
  delete stream;
  --TheState().objects;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return IsStream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t, unsigned) { return cudaStreamSynchronize(stream); }
cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st{.timed = flags == cudaEventDefault};
  ++TheState().objects;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  --TheState().objects;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->recorded = true;
  event->moment = Tick();
  return cudaStreamSynchronize(stream);
}
cudaError_t cudaEventQuery(cudaEvent_t) {
  const auto status = Injected("cudaEventQuery");
  return status ? static_cast<cudaError_t>(*status) : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (!from->timed || !to->timed || !from->recorded || !to->recorded) return cudaErrorInvalidResourceHandle;
  *milliseconds = static_cast<float>(to->moment - from->moment);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (const auto status = Injected("cudaMemcpyAsync")) return static_cast<cudaError_t>(*status);
  if (!IsStream(stream) || !SidesFit(to, bytes, from, bytes, kind)) return cudaErrorInvalidValue;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  const std::size_t to_bytes = (rows - 1) * to_pitch + width, from_bytes = (rows - 1) * from_pitch + width;
  if (!IsStream(stream) || !SidesFit(to, to_bytes, from, from_bytes, kind)) return cudaErrorInvalidValue;
  for (std::size_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  if (!IsDevice(to_device) || !IsDevice(from_device)) return cudaErrorInvalidDevice;
  const bool there = OnDevice(to, bytes, to_device) && OnDevice(from, bytes, from_device);
  if (!IsStream(stream) || !there) return cudaErrorInvalidValue;
  const auto& access = TheState().peer_access;
  const bool straight = access.count({to_device, from_device}) == 1 && access.count({from_device, to_device}) == 1;
  Log(straight ? "straight copy" : "staged copy");
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!IsDevice(device) || !IsDevice(peer)) return cudaErrorInvalidDevice;
  *can = device != peer && TheState().peers ? 1 : 0;
  return cudaSuccess;
}
// Of the thread's device.
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  if (const auto status = Injected("cudaDeviceEnablePeerAccess")) return static_cast<cudaError_t>(*status);
  if (flags != 0) return cudaErrorInvalidValue;
  if (!IsDevice(peer) || peer == TheState().current) return cudaErrorInvalidDevice;
  if (!TheState().peers) return cudaErrorPeerAccessUnsupported;
  return TheState().peer_access.insert({TheState().current, peer}).second ? cudaSuccess
                                                                          : cudaErrorPeerAccessAlreadyEnabled;
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return TheState().peer_access.erase({TheState().current, peer}) == 1 ? cudaSuccess : cudaErrorPeerAccessNotEnabled;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  if (!IsStream(stream) || !OnDevice(memory, bytes)) return cudaErrorInvalidValue;
  std::memset(memory, value, bytes);
  return cudaSuccess;
}
