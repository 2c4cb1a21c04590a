#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrate/fit/estimate.h"
#include "hw/text/lists.h"

namespace spillway {
namespace {

// Data sheets round, and so do profiles.
constexpr double kSameFigure = 0.02;

bool Alike(double a, double b) { return std::abs(a - b) <= kSameFigure * std::max(a, b); }

bool IsOf(const Device& device, const ChipFigures& chip) {
  return device.multiprocessors == chip.multiprocessors && Alike(device.peak_flops, chip.peak_flops) &&
         Alike(device.memory_bandwidth, chip.memory_bandwidth);
}

std::vector<std::string> Harnesses(const Device& device) {
  std::vector<std::string> names;
  for (const CallFloor& floor : device.call_floors) {
    AddOnce(names, floor.harness);
  }
  return names;
}

std::string DoubtAboutHarness(const std::string& harness, const Machine& machine) {
  const std::vector<std::string> known = Harnesses(machine.devices[0]);
  if (harness.empty() || Contains(known, harness)) return "";
  return fmt::format("the profile {} knows no harness '{}': times are the kernels' own{}", machine.name, harness,
                     DidYouMean(harness, known));
}

std::string DoubtAboutDevice(const std::string& name, const Machine& machine, std::span<const ChipFigures> chips) {
  const Device& device = machine.devices[0];
  if (name.empty() || name == device.name) return "";
  const ChipFigures* const chip = FindChip(chips, name);
  if (chip != nullptr && IsOf(device, *chip)) return "";
  return fmt::format("the answers are for the device of {}, which {} '{}'", machine.name,
                     chip != nullptr ? "is not a" : "is not known to be a", name);
}

}  // namespace

std::vector<std::string> DoubtsAbout(std::span<const Sample> operations, const std::string& file,
                                     const Machine& machine, std::span<const ChipFigures> chips) {
  std::vector<std::string> warnings;
  const auto say = [&](int line, const std::string& doubt) {
    if (!doubt.empty()) warnings.push_back(fmt::format("{}:{}: warning: {}", file, line, doubt));
  };
  std::set<std::string> harnesses, devices;  // seen
  for (const Sample& row : operations) {
    const bool kernel = row.what == SampleKind::kKernel;
    if (kernel && harnesses.insert(row.harness).second) say(row.line, DoubtAboutHarness(row.harness, machine));
    if (devices.insert(row.device).second) say(row.line, DoubtAboutDevice(row.device, machine, chips));
  }
  return warnings;
}

}  // namespace spillway
