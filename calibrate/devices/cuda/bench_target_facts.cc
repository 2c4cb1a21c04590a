// What a GPU is, as something to measure: who it is in rows, and what a profile says of it.
#include <fmt/format.h>

#include <algorithm>

#include "calibrate/devices/cuda/bench_target.h"
#include "calibrate/devices/cuda/known_launches.h"
#include "calibrate/devices/cuda/owned.h"
#include "calibrate/host/host_facts.h"
#include "hw/machine/chips.h"

namespace spillway {
namespace {

// Of the device's memory, before anything is measured.
Bytes TakenByLibraries(CudaCalls& calls) {
  LoadLibraries(calls);
  const CudaMemory memory = calls.Memory();
  return memory.total - memory.free;
}

// Of the chip table, or by what the device says of itself: a product of two 32-bit numbers per lane and clock.
void SetFigures(const CudaProperties& properties, BenchFacts* facts) {
  const std::vector<ChipFigures> chips = LoadChips();
  if (const ChipFigures* chip = FindChip(chips, properties.name)) {
    facts->peak_flops = chip->peak_flops;
    facts->memory_bandwidth = chip->memory_bandwidth;
    facts->math_peaks = chip->math_peaks;
    facts->math_source = chip->math_source;
    return;
  }
  constexpr double kLanes = 128, kFlops = 2, kTransfersPerClock = 2, kBitsPerByte = 8, kPerGigahertz = 1e-6;
  const auto clock = static_cast<double>(properties.sm_clock_khz),
             memory = static_cast<double>(properties.memory_clock_khz);
  if (clock > 0) facts->peak_flops = properties.multiprocessors * kLanes * kFlops * clock * kPerGigahertz;
  if (memory > 0 && properties.memory_bus_bits > 0) {
    facts->memory_bandwidth = memory * kPerGigahertz * kTransfersPerClock * properties.memory_bus_bits / kBitsPerByte;
  }
}

}  // namespace

void LoadLibraries(CudaCalls& calls) {
  constexpr std::int64_t kElements = 1024;
  constexpr Bytes kBytes = kElements * static_cast<Bytes>(sizeof(float));
  const OwnedCudaStream stream = NewStream(calls);
  const OwnedDeviceMemory memory = NewDeviceMemory(calls, 3 * kBytes);
  calls.Fill(memory.get(), 0, 3 * kBytes, stream.get());
  void* const reads[] = {memory.get(), memory.get() + kBytes};
  void* const writes[] = {memory.get() + 2 * kBytes};
  for (const Launch& launch : {ReluOf(kElements), ProductOf(32)}) {
    const std::unique_ptr<CudaKernel> kernel = calls.Prepare(CallOf(launch));
    const OwnedDeviceMemory workspace = NewDeviceMemory(calls, kernel->workspace());
    const std::size_t operands = launch.kind == OpKind::kLinear ? 2 : 1;
    kernel->Run(stream.get(),
                {.reads = std::span(reads).first(operands), .writes = writes, .workspace = workspace.get()});
    calls.Synchronize(stream.get());
  }
}

std::string SoftwareText(const CudaProperties& properties) {
  return fmt::format("driver {}, CUDA {}, cuDNN {}, cuBLAS {}", properties.driver, properties.runtime, properties.cudnn,
                     properties.cublas);
}

CudaBenchTarget::CudaBenchTarget(const CudaBenchOptions& options, std::shared_ptr<CudaCalls> calls, const Clock& clock)
    : options_(options),
      calls_(std::move(calls)),
      clock_(clock),
      properties_(calls_->Properties()),
      reserve_(TakenByLibraries(*calls_)),
      timer_(*calls_),
      memory_(*calls_, properties_.l2_cache),
      copy_check_(*calls_, memory_, options_.checked) {
  const HostFacts host = ReadHostFacts();
  identity_.device = properties_.name;
  identity_.host = fmt::format("{}, {} cores", host.processor, host.cores);
  identity_.driver =
      fmt::format("spillway {}, driver {}, cuBLAS {}", options_.version, properties_.driver, properties_.cublas);
  identity_.cuda = properties_.runtime;
  identity_.cudnn = properties_.cudnn;
  identity_.kind = BenchProtocolName(options_.protocol);
}

BenchFacts CudaBenchTarget::Facts(const std::string& date) const {
  const HostFacts host = ReadHostFacts();
  BenchFacts facts;
  facts.platform = Platform::kGpu;
  facts.device = fmt::format("cuda{}", options_.device);
  facts.description =
      fmt::format("{} (compute capability {}.{}, {} multiprocessors, PCI {}) in a host with {}, {} cores",
                  properties_.name, properties_.compute_major, properties_.compute_minor, properties_.multiprocessors,
                  properties_.pci_bus, host.processor, host.cores);
  facts.software = fmt::format("spillway {}, {}", options_.version, SoftwareText(properties_));
  facts.measured = fmt::format("{}, {}, {}", properties_.name, SoftwareText(properties_), date);
  facts.driver = properties_.driver;
  facts.cuda = properties_.runtime;
  facts.cudnn = properties_.cudnn;
  facts.memory = host.memory;
  facts.device_memory = properties_.total_memory;
  facts.reserve = reserve_;
  facts.cache = properties_.l2_cache;
  facts.multiprocessors = std::max(1, properties_.multiprocessors);
  SetFigures(properties_, &facts);
  return facts;
}

}  // namespace spillway
