#include "calibrate/devices/cuda/backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/devices/cuda/bench_target.h"
#include "calibrate/devices/cuda/device.h"
#include "calibrate/devices/cuda/load.h"
#include "calibrate/devices/cuda/probe.h"
#include "calibrate/host/host_facts.h"

namespace spillway {
namespace {

// Plans that grant other workspaces compute by other algorithms, whose fp32 sums round differently.
constexpr double kNumericsTolerance = 1e-4;

// The pace is measured twice in a validation. Eight launches of a group are enough for an interval; a clock that rests
// is up within a fraction of a second (assumed), and what heat does to it then is in the second answer.
constexpr std::size_t kPaceLaunches = 8;
constexpr Nanos kPaceWarmUp = 200 * kMillisecond;

// What a session takes beside its arena: code of kernels at their first run, labels and statistics, the rounding of blocks
// to 2 MiB (assumed).
constexpr Bytes kMostBeside = 256 * kMiB, kShareBeside = 64;

std::string PlaceOf(const CudaProperties& properties) {
  return fmt::format("on {}, {}", properties.name, SoftwareText(properties));
}

std::string ChangedSoftware(const Machine& profile, const CudaProperties& properties) {
  const Device& device = profile.devices[0];
  const MeasuredWith& with = device.measured_with;
  const bool same =
      with.driver == properties.driver && with.cuda == properties.runtime && with.cudnn == properties.cudnn;
  if (device.measured.empty() || same) return "";
  return fmt::format(
      "{}: measured with other software than there is now ({}; now {}): times may differ, and a launch that ended then "
      "may hang; to be safe, calibrate again",
      profile.name, device.measured_source.text, SoftwareText(properties));
}

// What the device fails at before anything runs on it is told as the user's error.
template <typename Function>
auto Told(const Function& function) {
  try {
    return function();
  } catch (const DeviceError& error) {
    throw UserError(error.what());
  }
}

// A profile of another GPU says nothing about this one. (Its memory may be stated a little less, error correction apart.)
void CheckGpu(const Machine& profile, const CudaProperties& properties) {
  constexpr double kAlike = 0.05;
  const Device& there = profile.devices[0];
  const double apart = static_cast<double>(there.total_memory - properties.total_memory);
  const bool same_memory = std::abs(apart) <= kAlike * static_cast<double>(properties.total_memory);
  if (there.multiprocessors == properties.multiprocessors && same_memory) return;
  throw UserError(fmt::format("{}: a profile of another GPU ({} multiprocessors, {}) than this one, {} ({}, {})",
                              profile.name, there.multiprocessors, FormatBytes(there.total_memory), properties.name,
                              properties.multiprocessors, FormatBytes(properties.total_memory)));
}

// By the library's own order of preference, those without a place in it last. Algorithms that do not always come to the
// same numbers are left out where there are others: what plans compute is compared bit for bit.
std::vector<OfferedAlgorithm> OfferedBy(CudaCalls& calls, const Launch& launch) {
  std::vector<CudaAlgorithm> algorithms;
  try {
    algorithms = calls.Algorithms(CallOf(launch));
  } catch (const DeviceError& error) {
    throw UserError(
        fmt::format("asking the device for its algorithms: {} ({})", error.what(), FaultName(error.fault())));
  }
  const auto varies = [](const CudaAlgorithm& a) { return !a.deterministic; };
  if (!std::all_of(algorithms.begin(), algorithms.end(), varies)) std::erase_if(algorithms, varies);
  std::stable_sort(algorithms.begin(), algorithms.end(), [](const CudaAlgorithm& a, const CudaAlgorithm& b) {
    return static_cast<unsigned>(a.rank) < static_cast<unsigned>(b.rank);  // -1 is the largest
  });
  std::vector<OfferedAlgorithm> offered;
  for (const CudaAlgorithm& algorithm : algorithms) offered.push_back({algorithm.algorithm, algorithm.workspace});
  return offered;
}

// A GPU's link and threads are what they are.
void RefuseWhatItHasNot(const CalibrateRequest& request) {
  if (request.link_rate > 0) {
    throw UserError(
        "--link-rate: a GPU's link is measured as it is; `emulate: {link_rate: ...}` of a scenario slows it down");
  }
  if (request.threads != 1) throw UserError("--threads: for the CPU device only");
}

}  // namespace

const DeviceTraits& CudaBackend::traits() const {
  static const DeviceTraits kTraits{.devices = "cuda",
                                    .example = "h100-sxm",  // what the shipped scenarios are predicted for
                                    .usual_profile = "gpu.yaml",
                                    .paces_as_profile = false,
                                    .slows_compute = true,
                                    .numerics_tolerance = kNumericsTolerance,
                                    .pace_launches = kPaceLaunches};
  return kTraits;
}

CudaCalls& CudaBackend::Calls() {
  if (calls_ == nullptr) calls_ = MakeCudaCalls(bench_.device);
  return *calls_;
}

const CudaProperties& CudaBackend::Properties() {
  CudaCalls& calls = Calls();
  if (!properties_) properties_ = Told([&] { return calls.Properties(); });
  return *properties_;
}

void CudaBackend::Need() { Properties(); }
std::string CudaBackend::Identity() { return PlaceOf(Properties()); }
void CudaBackend::CheckProfile(const Machine& profile) { CheckGpu(profile, Properties()); }
std::string CudaBackend::ChangedSince(const Machine& profile) { return ChangedSoftware(profile, Properties()); }

std::optional<int> CudaBackend::Probe(const std::function<void(const std::string&)>& tell) {
  return ProbeCuda(Calls(), clock(), {}, tell);
}

std::vector<std::string> CudaBackend::UsualNetworks() const { return CudaUsualNetworks(); }

CalibrateSetup CudaBackend::Calibrate(const CalibrateRequest& request) {
  RefuseWhatItHasNot(request);
  CudaCalls& calls = Calls();
  CalibrateSetup setup;
  BenchPlanOptions plan = CudaPlanOptions(request.quick);
  plan.groups = request.groups;
  if (!request.no_grid) {
    CudaPeerPlan peers = Told([&] { return CudaPeerItems(calls, request.quick); });
    plan.beyond = std::move(peers.items);
    setup.not_measured = std::move(peers.not_measured);
  }
  setup.plan = MakeBenchPlan(request.networks, request.no_grid ? BenchNetworks{} : CudaBenchGrid(), plan);
  CudaBenchOptions options = bench_;
  options.protocol = request.protocol;
  auto target = Told([&] { return std::make_unique<CudaBenchTarget>(options, calls_, clock()); });
  setup.facts = target->Facts(request.date);
  setup.target = std::move(target);
  return setup;
}

std::unique_ptr<BenchTarget> CudaBackend::Bench(const Machine& profile) {
  Calls();
  CudaBenchOptions options = bench_;
  options.protocol = profile.devices[0].measured_with.operands;
  options.warm_up = std::min(options.warm_up, kPaceWarmUp);
  return Told([&] { return std::make_unique<CudaBenchTarget>(options, calls_, clock()); });
}

AskDevice CudaBackend::Offers(const Machine& /*profile*/) {
  Calls();
  return [calls = calls_](const Launch& launch) { return OfferedBy(*calls, launch); };
}

std::unique_ptr<ExecutionDevice> CudaBackend::Open(const Machine& /*profile*/, const DeviceTerms& terms) {
  CudaDeviceOptions options;
  options.seed = terms.seed;
  options.emulate = {.compute_slowdown = terms.compute_slowdown, .link_rate = terms.link_rate};
  options.placement = Identity();
  return Told([&] { return std::make_unique<CudaDevice>(options, *calls_, clock()); });
}

Bytes CudaBackend::DeviceBytes() {
  const CudaMemory memory = Calls().Memory();
  return memory.total - memory.free;
}

// Libraries are loaded as when a profile's reserve is measured.
Bytes CudaBackend::FreeBytes() {
  CudaCalls& calls = Calls();
  return Told([&] {
    LoadLibraries(calls);
    const CudaMemory memory = calls.Memory();
    return std::max<Bytes>(0, memory.free - std::min(kMostBeside, memory.total / kShareBeside));
  });
}

// One thread issues, and another one is beside it.
double CudaBackend::Room(const Machine& /*profile*/) { return std::max(OnlineCores(), 2); }

}  // namespace spillway
