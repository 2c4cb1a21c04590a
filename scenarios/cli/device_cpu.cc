// The CPU device for the verbs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "calibrate/devices/cpu/bench_target.h"
#include "calibrate/devices/cpu/device.h"
#include "calibrate/devices/cpu/kernels.h"
#include "calibrate/host/host_facts.h"
#include "calibrate/host/pin.h"
#include "calibrate/measure/plan.h"
#include "scenarios/cli/devices.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

// What `spillway validate` trains: small enough for a processor.
constexpr const char* kResNet = "cifar-resnet20:32";
constexpr const char* kVggFile = "cifar-vgg-narrow.yaml";
constexpr const char* kVggBatch = ":16";

std::vector<std::string> UsualNetworks() {
  const fs::path vgg = fs::path(MachineFolder()).parent_path() / "model" / "networks" / kVggFile;
  std::error_code ignored;
  return {kResNet, fs::exists(vgg, ignored) ? vgg.string() + kVggBatch : std::string("cifar-vgg") + kVggBatch};
}

BenchFacts FactsOf(const CpuBenchTarget& target, const CpuBenchOptions& options, const std::string& date) {
  const HostFacts& host = target.facts();
  const Sample identity = target.Identity();
  BenchFacts facts;
  facts.device = "cpu0";
  const std::string rate = options.link_rate > 0 ? fmt::format("limited to {:g} GB/s each way", options.link_rate)
                                                 : "as fast as memcpy goes";
  facts.description = fmt::format("{}, {} cores: computes on {} of them, copies on the others, {}", host.processor,
                                  host.cores, options.threads, rate);
  facts.software = identity.driver;
  facts.measured = fmt::format("{}, {}, {}", host.processor, identity.driver, date);
  facts.cores = host.cores;
  facts.memory = host.memory;
  facts.cache = host.LastCache() > 0 ? host.LastCache() : kUsualLastCache;
  if (host.LastCache() == 0) {
    facts.notes.push_back(fmt::format("the system does not state its caches: a last one of {} is assumed",
                                      FormatBytesExact(kUsualLastCache)));
  }
  facts.multiprocessors = options.threads;
  facts.link_rate = options.link_rate;
  return facts;
}

// Of kernels, as the profile was measured with (calibrate/measure/profile.h).
int ComputeThreads(const Machine& profile) { return profile.devices[0].multiprocessors; }

AskDevice AskKernels(int threads) {
  const auto kernels = std::make_shared<CpuKernels>(threads);
  return [kernels](const Launch& launch) {
    std::vector<OfferedAlgorithm> offered;
    for (const CpuAlgorithm& algorithm : kernels->Algorithms(CallOf(launch))) {
      offered.push_back({algorithm.algorithm, algorithm.workspace});
    }
    return offered;
  };
}

}  // namespace

CalibrateSetup CalibrateCpu(const CalibrateRequest& request, const Clock& clock) {
  NeedCores(request.threads, "--threads");
  const CpuBenchOptions options{
      .link_rate = request.link_rate, .threads = request.threads, .protocol = request.protocol, .version = Version()};
  CalibrateSetup setup;
  setup.plan = MakeBenchPlan(BenchNetworksOf(request.networks.empty() ? UsualNetworks() : request.networks),
                             request.no_grid ? BenchNetworks{} : BenchGrid(),
                             {.quick = request.quick, .groups = request.groups});
  auto target = std::make_unique<CpuBenchTarget>(options, clock);
  setup.facts = FactsOf(*target, options, request.date);
  setup.target = std::move(target);
  setup.host_memory = ReadHostMemory;
  return setup;
}

ValidateHost ValidateOnCpu(int /*device*/, std::uint64_t seed, const Clock& clock) {
  if (!HasCpuKernels()) throw UserError("validate: this program was built without oneDNN, which the CPU device needs");
  ValidateHost host;
  host.load = ReadLoad;
  // Beside the threads that compute there is one that issues, and copies take little of a core.
  host.room = [](const Machine& profile) { return std::max(OnlineCores(), ComputeThreads(profile) + 1); };
  const HostFacts facts = ReadHostFacts();
  host.identity = fmt::format("{}, {} cores, {}", facts.processor, facts.cores, CpuLibrary());
  host.check = [](const Machine& profile) { NeedCores(ComputeThreads(profile), profile.name); };
  host.algorithms = [](const Machine& profile) { return AskKernels(ComputeThreads(profile)); };
  host.bench = [&clock](const Machine& profile) {
    const CpuBenchOptions options{
        .threads = ComputeThreads(profile), .protocol = profile.devices[0].measured_with.operands, .version = ""};
    return PaceBench{std::make_unique<CpuBenchTarget>(options, clock), BenchNetworksOf(UsualNetworks())};
  };
  host.bench_aside = true;
  host.make = [seed, &clock](const Machine& profile, const DeviceTerms& terms) {
    const CpuDeviceOptions options{.link_rate = terms.link_rate, .threads = ComputeThreads(profile), .seed = seed};
    auto device = std::make_unique<CpuDevice>(options, clock);
    const CpuDevice* const cpu = device.get();
    return OpenDevice{.device = std::move(device),
                      .clock = &clock,
                      .losses = [cpu] { return cpu->losses(); },
                      .host_bytes = [cpu] { return cpu->host_bytes(); },
                      .placement = [cpu] { return cpu->pinning(); }};
  };
  return host;
}

}  // namespace spillway
