#include "tests/cuda/rehearsal/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>
#include <vector>

#include "model/cost/cost_model.h"
#include "model/kernels/kernel_form.h"

namespace spillway {

namespace {

// What a first context and first ops of the libraries take of an H100 is not known here; both are less than the reserve of
// the shipped profiles.
constexpr Bytes kContext = 480 * kMiB, kLibraries = 160 * kMiB, kCode = 8 * kKiB;
constexpr Bytes kCarried = 64 * kMiB;  // what comes and goes between steps is in such pieces
constexpr std::size_t kQueue = 1024;   // launches that a stream takes, about
constexpr double kSpinGap = 1000;      // ns; a launch's
constexpr double kFaultRate = 20;      // GB/s, assumed of an H100 (its profile says where from)
constexpr int kBusBits = 5120;
constexpr const char* kNone = "rehearsal";  // in place of each version

struct Rehearsed {
  explicit Rehearsed(const Machine& profile) : machine(profile), costs(machine) {}
  Machine machine;
  CostModel costs;
};

// What tells a GPU's figures where no table has its name (CudaBenchTarget): 128 lanes, 2 operations each; two transfers a
// clock.
CudaProperties PropertiesOf(const Machine& machine) {
  constexpr double kFlopsPerClock = 256, kTransfers = 2, kBitsPerByte = 8, kKilohertz = 1e6;
  const Device& device = machine.devices[0];
  CudaProperties properties;
  properties.name = fmt::format("rehearsal of {}, no GPU", machine.name);
  properties.driver = properties.runtime = properties.cudnn = properties.cublas = kNone;
  properties.compute_major = 9;
  properties.multiprocessors = device.multiprocessors;
  properties.l2_cache = device.l2_cache;
  properties.sm_clock_khz = std::llround(device.peak_flops / (device.multiprocessors * kFlopsPerClock) * kKilohertz);
  properties.memory_bus_bits = kBusBits;
  properties.memory_clock_khz =
      std::llround(device.memory_bandwidth * kBitsPerByte / (kTransfers * kBusBits) * kKilohertz);
  properties.copy_engines = 3;
  properties.pci_bus = kNone;
  properties.managed_memory = true;
  return properties;
}

// Sums of cuDNN's that come in any order.
bool IsDeterministic(Pass pass, std::string_view algorithm) {
  if (pass == Pass::kBackwardData) return algorithm != "algo_0";
  return pass != Pass::kBackwardFilter || (algorithm != "algo_0" && algorithm != "algo_3");
}

// Those that the profile has a model for, the fastest first.
std::vector<CudaAlgorithm> AlgorithmsOf(const CostModel& costs, Launch launch) {
  const std::span<const char* const> names = AlgorithmNames(launch.kind, launch.pass);
  launch.workspace = std::numeric_limits<Bytes>::max();
  std::vector<std::pair<Nanos, CudaAlgorithm>> known;
  for (std::size_t k = 0; k < names.size(); ++k) {
    launch.algorithm = static_cast<std::int32_t>(k) + 1;
    const Cost cost = costs.Kernel(launch);
    if (cost.algorithm != launch.algorithm) continue;  // a law or the roofline, which know none
    known.push_back({cost.time,
                     {.algorithm = launch.algorithm,
                      .workspace = cost.workspace,
                      .deterministic = IsDeterministic(launch.pass, names[k])}});
  }
  std::stable_sort(known.begin(), known.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CudaAlgorithm> algorithms;
  for (auto& [time, algorithm] : known) {
    algorithm.rank = static_cast<int>(algorithms.size());
    algorithms.push_back(algorithm);
  }
  if (algorithms.empty()) algorithms.push_back({.algorithm = 1, .rank = 0});
  return algorithms;
}

Bytes WorkspaceOf(const CostModel& costs, const OpCall& call) {
  if (call.launch.kind != OpKind::kConvolution) return 0;
  const Bytes needed = costs.Kernel(call.launch).workspace;
  const Bytes granted =
      call.launch.workspace == kUsualWorkspace ? costs.options().workspace_limit : call.launch.workspace;
  if (needed <= granted) return needed;
  throw DeviceError(Fault::kRefused, kNoInstruction,
                    fmt::format("{}: needs {} of workspace, {} are granted", CudaStandIn::Text(call),
                                FormatBytes(needed), FormatBytes(granted)));
}

}  // namespace

StandInOptions RehearsalOptions(const Machine& profile, const RehearsalSettings& settings) {
  const auto rehearsed = std::make_shared<const Rehearsed>(profile);
  const Device& device = rehearsed->machine.devices[0];
  const Link& link = rehearsed->machine.LinkOf(0);
  StandInOptions options;
  options.real_time = true;
  options.sparse = true;
  options.remember = false;
  options.compute = false;
  options.noise = settings.noise;
  options.kernel_time = [rehearsed, speed = settings.speed](const OpCall& call) {
    return static_cast<double>(rehearsed->costs.Kernel(call.launch).time) / speed;
  };
  options.algorithms = [rehearsed](const OpCall& call) { return AlgorithmsOf(rehearsed->costs, call.launch); };
  options.workspace = [rehearsed](const OpCall& call) { return WorkspaceOf(rehearsed->costs, call); };
  options.copy_time = [rehearsed, speed = settings.speed](Bytes bytes, Direction direction) {
    return static_cast<double>(rehearsed->costs.Copy(bytes, direction).time) / speed;
  };
  // A copy reads and writes, a fill writes: both count as the former.
  options.device_rate = device.memory_bandwidth / 2 * settings.speed;
  options.fault_rate = kFaultRate * settings.speed;
  options.spin_gap = kSpinGap;
  options.queue = kQueue;
  options.poll_cost = 0;
  options.memory = settings.memory > 0 ? settings.memory : device.total_memory;
  options.pinned = rehearsed->machine.hosts[static_cast<std::size_t>(link.host)].pinned_limit;
  options.carried = kCarried;
  options.context_bytes = kContext;
  options.library_bytes = kLibraries;
  options.code_bytes = kCode;
  options.properties = PropertiesOf(rehearsed->machine);
  return options;
}

RehearsalDevice::~RehearsalDevice() {
  if (!leaks().empty()) std::fprintf(stderr, "rehearsal: not given back: %s\n", leaks().c_str());
  if (violations().empty()) return;
  std::fprintf(stderr, "rehearsal: CUDA was misused %zu times, first: %s\n", violations().size(),
               violations()[0].c_str());
}

}  // namespace spillway
