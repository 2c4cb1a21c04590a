#include "calibrate/devices/cpu/backend.h"

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

namespace spillway {
namespace {

namespace fs = std::filesystem;

// What the shipped scenarios validate: small enough for a processor.
constexpr const char* kResNet = "cifar-resnet20:32";
constexpr const char* kVggFile = "cifar-vgg-narrow.yaml";
constexpr const char* kVggBatch = ":16";

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

}  // namespace

const DeviceTraits& CpuBackend::traits() const {
  static const DeviceTraits kTraits{
      .devices = "cpu", .example = "cpu-example", .usual_profile = "mine.yaml", .bench_aside = true};
  return kTraits;
}

void CpuBackend::Need() {
  if (!HasCpuKernels()) throw UserError("validate: this program was built without oneDNN, which the CPU device needs");
}

std::string CpuBackend::Identity() {
  const HostFacts facts = ReadHostFacts();
  return fmt::format("{}, {} cores, {}", facts.processor, facts.cores, CpuLibrary());
}

void CpuBackend::CheckProfile(const Machine& profile) { NeedCores(ComputeThreads(profile), profile.name); }

std::vector<std::string> CpuBackend::UsualNetworks() const {
  const fs::path vgg = fs::path(MachineFolder()).parent_path() / "model" / "networks" / kVggFile;
  std::error_code ignored;
  return {kResNet, fs::exists(vgg, ignored) ? vgg.string() + kVggBatch : std::string("cifar-vgg") + kVggBatch};
}

CalibrateSetup CpuBackend::Calibrate(const CalibrateRequest& request) {
  NeedCores(request.threads, "--threads");
  const CpuBenchOptions options{
      .link_rate = request.link_rate, .threads = request.threads, .protocol = request.protocol, .version = version_};
  CalibrateSetup setup;
  setup.plan = MakeBenchPlan(request.networks, request.no_grid ? BenchNetworks{} : BenchGrid(),
                             {.quick = request.quick, .groups = request.groups});
  auto target = std::make_unique<CpuBenchTarget>(options, clock());
  setup.facts = FactsOf(*target, options, request.date);
  setup.target = std::move(target);
  return setup;
}

std::unique_ptr<BenchTarget> CpuBackend::Bench(const Machine& profile) {
  const CpuBenchOptions options{
      .threads = ComputeThreads(profile), .protocol = profile.devices[0].measured_with.operands, .version = version_};
  return std::make_unique<CpuBenchTarget>(options, clock());
}

AskDevice CpuBackend::Offers(const Machine& profile) {
  const auto kernels = std::make_shared<CpuKernels>(ComputeThreads(profile));
  return [kernels](const Launch& launch) {
    std::vector<OfferedAlgorithm> offered;
    for (const CpuAlgorithm& algorithm : kernels->Algorithms(CallOf(launch))) {
      offered.push_back({algorithm.algorithm, algorithm.workspace});
    }
    return offered;
  };
}

std::unique_ptr<ExecutionDevice> CpuBackend::Open(const Machine& profile, const DeviceTerms& terms) {
  const CpuDeviceOptions options{.link_rate = terms.link_rate, .threads = ComputeThreads(profile), .seed = terms.seed};
  return std::make_unique<CpuDevice>(options, clock());
}

// Beside the threads that compute there is one that issues, and copies take little of a core.
double CpuBackend::Room(const Machine& profile) { return std::max(OnlineCores(), ComputeThreads(profile) + 1); }

}  // namespace spillway
