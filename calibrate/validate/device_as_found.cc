#include "calibrate/validate/device_as_found.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <future>
#include <type_traits>
#include <utility>

#include "calibrate/validate/link.h"
#include "calibrate/validate/pace.h"
#include "calibrate/validate/stoppable_device.h"

namespace spillway {

namespace {

void CheckEmulation(const ValidatedMachine& machine, const DeviceTraits& traits) {
  if (machine.compute_slowdown == 1 || traits.slows_compute) return;
  throw UserError(
      fmt::format("{}: error: emulate: compute_slowdown: the device of {} cannot slow its kernels down; "
                  "link_rate alone it can do",
                  machine.emulated_at, machine.label));
}

}  // namespace

DeviceAsFound::DeviceAsFound(ValidatedRun run, DeviceBackend& backend, std::function<bool()> stop)
    : run_(std::move(run)), backend_(backend), stop_(std::move(stop)) {
  for (const ValidatedMachine& machine : run_.machines) {
    CheckEmulation(machine, backend_.traits());
    backend_.CheckProfile(*machine.machine);
  }
}

// Bytes per nanosecond that copies are held to; 0: as fast as they go.
double DeviceAsFound::RateOf(const ValidatedMachine& machine) const {
  if (machine.link_rate > 0) return machine.link_rate;
  return backend_.traits().paces_as_profile ? machine.profile_rate : 0;
}

std::unique_ptr<ExecutionDevice> DeviceAsFound::Open(std::size_t machine, std::uint64_t seed) {
  const ValidatedMachine& m = run_.machines[machine];
  const DeviceTerms terms{.seed = seed, .link_rate = RateOf(m), .compute_slowdown = m.compute_slowdown};
  return std::make_unique<StoppableDevice>(backend_.Open(*m.machine, terms), stop_);
}

std::vector<std::string> DeviceAsFound::Ask() {
  std::vector<std::string> notes;
  if (!backend_.traits().offers_algorithms) return notes;
  for (const ValidatedMachine& machine : run_.machines) {
    const auto [offers, is_new] = offers_.try_emplace(machine.profile);
    if (is_new) {
      const AskDevice ask = backend_.Offers(*machine.machine);
      for (const ValidatedStep& step : run_.steps) offers->second.Ask(step.network->step, ask, step.part_sizes);
    }
    auto costs = std::make_unique<DeviceCosts>(*machine.machine, (*machine.costs)->options(), offers->second);
    if (is_new) notes.push_back(machine.base + ": the device wants " + costs->Difference().Text());
    *machine.costs = std::move(costs);
  }
  return notes;
}

// On the thread that the device wants to be benched on.
template <typename Work>
auto DeviceAsFound::Aside(const Work& work) const {
  return std::async(backend_.traits().bench_aside ? std::launch::async : std::launch::deferred, work).get();
}

template <typename Work>
auto DeviceAsFound::OnBench(std::size_t machine, const Work& work) {
  using Result = std::optional<std::invoke_result_t<Work, BenchTarget&>>;
  if (!lost_.empty()) return Result();
  try {
    return Aside([&] { return Result(work(*backend_.Bench(*run_.machines[machine].machine))); });
  } catch (const std::exception& error) {
    lost_ = error.what();
    return Result();
  }
}

FoundPace DeviceAsFound::PaceBy(std::unique_ptr<BenchTarget> bench, const ValidatedMachine& machine) const {
  const CostModel& costs = **machine.costs;
  PaceOptions options{.launches = backend_.traits().pace_launches};
  options.workspace = costs.options().workspace_limit;
  options.algorithm = [&costs](const Launch& launch) { return costs.Kernel(launch).algorithm; };
  BenchNetworks networks;
  for (const ValidatedStep& step : run_.steps) networks.push_back(step.network);
  const Bytes before = backend_.DeviceBytes();
  FoundPace found;
  found.pace = MeasurePace(*machine.machine, networks, run_.usual, *bench, options, &found.timed);
  bench = nullptr;
  found.left = std::max<Bytes>(0, backend_.DeviceBytes() - before);
  return found;
}

FoundPace DeviceAsFound::PaceOn(const ValidatedMachine& machine) const {
  try {
    return PaceBy(backend_.Bench(*machine.machine), machine);
  } catch (const DeviceError& error) {
    throw UserError(
        fmt::format("measuring how fast the device computes: {} ({})", error.what(), FaultName(error.fault())));
  }
}

DeviceAsFound::Paces DeviceAsFound::MeasurePaces() const {
  Paces paces;
  if (!backend_.traits().can_bench) return paces;
  for (const ValidatedMachine& machine : run_.machines) {
    if (machine.machine->devices[0].measured.empty() || paces.contains(machine.profile)) continue;
    paces.emplace(machine.profile, Aside([&] { return PaceOn(machine); }));
  }
  return paces;
}

void DeviceAsFound::Measure() {
  paces_ = MeasurePaces();
  for (std::size_t k = 0; k < run_.machines.size(); ++k) {
    const ValidatedMachine& machine = run_.machines[k];
    const double rate = RateOf(machine);
    const std::unique_ptr<ExecutionDevice> device = Open(k, 1);
    const LinkCurves curves = MeasureLink(*device, backend_.clock());
    *machine.machine = WithMeasuredLink(std::move(*machine.machine), curves, rate, machine.profile_rate);
    *machine.costs = CostsOf(machine, FactorsOf(PaceOf(k)));
    as_calibrated_.push_back(CostsOf(machine, {}));
    links_.push_back(curves.Summary(rate));
  }
}

std::optional<PaceProbe> DeviceAsFound::Probe(std::size_t machine, Nanos at) {
  const auto found = paces_.find(run_.machines[machine].profile);
  if (found == paces_.end() || !found->second.pace.Known()) return std::nullopt;
  return OnBench(machine,
                 [&](BenchTarget& target) { return ProbePace(TrackedLaunches(found->second.timed), target, at); });
}

double DeviceAsFound::Waiting(std::size_t machine) {
  return OnBench(machine, [](BenchTarget& target) { return target.Waiting(); }).value_or(0);
}

std::vector<std::string> DeviceAsFound::Lost() const {
  if (lost_.empty()) return {};
  return {"tracking of the pace stopped, since launches could not be timed again: " + lost_};
}

void DeviceAsFound::NoteReserve(std::size_t machine, Bytes bytes) {
  if (bytes < 0) return;
  Bytes& most = reserves_[run_.machines[machine].profile];
  most = std::max(most, bytes);
}

std::vector<std::string> DeviceAsFound::Reserves() const {
  std::vector<std::string> notes;
  for (const auto& [profile, measured] : reserves_) {
    const auto of_profile = [&name = profile](const auto& machine) { return machine.profile == name; };
    const auto machine = std::find_if(run_.machines.begin(), run_.machines.end(), of_profile);
    std::string note = fmt::format(
        "{}: the profile's reserve (device memory besides arenas: context, libraries) is {}, in "
        "predicted_device_bytes; "
        "measured: {} with the kernels loaded (in measured_device_bytes)",
        profile, FormatBytes(machine->machine->devices[0].reserve), FormatBytes(measured));
    const auto found = paces_.find(profile);
    const Bytes left = found == paces_.end() ? 0 : found->second.left;
    if (left > 0) note += fmt::format("; timing launches again took {} of this memory", FormatBytes(left));
    notes.push_back(std::move(note));
  }
  return notes;
}

std::vector<std::string> DeviceAsFound::Drift() const {
  if (paces_.empty()) return {};
  Paces now;
  try {
    now = MeasurePaces();
  } catch (const std::exception& error) {
    return {fmt::format("the change of the pace during the measurement is not known: {}", error.what())};
  }
  std::vector<std::string> notes;
  for (const auto& [profile, found] : now) {
    const MeasuredPace &before = paces_.at(profile).pace, &pace = found.pace;
    if (!pace.Known() || !before.Known()) continue;
    notes.push_back(
        fmt::format("{}: during the measurement, times of products changed by {:+.1f} %, of other kernels by {:+.1f} %",
                    profile, 100 * (pace.products.factor / before.products.factor - 1),
                    100 * (pace.others.factor / before.others.factor - 1)));
  }
  return notes;
}

MeasuredPace DeviceAsFound::PaceOf(std::size_t machine) const {
  const auto found = paces_.find(run_.machines[machine].profile);
  return found == paces_.end() ? MeasuredPace{} : found->second.pace;
}

std::unique_ptr<CostModel> DeviceAsFound::CostsAt(std::size_t machine, const KernelPace& pace) const {
  return CostsOf(run_.machines[machine], pace);
}

std::unique_ptr<CostModel> DeviceAsFound::CostsOf(const ValidatedMachine& machine, const KernelPace& pace) const {
  CostOptions options = (*machine.costs)->options();
  options.pace = pace;
  const auto offers = offers_.find(machine.profile);
  if (offers == offers_.end()) return std::make_unique<CostModel>(*machine.machine, options);
  return std::make_unique<DeviceCosts>(*machine.machine, options, offers->second);
}

}  // namespace spillway
