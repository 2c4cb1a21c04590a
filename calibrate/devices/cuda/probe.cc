#include "calibrate/devices/cuda/probe.h"

#include <fmt/format.h>

#include <array>
#include <exception>

#include "calibrate/devices/cuda/bench_target.h"
#include "calibrate/devices/cuda/known_launches.h"
#include "calibrate/devices/cuda/probe_internal.h"
#include "hw/text/document.h"
#include "sim/execute/device.h"

namespace spillway {
namespace {

std::string InUse(CudaCalls& calls) {
  const CudaMemory memory = calls.Memory();
  return FormatBytes(memory.total - memory.free);
}

std::string ClocksText(const CudaClocks& clocks) {
  std::string text = fmt::format("multiprocessors {} MHz, memory {} MHz, {} degrees, {} W", clocks.sm_mhz,
                                 clocks.memory_mhz, clocks.temperature, clocks.watts);
  if (!clocks.throttled.empty()) text += "; held back: " + clocks.throttled;
  if (!clocks.limited.empty()) text += "; limited: " + clocks.limited;
  return text;
}

bool ProbeDevice(const Probe& probe) {
  const CudaProperties p = probe.calls.Properties();
  probe.tell(
      fmt::format("{}, compute capability {}.{}, {} multiprocessors, L2 cache {}, {} copy engines, PCI {}, NUMA {}",
                  p.name, p.compute_major, p.compute_minor, p.multiprocessors, FormatBytes(p.l2_cache), p.copy_engines,
                  p.pci_bus, p.numa_node));
  probe.tell(SoftwareText(p));
  probe.tell(ClocksText(probe.calls.Clocks()));
  const std::string before = InUse(probe.calls);
  const OwnedCudaStream stream = NewStream(probe.calls);
  for (const Launch& launch : {ReluOf(1024), ProductOf(32)}) {
    ProbeKernel(probe.calls, launch, stream.get()).Run();
  }
  probe.tell(fmt::format("memory {}; in use {}, behind the first kernels of cuDNN and cuBLAS {}",
                         FormatBytes(p.total_memory), before, InUse(probe.calls)));
  return true;
}

struct Section {
  const char* name;
  bool (*run)(const Probe& probe);
};
constexpr std::array kSections = {
    Section{"device", ProbeDevice}, Section{"timer", ProbeTimer},
    Section{"hold", ProbeHold},     Section{"clock", ProbeClock},
    Section{"copies", ProbeCopies}, Section{"launches", ProbeLaunches},
    Section{"pacing", ProbePacing}, Section{"convolution", ProbeConvolution},
};

bool RunSection(const Section& section, Probe probe) {
  const auto tell = probe.tell;
  probe.tell = [&](const std::string& line) { tell(fmt::format("{:<12} {}", section.name, line)); };
  try {
    return section.run(probe);
  } catch (const DeviceError& error) {
    probe.tell(fmt::format("failed: {} ({})", error.what(), FaultName(error.fault())));
  }
  return false;
}

}  // namespace

int ProbeCuda(CudaCalls& calls, const Clock& clock, const CudaProbeOptions& options,
              const std::function<void(const std::string&)>& tell) {
  int failed = 0;
  for (const Section& section : kSections) failed += RunSection(section, {calls, clock, options, tell}) ? 0 : 1;
  return failed;
}

}  // namespace spillway
