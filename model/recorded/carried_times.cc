// Times of a recording on a machine that has another device, by data sheets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hw/machine/chips.h"
#include "model/recorded/recorded_step.h"

namespace spillway {

namespace {

// Of a device whose figures are not known. Assumed: a factor of e for one in three.
constexpr double kUnknownError = 1;
constexpr double kSameFigures = 0.03;  // of data sheets, which round
constexpr double kShareAbove = 0.1;    // of the time, of RatesOf

struct Rate {
  double rate = 0, time = 0;
};

double RateAbove(std::vector<Rate> rates) {
  std::sort(rates.begin(), rates.end(), [](const Rate& a, const Rate& b) { return a.rate > b.rate; });
  const double all =
      std::accumulate(rates.begin(), rates.end(), 0.0, [](double sum, const Rate& r) { return sum + r.time; });
  double above = 0;
  for (const Rate& r : rates) {
    above += r.time;
    if (above >= kShareAbove * all) return r.rate;
  }
  return 0;
}

bool SameFigure(double a, double b) { return std::abs(a - b) <= kSameFigures * b; }

bool IsDevice(const Machine& machine, const std::string& name, const ChipFigures* chip) {
  const Device& device = machine.devices.front();
  if (device.name == name || machine.name == name) return true;
  if (chip == nullptr) return machine.description.find(name) != std::string::npos;
  return SameFigure(device.peak_flops, chip->peak_flops) &&
         SameFigure(device.memory_bandwidth, chip->memory_bandwidth) && device.multiprocessors == chip->multiprocessors;
}

double Ratio(double from, double to) { return from > 0 && to > 0 ? from / to : 1; }

}  // namespace

std::string RecordedDeviceName(const RecordedStep& recorded) {
  const RecordedAbout& about = recorded.about;
  if (!about.device.empty()) return about.device;
  return about.device_type.empty() ? "recorded-device" : about.device_type;
}

RecordedRates RatesOf(const RecordedStep& recorded) {
  std::vector<Rate> flops, bytes;
  for (std::size_t op = 0; op < recorded.step.ops.size(); ++op) {
    const auto time = static_cast<double>(recorded.ways[op].front().time);
    if (time <= 0) continue;
    const double work = recorded.calls[op].flops;
    double touched = 0;
    for (const auto* tensors : {&recorded.step.ops[op].reads, &recorded.step.ops[op].writes}) {
      for (const TensorId t : *tensors) touched += static_cast<double>(recorded.step.tensors[Index(t)].bytes);
    }
    (work > 0 ? flops : bytes).push_back({(work > 0 ? work : touched) / time, time});
  }
  return {RateAbove(std::move(flops)), RateAbove(std::move(bytes))};
}

CarriedTimes CarryTimes(const Machine& machine, const RecordedStep& recorded) {
  CarriedTimes carried;
  const RecordedAbout& about = recorded.about;
  const bool assumed = recorded.source.kind == Source::Kind::kAssumed;
  const std::string name = RecordedDeviceName(recorded);
  if (about.device_type.empty() && machine.name != name) {
    if (assumed) return carried;  // for any device
    carried.same = false;
    carried.flops_error = carried.bytes_error = kUnknownError;
    carried.note = fmt::format("{}: the recording does not name its device; on {} its times are assumed as they stand",
                               recorded.step.network, machine.name);
    return carried;
  }
  const std::vector<ChipFigures> chips = LoadChips();
  const ChipFigures* chip = FindChip(chips, name);
  if (IsDevice(machine, name, chip)) {
    carried.same = about.times != "assumed";
    return carried;
  }
  const RecordedRates own =
      chip == nullptr ? RatesOf(recorded) : RecordedRates{chip->peak_flops, chip->memory_bandwidth};
  const Device& device = machine.devices.front();
  carried.same = false;
  carried.other_device = true;
  carried.flops_by = chip == nullptr ? "ratio of the recording's best rates to peak" : "ratio of peaks";
  carried.bytes_by = chip == nullptr ? "ratio of the recording's best rates to bandwidth" : "ratio of bandwidths";
  carried.by_flops = Ratio(own.flops, device.peak_flops);
  carried.by_bytes = Ratio(own.bytes, device.memory_bandwidth);
  carried.flops_error = chip == nullptr ? kUnknownError : kProductsError;
  carried.bytes_error = chip == nullptr ? kUnknownError : kOthersError;
  carried.note = fmt::format(
      "{}: recorded on {} ({}), not on {}; times are assumed: scaled by {:.3g} where an op's flops are known, by "
      "{:.3g} "
      "elsewhere, the ratios of {}",
      recorded.step.network, name, about.precision, machine.name, carried.by_flops, carried.by_bytes,
      chip == nullptr ? "the recording's best rates to peak and bandwidth" : "peaks and of bandwidths");
  return carried;
}

}  // namespace spillway
