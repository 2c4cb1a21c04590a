#include "scenarios/validate/validate_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <future>
#include <set>
#include <type_traits>
#include <utility>

#include "calibrate/validate/link.h"
#include "calibrate/validate/pace.h"

namespace spillway {

namespace {

void CheckEmulation(const PreparedMachine& machine, const ValidateHost& host) {
  if (machine.emulation.compute_slowdown == 1 || host.slows_compute) return;
  throw UserError(
      fmt::format("{}: error: emulate: compute_slowdown: the device of {} cannot slow its kernels down; "
                  "link_rate alone it can do",
                  machine.emulated_at, machine.label));
}

// Bytes per nanosecond that copies are held to; 0: as fast as they go.
double RateOf(const PreparedMachine& machine, const ValidateHost& host) {
  if (machine.emulation.link_rate > 0) return machine.emulation.link_rate;
  if (machine.link_rate > 0) return machine.link_rate;
  return host.paces_as_profile ? machine.profile_rate : 0;
}

std::vector<std::shared_ptr<const BenchNetwork>> NetworksOf(const PreparedRun& run) {
  std::vector<std::shared_ptr<const BenchNetwork>> networks;
  for (const auto& step : run.steps) {
    networks.push_back(std::make_shared<const BenchNetwork>(BenchNetwork{step->network, step->net, step->step}));
  }
  return networks;
}

FoundPace PaceBy(PaceBench bench, const PreparedRun& run, const PreparedMachine& machine) {
  const CostModel& costs = *machine.costs;
  bench.options.workspace = costs.options().workspace_limit;
  bench.options.algorithm = [&costs](const Launch& launch) { return costs.Kernel(launch).algorithm; };
  const Bytes before = bench.device_bytes();
  FoundPace found;
  found.pace =
      MeasurePace(machine.machine, NetworksOf(run), bench.networks, *bench.target, bench.options, &found.timed);
  bench.target = nullptr;
  found.left = std::max<Bytes>(0, bench.device_bytes() - before);
  return found;
}

FoundPace PaceOn(const ValidateHost& host, const PreparedRun& run, const PreparedMachine& machine) {
  try {
    return PaceBy(host.bench(machine.machine), run, machine);
  } catch (const DeviceError& error) {
    throw UserError(
        fmt::format("measuring how fast the device computes: {} ({})", error.what(), FaultName(error.fault())));
  }
}

// Of ops in parts, how many samples the plans of a step may give one: as plans that are given say, and as strategies are
// likely to. What is not asked for is taken as the profile has it.
std::vector<std::int64_t> PartSizes(const PreparedRun& run, std::size_t step) {
  constexpr std::int64_t kFew = 32;  // a device takes milliseconds to answer
  std::set<std::int64_t> sizes;
  const std::int64_t batch = run.steps[step]->step.batch;
  for (const Point& point : run.points) {
    if (point.step != step) continue;
    if (point.plan != nullptr) {
      for (const OpDecision& decision : point.plan->ops) {
        for (const OpPart& part : decision.parts) sizes.insert(part.samples);
      }
    }
    if (point.strategy == nullptr || point.strategy->scope.parts == PartScope::kNone) continue;
    for (std::int64_t size = 1; size <= batch; size = batch <= kFew ? size + 1 : 2 * size) sizes.insert(size);
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace

DeviceAsFound::DeviceAsFound(PreparedRun& run, const ValidateHost& host) : run_(run), host_(host) {
  for (const auto& machine : run.machines) {
    CheckEmulation(*machine, host);
    host.check(machine->machine);
  }
}

std::vector<std::string> DeviceAsFound::Ask() {
  std::vector<std::string> notes;
  if (!host_.algorithms) return notes;
  for (const auto& machine : run_.machines) {
    const auto [offers, is_new] = offers_.try_emplace(machine->from);
    if (is_new) {
      const AskDevice ask = host_.algorithms(machine->machine);
      for (std::size_t k = 0; k < run_.steps.size(); ++k) {
        offers->second.Ask(run_.steps[k]->step, ask, PartSizes(run_, k));
      }
    }
    auto costs = std::make_unique<DeviceCosts>(machine->machine, machine->costs->options(), offers->second);
    if (is_new) notes.push_back(machine->base + ": the device wants " + costs->Difference().Text());
    machine->costs = std::move(costs);
  }
  return notes;
}

// On the thread that the host wants its benches on.
template <typename Work>
auto DeviceAsFound::Aside(const Work& work) const {
  return std::async(host_.bench_aside ? std::launch::async : std::launch::deferred, work).get();
}

template <typename Work>
auto DeviceAsFound::OnBench(std::size_t machine, const Work& work) {
  using Result = std::optional<std::invoke_result_t<Work, BenchTarget&>>;
  if (!lost_.empty()) return Result();
  try {
    return Aside([&] { return Result(work(*host_.bench(run_.machines[machine]->machine).target)); });
  } catch (const std::exception& error) {
    lost_ = error.what();
    return Result();
  }
}

DeviceAsFound::Paces DeviceAsFound::MeasurePaces() const {
  Paces paces;
  if (!host_.bench) return paces;
  for (const auto& machine : run_.machines) {
    if (machine->machine.devices[0].measured.empty() || paces.contains(machine->from)) continue;
    paces.emplace(machine->from, Aside([&] { return PaceOn(host_, run_, *machine); }));
  }
  return paces;
}

void DeviceAsFound::Measure() {
  paces_ = MeasurePaces();
  for (std::size_t k = 0; k < run_.machines.size(); ++k) {
    PreparedMachine& machine = *run_.machines[k];
    const double rate = RateOf(machine, host_);
    const OpenDevice open = host_.make(machine.machine, TermsOf(machine));
    const LinkCurves curves = MeasureLink(*open.device, *open.clock);
    machine.machine = WithMeasuredLink(std::move(machine.machine), curves, rate, machine.profile_rate);
    machine.costs = CostsOf(machine, FactorsOf(PaceOf(k)));
    as_calibrated_.push_back(CostsOf(machine, {}));
    links_.push_back(curves.Summary(rate));
  }
}

std::optional<PaceProbe> DeviceAsFound::Probe(std::size_t machine, Nanos at) {
  const auto found = paces_.find(run_.machines[machine]->from);
  if (found == paces_.end() || !found->second.pace.Known()) return std::nullopt;
  return OnBench(machine,
                 [&](BenchTarget& target) { return ProbePace(TrackedLaunches(found->second.timed), target, at); });
}

double DeviceAsFound::Waiting(std::size_t machine) {
  return OnBench(machine, [](BenchTarget& target) { return target.Waiting(); }).value_or(0);
}

std::vector<std::string> DeviceAsFound::Lost() const {
  if (lost_.empty()) return {};
  return {"the pace was followed no further, as launches could not be timed again: " + lost_};
}

void DeviceAsFound::NoteReserve(std::size_t machine, Bytes bytes) {
  if (bytes < 0) return;
  Bytes& most = reserves_[run_.machines[machine]->from];
  most = std::max(most, bytes);
}

std::vector<std::string> DeviceAsFound::Reserves() const {
  std::vector<std::string> notes;
  for (const auto& [profile, measured] : reserves_) {
    const auto of_profile = [&name = profile](const auto& machine) { return machine->from == name; };
    const auto machine = std::find_if(run_.machines.begin(), run_.machines.end(), of_profile);
    std::string note = fmt::format(
        "{}: context, libraries and all else beside arenas take {} of the device's memory by the profile (its reserve, "
        "in predicted_device_bytes), {} with the kernels loaded (in measured_device_bytes)",
        profile, FormatBytes((*machine)->machine.devices[0].reserve), FormatBytes(measured));
    const auto found = paces_.find(profile);
    const Bytes left = found == paces_.end() ? 0 : found->second.left;
    if (left > 0) note += fmt::format("; {} of it came when launches were timed again", FormatBytes(left));
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
    return {fmt::format("how far the pace moved while this was measured is not known: {}", error.what())};
  }
  std::vector<std::string> notes;
  for (const auto& [profile, found] : now) {
    const MeasuredPace &before = paces_.at(profile).pace, &pace = found.pace;
    if (!pace.Known() || !before.Known()) continue;
    notes.push_back(fmt::format(
        "{}: while this was measured, times of products changed by {:+.1f} %, of other kernels by {:+.1f} %", profile,
        100 * (pace.products.factor / before.products.factor - 1),
        100 * (pace.others.factor / before.others.factor - 1)));
  }
  return notes;
}

DeviceTerms DeviceAsFound::TermsOf(const PreparedMachine& machine) const {
  return {.link_rate = RateOf(machine, host_), .compute_slowdown = machine.emulation.compute_slowdown};
}

MeasuredPace DeviceAsFound::PaceOf(std::size_t machine) const {
  const auto found = paces_.find(run_.machines[machine]->from);
  return found == paces_.end() ? MeasuredPace{} : found->second.pace;
}

std::unique_ptr<CostModel> DeviceAsFound::CostsAt(std::size_t machine, const KernelPace& pace) const {
  return CostsOf(*run_.machines[machine], pace);
}

std::unique_ptr<CostModel> DeviceAsFound::CostsOf(const PreparedMachine& machine, const KernelPace& pace) const {
  CostOptions options = machine.costs->options();
  options.pace = pace;
  const auto offers = offers_.find(machine.from);
  if (offers == offers_.end()) return std::make_unique<CostModel>(machine.machine, options);
  return std::make_unique<DeviceCosts>(machine.machine, options, offers->second);
}

}  // namespace spillway
