#include "calibrate/devices/cuda/plugin/runtime_calls.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "calibrate/devices/cuda/plugin/nvml.h"
#include "calibrate/devices/cuda/plugin/own_kernels.h"

namespace spillway::cuda {
namespace {

cudaStream_t Real(CudaStream* stream) { return reinterpret_cast<cudaStream_t>(stream); }
cudaEvent_t Real(CudaEvent* event) { return reinterpret_cast<cudaEvent_t>(event); }
std::size_t SizeOf(Bytes bytes) { return static_cast<std::size_t>(bytes); }

cudaMemcpyKind KindOf(Direction direction) {
  return direction == Direction::kHostToDevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
}

std::string PciBusOf(int device) {
  std::array<char, 32> text{};
  SPILLWAY_CHECK(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()) - 1, device));
  return text.data();
}

std::string CublasVersion() {
  std::array<int, 3> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SPILLWAY_CHECK(cublasGetProperty(static_cast<libraryPropertyType>(i), &parts[i]));
  }
  return std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." + std::to_string(parts[2]);
}

}  // namespace

RuntimeCalls::RuntimeCalls(int device, const PluginHost& host)
    : device_(device), host_(host), pci_bus_(PciBusOf(device)), numa_node_(NumaNodeOf(pci_bus_)), nvml_(pci_bus_) {
  SPILLWAY_CHECK(cudaSetDevice(device_));
  SPILLWAY_CHECK(cudaFree(nullptr));  // makes the context now, so that Memory() knows of it
}

int RuntimeCalls::Attribute(cudaDeviceAttr attribute) const {
  int value = -1;
  if (cudaDeviceGetAttribute(&value, attribute, device_) == cudaSuccess) return value;
  static_cast<void>(cudaGetLastError());
  return -1;
}

CudaProperties RuntimeCalls::Properties() {
  cudaDeviceProp own{};
  SPILLWAY_CHECK(cudaGetDeviceProperties(&own, device_));
  int runtime = 0, driver = 0;
  SPILLWAY_CHECK(cudaRuntimeGetVersion(&runtime));
  SPILLWAY_CHECK(cudaDriverGetVersion(&driver));
  CudaProperties p;
  p.name = own.name;
  p.driver = nvml_.DriverVersion();
  if (p.driver.empty()) p.driver = "CUDA " + CudaVersionText(driver);
  p.runtime = CudaVersionText(runtime);
  p.cudnn = CudnnVersionText(cudnnGetVersion());
  p.cublas = CublasVersion();
  p.compute_major = own.major;
  p.compute_minor = own.minor;
  p.multiprocessors = own.multiProcessorCount;
  p.total_memory = static_cast<Bytes>(own.totalGlobalMem);
  p.l2_cache = own.l2CacheSize;
  p.sm_clock_khz = Attribute(cudaDevAttrClockRate);
  p.memory_clock_khz = Attribute(cudaDevAttrMemoryClockRate);
  p.memory_bus_bits = Attribute(cudaDevAttrGlobalMemoryBusWidth);
  p.copy_engines = Attribute(cudaDevAttrAsyncEngineCount);
  p.pci_bus = pci_bus_;
  p.numa_node = numa_node_;
  p.managed_memory = Attribute(cudaDevAttrConcurrentManagedAccess) == 1;
  return p;
}

CudaMemory RuntimeCalls::Memory() {
  std::size_t free = 0, total = 0;
  SPILLWAY_CHECK(cudaMemGetInfo(&free, &total));
  return {.free = static_cast<Bytes>(free), .total = static_cast<Bytes>(total)};
}

void* RuntimeCalls::Malloc(Bytes bytes) {
  void* memory = nullptr;
  SPILLWAY_CHECK(cudaMalloc(&memory, SizeOf(bytes)));
  return memory;
}
void RuntimeCalls::Free(void* memory) noexcept { static_cast<void>(cudaFree(memory)); }

void* RuntimeCalls::MallocHost(Bytes bytes) {
  const PreferNode near(numa_node_);
  void* memory = nullptr;
  SPILLWAY_CHECK(cudaHostAlloc(&memory, SizeOf(bytes), cudaHostAllocDefault));
  return memory;
}
void RuntimeCalls::FreeHost(void* memory) noexcept { static_cast<void>(cudaFreeHost(memory)); }

void* RuntimeCalls::MallocManaged(Bytes bytes) {
  void* memory = nullptr;
  SPILLWAY_CHECK(cudaMallocManaged(&memory, SizeOf(bytes), cudaMemAttachGlobal));
  return memory;
}
void RuntimeCalls::PrefetchManaged(void* memory, Bytes bytes, bool to_device, CudaStream* stream) {
  SPILLWAY_CHECK(Prefetch(memory, SizeOf(bytes), device_, to_device, Real(stream)));
}

// One byte every 4 KiB, the smallest page there is.
void RuntimeCalls::TouchOnHost(const void* memory, Bytes bytes) {
  constexpr Bytes kPage = 4096;
  const auto* const at = static_cast<const volatile char*>(memory);
  for (Bytes i = 0; i < bytes; i += kPage) static_cast<void>(at[i]);
}

void* RuntimeCalls::MallocAsync(Bytes bytes, CudaStream* stream) {
  void* memory = nullptr;
  SPILLWAY_CHECK(AllocateFromPool(&memory, SizeOf(bytes), Real(stream)));
  return memory;
}
void RuntimeCalls::FreeAsync(void* memory, CudaStream* stream) { SPILLWAY_CHECK(FreeToPool(memory, Real(stream))); }

CudaStream* RuntimeCalls::MakeStream(bool urgent) {
  cudaStream_t stream = nullptr;
  if (urgent) {
    int least = 0, greatest = 0;
    SPILLWAY_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    SPILLWAY_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  } else {
    SPILLWAY_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  return reinterpret_cast<CudaStream*>(stream);
}
void RuntimeCalls::Destroy(CudaStream* stream) noexcept { static_cast<void>(cudaStreamDestroy(Real(stream))); }

CudaEvent* RuntimeCalls::MakeEvent(bool timed) {
  cudaEvent_t event = nullptr;
  SPILLWAY_CHECK(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming));
  return reinterpret_cast<CudaEvent*>(event);
}
void RuntimeCalls::Destroy(CudaEvent* event) noexcept { static_cast<void>(cudaEventDestroy(Real(event))); }

void RuntimeCalls::Record(CudaEvent* event, CudaStream* stream) {
  SPILLWAY_CHECK(cudaEventRecord(Real(event), Real(stream)));
}
void RuntimeCalls::Wait(CudaStream* stream, CudaEvent* event) {
  SPILLWAY_CHECK(cudaStreamWaitEvent(Real(stream), Real(event), 0));
}
bool RuntimeCalls::IsDone(CudaEvent* event) {
  const cudaError_t status = cudaEventQuery(Real(event));
  if (status == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());  // not an error
    return false;
  }
  Check(status, "cudaEventQuery(event)", __FILE__, __LINE__);
  return true;
}
void RuntimeCalls::Synchronize(CudaEvent* event) { SPILLWAY_CHECK(cudaEventSynchronize(Real(event))); }
void RuntimeCalls::Synchronize(CudaStream* stream) { SPILLWAY_CHECK(cudaStreamSynchronize(Real(stream))); }
void RuntimeCalls::SynchronizeDevice() { SPILLWAY_CHECK(cudaDeviceSynchronize()); }

double RuntimeCalls::Elapsed(CudaEvent* from, CudaEvent* to) {
  float milliseconds = 0;
  SPILLWAY_CHECK(cudaEventElapsedTime(&milliseconds, Real(from), Real(to)));
  return 1e6 * static_cast<double>(milliseconds);
}

void RuntimeCalls::Copy(void* to, const void* from, Bytes bytes, Direction direction, CudaStream* stream) {
  SPILLWAY_CHECK(cudaMemcpyAsync(to, from, SizeOf(bytes), KindOf(direction), Real(stream)));
}
void RuntimeCalls::CopyRows(void* to, Bytes to_pitch, const void* from, Bytes from_pitch, Bytes row_bytes,
                            std::int64_t rows, Direction direction, CudaStream* stream) {
  SPILLWAY_CHECK(cudaMemcpy2DAsync(to, SizeOf(to_pitch), from, SizeOf(from_pitch), SizeOf(row_bytes),
                                   static_cast<std::size_t>(rows), KindOf(direction), Real(stream)));
}
void RuntimeCalls::CopyOnDevice(void* to, const void* from, Bytes bytes, CudaStream* stream) {
  SPILLWAY_CHECK(cudaMemcpyAsync(to, from, SizeOf(bytes), cudaMemcpyDeviceToDevice, Real(stream)));
}
void RuntimeCalls::Fill(void* at, unsigned char value, Bytes bytes, CudaStream* stream) {
  SPILLWAY_CHECK(cudaMemsetAsync(at, value, SizeOf(bytes), Real(stream)));
}
void RuntimeCalls::Spin(double nanoseconds, CudaStream* stream) {
  SPILLWAY_CHECK(LaunchSpin(static_cast<std::uint64_t>(std::llround(std::max(nanoseconds, 0.0))), Real(stream)));
}
void RuntimeCalls::HoldUntil(volatile int* flag, CudaStream* stream) {
  SPILLWAY_CHECK(LaunchHold(flag, static_cast<std::uint64_t>(kCudaLongestHold), kCudaHoldRanOut, Real(stream)));
}
void RuntimeCalls::Mark(CudaMoment* moments, CudaStream* stream) {
  static_assert(sizeof(CudaMoment) == 2 * sizeof(long long), "as the kernel writes them");
  const int multiprocessors = std::max(1, Attribute(cudaDevAttrMultiProcessorCount));
  SPILLWAY_CHECK(
      LaunchMark(reinterpret_cast<long long*>(moments), kCudaMostMultiprocessors, multiprocessors, Real(stream)));
}
void RuntimeCalls::ReadTicks(std::int64_t* nanoseconds, int count, CudaStream* stream) {
  static_assert(sizeof(std::int64_t) == sizeof(long long), "as the kernel writes them");
  SPILLWAY_CHECK(LaunchTicks(reinterpret_cast<long long*>(nanoseconds), count, Real(stream)));
}

}  // namespace spillway::cuda
