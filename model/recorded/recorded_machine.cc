#include "model/recorded/recorded_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hw/machine/chips.h"
#include "hw/machine/hardware_text.h"

namespace spillway {

namespace {

constexpr double kLeastRate = 1e-3;         // bytes per nanosecond: 1 MB/s, at which no copy pays
constexpr Nanos kCopyLatency = 10'000;      // of a pinned copy, assumed
constexpr Bytes kUnknownHost = 1000 * kGB;  // where a recording does not say how much memory its host has

TransferCurve CurveOf(double rate, const Source& source) {
  const auto transfer = static_cast<Nanos>(std::llround(static_cast<double>(kGB) / rate));
  return {.points = {{1, kCopyLatency}, {1 + kGB, kCopyLatency + transfer}}, .source = source};
}

double Duplex(double both, double alone) {
  return both > 0 && alone > 0 ? std::clamp(both / alone, kLeastDuplexFactor, 1.0) : 1.0;
}

Link LinkOfRecording(const RecordedAbout& about, double link) {
  const bool measured = about.copy_in > 0;
  Source source{Source::Kind::kMeasured, "in the recording"};
  if (!measured) source = {Source::Kind::kAssumed, "no link was measured"};
  if (link > 0) source = {Source::Kind::kAssumed, fmt::format("--link {:g} GB/s", link)};
  const double in = link > 0 ? link : std::max(kLeastRate, about.copy_in);
  const double out = link > 0 ? link : std::max(kLeastRate, about.copy_out);
  Link made;
  made.name = "link";
  made.curves = {CurveOf(in, source), CurveOf(out, source)};
  if (link == 0) made.duplex_factor = {Duplex(about.both_in, about.copy_in), Duplex(about.both_out, about.copy_out)};
  made.duplex_source = source;
  return made;
}

Device DeviceOfRecording(const RecordedStep& recorded) {
  const RecordedAbout& about = recorded.about;
  const std::vector<ChipFigures> chips = LoadChips();
  const ChipFigures* chip = FindChip(chips, about.device);
  const RecordedRates rates =
      chip == nullptr ? RatesOf(recorded) : RecordedRates{chip->peak_flops, chip->memory_bandwidth};
  Device device;
  device.name = RecordedDeviceName(recorded);
  device.total_memory = about.memory;
  device.peak_flops = std::max(1.0, rates.flops);
  device.memory_bandwidth = std::max(1.0, rates.bytes);
  device.multiprocessors = chip == nullptr ? 1 : chip->multiprocessors;
  device.host_costs.kernel_launch = std::llround(about.call_time);
  device.host_costs.source = {about.call_time > 0 ? Source::Kind::kMeasured : Source::Kind::kAssumed,
                              "in the recording"};
  device.source = chip == nullptr ? Source{Source::Kind::kAssumed, "the recording's best rates"} : chip->source;
  device.memory_source = {Source::Kind::kMeasured, "in the recording"};
  return device;
}

}  // namespace

Machine MachineOfRecording(const RecordedStep& recorded, double link) {
  const RecordedAbout& about = recorded.about;
  Machine machine;
  machine.devices = {DeviceOfRecording(recorded)};
  machine.name = machine.devices.front().name;
  machine.description = "of the recording " + recorded.step.network;
  machine.software = about.torch.empty() ? "not known" : "PyTorch " + about.torch;
  machine.notes = about.notes;
  const bool known = about.host_memory > 0;
  const Bytes host = known ? about.host_memory : kUnknownHost;
  machine.hosts = {{.name = "host",
                    .memory = host,
                    .pinned_limit = host,
                    .source = {known ? Source::Kind::kMeasured : Source::Kind::kAssumed, "in the recording"}}};
  machine.links = {LinkOfRecording(about, link)};
  return machine;
}

}  // namespace spillway
