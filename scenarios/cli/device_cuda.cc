// The CUDA device for the verbs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/devices/cuda/bench_plan.h"
#include "calibrate/devices/cuda/bench_target.h"
#include "calibrate/devices/cuda/device.h"
#include "calibrate/devices/cuda/load.h"
#include "calibrate/devices/cuda/probe.h"
#include "calibrate/host/host_facts.h"
#include "scenarios/cli/devices.h"

namespace spillway {
namespace {

constexpr const char* kExample = "h100-sxm";  // what the shipped scenarios are predicted for
constexpr const char* kUsualProfile = "gpu.yaml";
// Plans that grant other workspaces compute by other algorithms, whose fp32 sums round differently.
constexpr double kNumericsTolerance = 1e-4;

// The pace is measured twice in a validation. Eight launches of a group are enough for an interval; a clock that rests
// is up within a fraction of a second (assumed), and what heat does to it then is in the second answer.
constexpr std::size_t kPaceLaunches = 8;
constexpr Nanos kPaceWarmUp = 200 * kMillisecond;

std::string PlaceOf(const CudaProperties& properties) {
  return fmt::format("on {}, {}", properties.name, SoftwareText(properties));
}

std::string ChangedSince(const Machine& profile, const CudaProperties& properties) {
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
void CheckProfile(const Machine& profile, const CudaProperties& properties) {
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

CalibrateSetup CalibrateCudaBy(std::shared_ptr<CudaCalls> calls, const CudaBenchOptions& options,
                               const CalibrateRequest& request, const Clock& clock) {
  CalibrateSetup setup;
  BenchPlanOptions plan = CudaPlanOptions(request.quick);
  plan.groups = request.groups;
  if (!request.no_grid) {
    CudaBeyond beyond = Told([&] { return MakeCudaBeyond(*calls, request.quick); });
    plan.beyond = std::move(beyond.items);
    setup.not_measured = std::move(beyond.not_measured);
  }
  setup.plan = MakeBenchPlan(BenchNetworksOf(request.networks.empty() ? CudaUsualNetworks() : request.networks),
                             request.no_grid ? BenchNetworks{} : CudaBenchGrid(), plan);
  auto target = Told([&] { return std::make_unique<CudaBenchTarget>(options, std::move(calls), clock); });
  setup.facts = target->Facts(request.date);
  setup.target = std::move(target);
  setup.host_memory = ReadHostMemory;
  return setup;
}

CalibrateSetup CalibrateCuda(const CalibrateRequest& request, const Clock& clock) {
  RefuseWhatItHasNot(request);
  CudaBenchOptions options;
  options.device = request.device;
  options.protocol = request.protocol;
  options.version = Version();
  return CalibrateCudaBy(MakeCudaCalls(request.device), options, request, clock);
}

ValidateHost ValidateOnCudaBy(std::shared_ptr<CudaCalls> calls, const CudaBenchOptions& bench, std::uint64_t seed,
                              const Clock& clock) {
  ValidateHost host;
  host.devices = "cuda";
  host.example = kExample;
  host.usual_profile = kUsualProfile;
  host.paces_as_profile = false;
  host.slows_compute = true;
  host.numerics_tolerance = kNumericsTolerance;
  host.load = ReadLoad;
  host.room = [](const Machine&) { return std::max(OnlineCores(), 2); };  // one issues, one beside it
  host.algorithms = [calls](const Machine&) -> AskDevice {
    return [calls](const Launch& launch) { return OfferedBy(*calls, launch); };
  };
  host.bench = [calls, bench, &clock](const Machine& profile) {
    CudaBenchOptions options = bench;
    options.protocol = profile.devices[0].measured_with.operands;
    options.warm_up = std::min(options.warm_up, kPaceWarmUp);
    return PaceBench{.target = Told([&] { return std::make_unique<CudaBenchTarget>(options, calls, clock); }),
                     .networks = BenchNetworksOf(CudaUsualNetworks()),
                     .options = {.launches = kPaceLaunches},
                     .device_bytes = [calls] {
                       const CudaMemory memory = calls->Memory();
                       return memory.total - memory.free;
                     }};
  };
  const CudaProperties properties = Told([&] { return calls->Properties(); });
  host.identity = PlaceOf(properties);
  host.check = [properties](const Machine& profile) { CheckProfile(profile, properties); };
  host.changed = [properties](const Machine& profile) { return ChangedSince(profile, properties); };
  host.make = [calls, seed, &clock, place = PlaceOf(properties)](const Machine&, const DeviceTerms& terms) {
    CudaDeviceOptions options;
    options.seed = seed;
    options.emulate = {.compute_slowdown = terms.compute_slowdown, .link_rate = terms.link_rate};
    auto device = Told([&] { return std::make_unique<CudaDevice>(options, *calls, clock); });
    CudaDevice* const cuda = device.get();
    return OpenDevice{.device = std::move(device),
                      .clock = &clock,
                      .losses = [cuda] { return cuda->losses(); },
                      .host_bytes = [cuda] { return cuda->host_bytes(); },
                      .placement = [place] { return place; },
                      .device_bytes = [cuda] { return cuda->memory().highest; },
                      .device_reserve = [cuda] { return cuda->memory().beside; },
                      .step_clocks = [cuda] { return cuda->clocks(); }};
  };
  return host;
}

ValidateHost ValidateOnCuda(int device, std::uint64_t seed, const Clock& clock) {
  CudaBenchOptions bench;
  bench.device = device;
  return ValidateOnCudaBy(MakeCudaCalls(device), bench, seed, clock);
}

int ProbeOnCuda(int device, const Clock& clock, const std::function<void(const std::string&)>& tell) {
  const std::shared_ptr<CudaCalls> calls = MakeCudaCalls(device);
  return ProbeCuda(*calls, clock, {}, tell);
}

}  // namespace spillway
