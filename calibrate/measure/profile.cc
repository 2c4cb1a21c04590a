#include "calibrate/measure/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "calibrate/fit/profile.h"
#include "calibrate/fit/transfer.h"
#include "calibrate/measure/journal.h"
#include "calibrate/ops/operands.h"
#include "hw/text/document.h"
#include "model/cost/model_cost.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"
#include "model/step/op_kind.h"

namespace spillway {
namespace {

// Assumed until it is measured: a core of today and its memory.
constexpr double kAssumedPeak = 50, kAssumedBandwidth = 8, kAssumedLink = 5;
constexpr Nanos kAssumedCall = kMicrosecond;
// Drift of less cannot be told from a few rounds; so much is assumed where there is only one.
constexpr double kLeastDrift = 0.01, kAssumedDrift = 0.03;
// What a profile may say at most (model/profile/profile_text.h).
constexpr double kMostSlowdown = 10, kMostError = 10;

Source Measured(const BenchFacts& facts, const std::string& what) {
  return {Source::Kind::kMeasured, fmt::format("{}: {}", facts.measured, what)};
}
Source NotYet() { return {Source::Kind::kAssumed, "not measured before the calibration ended"}; }

void SetFigures(std::span<const BenchTime> times, const BenchFacts& facts, Device* device) {
  const MeasuredChip chip = ChipOfSamples(times, facts.cache);
  const double peak = facts.peak_flops > 0 ? facts.peak_flops : kAssumedPeak;
  const double bandwidth = facts.memory_bandwidth > 0 ? facts.memory_bandwidth : kAssumedBandwidth;
  device->peak_flops = Digits(5, chip.peak_flops > 0 ? chip.peak_flops : peak);
  device->memory_bandwidth = Digits(5, chip.memory_bandwidth > 0 ? chip.memory_bandwidth : bandwidth);
  device->math_peaks = facts.math_peaks;
  device->math_source = facts.math_source;
  device->multiprocessors = facts.multiprocessors;
  device->l2_cache = facts.cache;
  const bool both = chip.peak_flops > 0 && chip.memory_bandwidth > 0;
  device->source = both ? Measured(facts,
                                   "the best convolution or matrix product without a fast algorithm, and the "
                                   "best operation that memory bounds; the cache is the last one before memory")
                        : NotYet();
}

HostNode HostOf(const BenchFacts& facts) {
  HostNode host{.name = "host0", .memory = facts.memory, .pinned_limit = facts.memory, .source = {}};
  host.source = {Source::Kind::kMeasured,
                 facts.device_memory == 0 ? "memory of the machine as the system states it; device and host share it"
                                          : "memory of the machine as the system states it; all of it may be pinned"};
  if (facts.pinned_limit == 0) return host;
  host.pinned_limit = facts.pinned_limit;
  host.source.text = "memory of the machine as the system states it; what may be pinned as the user does";
  if (facts.pinned_limit <= facts.memory) return host;
  host.memory = facts.pinned_limit;
  host.source = {Source::Kind::kAssumed,
                 fmt::format("what may be pinned, as the user states it; of memory the system stated {}",
                             FormatBytes(facts.memory))};
  return host;
}

void SetMemory(const BenchFacts& facts, Machine* machine) {
  machine->hosts.push_back(HostOf(facts));
  const Source source{Source::Kind::kMeasured,
                      "memory of the machine as the system states it; device and host share it"};
  Device& device = machine->devices[0];
  device.total_memory = facts.device_memory > 0 ? facts.device_memory : facts.memory;
  device.reserve = facts.reserve;
  device.memory_source = source;
  if (facts.device_memory == 0) return;
  device.memory_source.text = "as the device states it; what was taken of it once the libraries were loaded";
}

// The line of a link at the rate that was asked for.
TransferCurve AssumedCurve(const BenchFacts& facts) {
  const double rate = facts.link_rate > 0 ? facts.link_rate : kAssumedLink;
  TransferCurve curve;
  for (const Bytes bytes : {4 * kKiB, 64 * kMiB}) {
    curve.points.push_back({bytes, kAssumedCall + std::llround(static_cast<double>(bytes) / rate)});
  }
  curve.error = 0.3;
  curve.source = NotYet();
  return curve;
}

const FittedCurve* CurveOf(const TransferFit& fit, Direction direction) {
  for (const FittedLink& link : fit.links) {
    const auto found = link.kinds.find("pinned");
    if (found == link.kinds.end()) continue;
    const std::optional<FittedCurve>& curve = found->second[static_cast<std::size_t>(direction)];
    if (curve) return &*curve;
  }
  return nullptr;
}

// Kinds of memory of which both directions were measured.
void SetOtherMemory(const FittedLink& fitted, const BenchFacts& facts, Link* link) {
  for (std::size_t kind = 0; kind < OtherMemoryNames().size(); ++kind) {
    const auto found = fitted.kinds.find(OtherMemoryNames()[kind]);
    if (found == fitted.kinds.end() || !found->second[0] || !found->second[1]) continue;
    OtherMemory memory{.kind = static_cast<OtherMemory::Kind>(kind), .curves = {}, .note = ""};
    for (std::size_t way = 0; way < memory.curves.size(); ++way) {
      const FittedCurve& curve = *found->second[way];
      memory.curves[way] = curve.curve;
      memory.curves[way].error = Digits(5, curve.curve.error);
      memory.curves[way].source = Measured(facts, fmt::format("{} copies of {} sizes", curve.samples, curve.sizes));
    }
    link->other_memory.push_back(std::move(memory));
  }
}

void SetLink(const TransferFit& fit, const BenchFacts& facts, Machine* machine) {
  Link link;
  link.name = facts.device + "-host0";
  for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    const FittedCurve* const fitted = CurveOf(fit, direction);
    TransferCurve& curve = link.curves[static_cast<std::size_t>(direction)];
    curve = fitted == nullptr ? AssumedCurve(facts) : fitted->curve;
    if (fitted == nullptr) continue;
    curve.error = Digits(5, curve.error);
    curve.source = Measured(facts, fmt::format("{} copies of {} sizes", fitted->samples, fitted->sizes));
  }
  for (const FittedLink& fitted : fit.links) SetOtherMemory(fitted, facts, &link);
  const bool measured = !fit.links.empty() && fit.links.front().DuplexMeasured();
  for (std::size_t way = 0; measured && way < link.duplex_factor.size(); ++way) {
    link.duplex_factor[way] = Digits(5, fit.links.front().duplex[way].value);
  }
  link.duplex_source = measured ? Measured(facts, "copies beside one in the other direction") : NotYet();
  link.host_error = UsualHostError(link);
  machine->links.push_back(std::move(link));
}

bool SetCall(std::span<const BenchTime> times, const std::string& name, Nanos* cost) {
  for (const BenchTime& time : times) {
    if (time.sample.what != SampleKind::kOther || time.sample.algorithm != name) continue;
    *cost = std::llround(1000 * time.sample.microseconds);
    return true;
  }
  return false;
}

void SetHostCosts(std::span<const BenchTime> times, const BenchFacts& facts, HostCosts* costs) {
  const std::pair<const char*, Nanos*> calls[] = {{"kernel_launch", &costs->kernel_launch},
                                                  {"copy_submit", &costs->copy_submit},
                                                  {"event_record", &costs->event_record},
                                                  {"stream_wait", &costs->stream_wait},
                                                  {"sync", &costs->sync}};
  std::size_t found = 0;
  for (const auto& [name, cost] : calls) {
    *cost = kAssumedCall;
    found += SetCall(times, name, cost) ? 1 : 0;
  }
  // Where a device has a pool; an arena needs none.
  SetCall(times, "pool_alloc", &costs->pool_alloc);
  SetCall(times, "pool_free", &costs->pool_free);
  costs->source = found == std::size(calls)
                      ? Measured(facts,
                                 "medians of the calls of a program that computes nothing; allocation in an arena "
                                 "is free")
                      : NotYet();
}

void SetLaunches(std::span<const BenchTime> times, const BenchFacts& facts, HostCosts* costs) {
  BenchLaunches found = LaunchesOf(times);
  if (found.costs.empty()) return;
  costs->launches = std::move(found.costs);
  costs->launches_source = Measured(
      facts, fmt::format("medians over {} launches of the library's call, while others queue", found.launches));
}

double SlowdownOf(const TransferFit& fit, OpKind op, Pass pass) {
  for (const FittedSlowdown& slowdown : fit.slowdowns) {
    if (op != slowdown.kind || pass != slowdown.pass) continue;
    return Digits(5, std::clamp(slowdown.factor.value, 1.0, kMostSlowdown));
  }
  return 1.0;
}

// All kernels of a journal have one (SetupRefusals).
BenchProtocol ProtocolOf(std::span<const BenchTime> times) {
  for (const BenchTime& time : times) {
    if (time.sample.what != SampleKind::kKernel) continue;
    for (const BenchProtocol protocol : {BenchProtocol::kCold, BenchProtocol::kWarm}) {
      if (time.sample.kind == BenchProtocolName(protocol)) return protocol;
    }
  }
  return BenchProtocol::kStep;
}

void SetMeasured(std::span<const BenchTime> times, const TransferFit& fit, const BenchFacts& facts, Device* device) {
  for (const BenchTime& time : times) {
    const Sample& sample = time.sample;
    if (sample.what != SampleKind::kKernel || sample.contention != "none") continue;
    MeasuredOp op = MeasuredOpOf(sample.launch);
    op.time = std::llround(1000 * sample.microseconds);
    op.error = Digits(5, std::min(time.error, kMostError));
    op.workspace = HasAlgorithms(sample.launch.kind) ? std::max<Bytes>(sample.workspace, 0) : 0;
    op.copy_slowdown = SlowdownOf(fit, op.op, op.pass);
    device->measured.push_back(std::move(op));
  }
  if (device->measured.empty()) return;
  const BenchProtocol protocol = ProtocolOf(times);
  device->measured_with = {protocol, facts.driver, facts.cuda, facts.cudnn};
  device->measured_source =
      Measured(facts, fmt::format("medians of each launch alone, operands {}", protocol == BenchProtocol::kStep
                                                                                   ? "as a training step leaves them"
                                                                                   : BenchProtocolName(protocol)));
}

// Models are fitted to fp32. Rows of fp16 in a journal of an earlier version answer for their own launches alone.
bool IsFitted(const BenchTime& time) {
  return time.sample.what == SampleKind::kKernel && !time.cut_short && time.sample.launch.type == DataType::kFp32;
}

// Fitted as the samples of one device with the figures that were just measured.
void SetModels(std::span<const BenchTime> times, const TransferFit& fit, const BenchFacts& facts, int folds,
               Machine* machine) {
  std::vector<Sample> samples;
  for (const BenchTime& time : times) {
    if (IsFitted(time)) samples.push_back(time.sample);
  }
  if (samples.empty()) return;
  // A patch of the driver makes no software stack of its own.
  for (Sample& sample : samples) sample.driver = samples.back().driver;
  Device& device = machine->devices[0];
  FitOptions options;
  options.folds = folds;
  options.forms = KernelForms(facts.platform);
  options.devices = {{samples.front().device, ChipOf(device)}};  // as predictions will see it
  *machine = ProfileFrom(std::move(*machine), Fit(samples, options));
  for (KernelModel& model : machine->devices[0].models) {
    model.copy_slowdown = SlowdownOf(fit, model.op, model.pass);
    model.source = Measured(facts, fmt::format("fitted to the launches of this calibration"));
  }
}

void SetStackError(std::span<const Sample> rows, const BenchFacts& facts, Machine* machine) {
  const double drift = SharedDrift(rows);
  double error = drift > 0 ? std::max(drift, kLeastDrift) : kAssumedDrift;
  if (WasBusy(rows, facts)) {
    error = std::max(error, Device{}.stack_error);  // no better known than another machine's
    machine->notes.push_back(
        fmt::format("measured on a busy machine (load {:.1f}): a quiet one is faster, by a fifth or "
                    "a third; calibrate again when it is",
                    MedianLoad(rows)));
  }
  machine->devices[0].stack_error = Digits(5, error);
}

}  // namespace

Machine MachineOfBench(std::span<const Sample> rows, const BenchFacts& facts, int folds) {
  const std::vector<BenchTime> times = MergeRounds(rows);
  std::vector<Sample> merged;
  for (const BenchTime& time : times) merged.push_back(time.sample);
  const TransferFit fit = FitTransfers(merged);
  Machine machine;
  machine.name = facts.name;
  machine.description = facts.description;
  machine.software = facts.software;
  machine.notes = facts.notes;
  for (std::string& note : SetupNotes(rows)) machine.notes.push_back(std::move(note));
  machine.devices.resize(1);
  Device& device = machine.devices[0];
  device.name = facts.device;
  SetMemory(facts, &machine);
  SetFigures(times, facts, &device);
  SetHostCosts(times, facts, &device.host_costs);
  SetLaunches(times, facts, &device.host_costs);
  SetLink(fit, facts, &machine);
  SetMeasured(times, fit, facts, &device);
  SetModels(times, fit, facts, folds, &machine);
  SetStackError(rows, facts, &machine);
  return machine;
}

}  // namespace spillway
