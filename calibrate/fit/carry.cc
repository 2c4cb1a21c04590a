#include "calibrate/fit/carry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <numeric>

#include "calibrate/fit/profile.h"
#include "hw/machine/shipped.h"
#include "hw/text/document.h"
#include "model/cost/cost_model.h"
#include "model/cost/model_cost.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

constexpr std::int64_t kBatch = 64;
// Where nothing is known to compare with: what the fits assume of a model carried to another chip (fit/model.cc).
constexpr double kUnknownCost = 0.2;

Source CarriedSource(const std::string& from, const Source& there) {
  const std::string had = fmt::format("carried from {}, no samples of its own; there: ", from);
  return {Source::Kind::kAssumed, had + there.text};
}

std::vector<Launch> UsualLaunches() {
  std::vector<Launch> launches;
  for (const char* const name : {"resnet50", "vgg16"}) {
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(name, {.batch = kBatch}));
    for (const Op& op : step.ops) launches.push_back(AsConvolution(LaunchOf(op)));
  }
  return launches;
}

bool SameChip(const Device& a, const Device& b) {
  return a.peak_flops == b.peak_flops && a.memory_bandwidth == b.memory_bandwidth &&
         a.multiprocessors == b.multiprocessors;
}

bool Comparable(const Device& teacher, const Device& other) {
  return !other.models.empty() && other.models_from.empty() && !SameChip(teacher, other) &&
         PlatformOf(teacher) == PlatformOf(other);
}

// ln(own / carried) of the launches that both chips have samples for.
std::vector<double> Misses(const Machine& teacher, const Machine& left_out, const std::vector<Launch>& launches) {
  const Machine guess = Carried(left_out, teacher, {});
  const CostModel own(left_out), there(teacher), carried(guess);
  std::vector<double> misses;
  for (const Launch& launch : launches) {
    const Cost known = own.Kernel(launch);
    const bool sampled = known.source != Source::Kind::kAssumed;
    if (!sampled || there.Kernel(launch).source == Source::Kind::kAssumed) continue;
    const auto time = static_cast<double>(carried.Kernel(launch).time);
    if (known.time > 0 && time > 0) misses.push_back(std::log(static_cast<double>(known.time) / time));
  }
  return misses;
}

}  // namespace

Machine Carried(Machine base, const Machine& teacher, const CarryCost& cost) {
  const Device& from = teacher.devices.at(0);
  Device& device = base.devices.at(0);
  if (PlatformOf(device) != PlatformOf(from)) {
    throw UserError(fmt::format("{} and {}: laws of a processor do not hold on a GPU, nor the other way round",
                                teacher.name, base.name));
  }
  device.models = from.models;
  for (KernelModel& model : device.models) {
    model.shared_error = Digits(5, std::hypot(model.shared_error, cost.shared));
    model.own_error = Digits(5, std::hypot(model.own_error, cost.own));
    model.source = CarriedSource(teacher.name, model.source);
  }
  device.laws = from.laws;
  for (CostLaw& law : device.laws) {
    law.error = Digits(5, std::hypot(law.error, std::hypot(cost.shared, cost.own)));
    law.source = CarriedSource(teacher.name, law.source);
  }
  device.models_from.clear();
  device.call_floors.clear();
  device.stacks.clear();
  device.measured.clear();
  device.stack_error = from.stack_error;
  return base;
}

CarryCost CostOfCarrying(const Machine& teacher, std::span<const Machine> known) {
  const std::vector<Launch> launches = UsualLaunches();
  CarryCost cost;
  double shared = 0, own = 0;
  for (const Machine& left_out : known) {
    if (!Comparable(teacher.devices.at(0), left_out.devices.at(0))) continue;
    const std::vector<double> misses = Misses(teacher, left_out, launches);
    if (misses.empty()) continue;
    const auto count = static_cast<double>(misses.size());
    const double mean = std::accumulate(misses.begin(), misses.end(), 0.0) / count;
    shared += mean * mean;
    for (const double miss : misses) own += (miss - mean) * (miss - mean);
    cost.chips.push_back(left_out.name);
    cost.launches += static_cast<int>(misses.size());
  }
  if (cost.chips.empty()) return {.shared = kUnknownCost, .own = kUnknownCost, .chips = {}, .launches = 0};
  cost.shared = std::sqrt(shared / static_cast<double>(cost.chips.size()));
  cost.own = std::sqrt(own / cost.launches);
  return cost;
}

CarryCost CostOfCarrying(const Machine& teacher) {
  std::vector<Machine> known;
  for (const std::string& name : ListMachines()) known.push_back(LoadMachine(name));
  return CostOfCarrying(teacher, known);
}

std::string CarryText(const CarryCost& cost) {
  const std::string sizes =
      fmt::format("{:.0f} % for all launches of a chip and {:.0f} % for each", 100 * cost.shared, 100 * cost.own);
  if (cost.chips.empty()) return sizes + ", assumed: no other chip is known";
  return fmt::format("{}, by {} launches on {}", sizes, cost.launches, fmt::join(cost.chips, ", "));
}

}  // namespace spillway
