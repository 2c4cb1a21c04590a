#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "calibrate/fit/fit_internal.h"
#include "hw/text/document.h"

namespace spillway {
namespace {

constexpr int kFewLayers = 5;
constexpr double kDisagreement = 1.3;  // of repeated measurements of one thing

std::set<std::string> DevicesWithKernels(std::span<const Sample> samples) {
  std::set<std::string> devices;
  for (const Sample& sample : samples) {
    if (sample.what == SampleKind::kKernel && sample.microseconds > 0) devices.insert(sample.device);
  }
  return devices;
}

// What was measured: two samples with one of these should have one time.
std::string SameKey(const FitRow& row, const Sample& sample) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", LayerKey(sample), sample.launch.shape.in.n,
                     sample.launch.shape.operands, sample.algorithm, sample.best, row.harness, row.origin,
                     sample.device, static_cast<int>(sample.launch.type), static_cast<int>(sample.launch.layout),
                     sample.launch.workspace);
}

struct Repeated {
  int shortest = 0, longest = 0;  // samples
};

void WarnOfDisagreement(const FitGroup& group, std::span<const Sample> samples, std::vector<std::string>* warnings) {
  const auto time = [&](int i) { return samples[static_cast<std::size_t>(i)].microseconds; };
  std::map<std::string, Repeated> seen;
  for (const FitRow& row : group.rows) {
    const std::string key = SameKey(row, samples[static_cast<std::size_t>(row.sample)]);
    Repeated& r = seen.emplace(key, Repeated{row.sample, row.sample}).first->second;
    if (time(row.sample) < time(r.shortest)) r.shortest = row.sample;
    if (time(row.sample) > time(r.longest)) r.longest = row.sample;
  }
  int count = 0;
  Repeated worst;
  for (const auto& [key, r] : seen) {
    const double ratio = time(r.longest) / time(r.shortest);
    if (ratio <= kDisagreement) continue;
    if (count++ == 0 || ratio > time(worst.longest) / time(worst.shortest)) worst = r;
  }
  if (count == 0) return;
  warnings->push_back(fmt::format(
      "{}: {} operations were measured more than once with times that differ by more than {:.0f} %, most of all in "
      "lines {} and {} ({:.4g} and {:.4g} us); the stated errors hold this",
      group.Name(), count, 100 * (kDisagreement - 1), samples[static_cast<std::size_t>(worst.shortest)].line,
      samples[static_cast<std::size_t>(worst.longest)].line, time(worst.shortest), time(worst.longest)));
}

}  // namespace

void CheckDevices(std::span<const Sample> samples, const FitOptions& options) {
  const std::set<std::string> devices = DevicesWithKernels(samples);
  if (devices.empty()) throw UserError("nothing to fit: no sample is the time of a kernel");
  if (options.devices.empty()) {
    throw UserError(fmt::format("state the device to fit: the samples are of {}", fmt::join(devices, ", ")));
  }
  std::vector<std::string> messages;
  for (const FitDevice& device : options.devices) {
    if (devices.count(device.name) != 0) continue;
    messages.push_back(fmt::format("no kernel of device '{}' among the samples; they are of {}", device.name,
                                   fmt::join(devices, ", ")));
  }
  if (!messages.empty()) throw UserError(messages);
}

void WarnOfWeakData(const FitGroup& group, std::span<const Sample> samples, std::vector<std::string>* warnings) {
  if (group.layers < kFewLayers) {
    warnings->push_back(
        fmt::format("{}: {} sample{} of {} layer{}: too little to tell the parameters apart, they stay near their "
                    "priors and the errors are wide",
                    group.Name(), group.rows.size(), group.rows.size() == 1 ? "" : "s", group.layers,
                    group.layers == 1 ? " only" : "s"));
  }
  WarnOfDisagreement(group, samples, warnings);
}

}  // namespace spillway
