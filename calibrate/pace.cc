#include "calibrate/pace.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "calibrate/statistics.h"
#include "hw/document.h"
#include "model/measured_cost.h"

namespace spillway {

namespace {

constexpr Bytes kAny = std::numeric_limits<Bytes>::max() / 4;  // of workspace
constexpr int kLeast = 6;                                      // launches; the ranks of fewer enclose no median

using Ratios = std::array<std::vector<double>, 2>;  // of products, of others

// Each launch once, those that make most of a step first.
std::vector<BenchItem> LaunchesOf(const std::vector<std::shared_ptr<const BenchNetwork>>& networks) {
  std::vector<BenchItem> plan = MakeBenchPlan(networks, {}, {.copies = {}, .host_calls = {}});
  std::erase_if(plan, [](const BenchItem& item) { return item.group != BenchGroup::kNetworks; });
  return plan;
}

// What the profile has measured of the launch, by its fastest algorithm.
std::optional<Cost> TimeThen(const MeasuredLaunches& profile, Launch launch) {
  launch.workspace = kAny;
  return profile.Choose(launch).cost;
}

// Nanoseconds; nullopt: the device refuses it, or cannot measure it well.
std::optional<double> TimeNow(const BenchItem& item, const Cost& then, BenchTarget& target, const LoopOptions& loop) {
  try {
    const LoopResult now = target.Measure(item, {.algorithm = then.algorithm, .workspace = then.workspace}, loop);
    if (now.median > 0) return now.median;
  } catch (const UserError&) {
    // Other launches say enough.
  }
  return std::nullopt;
}

PaceGroup GroupOf(std::vector<double> ratios) {
  PaceGroup group;
  group.launches = static_cast<int>(ratios.size());
  if (group.launches < kLeast) return group;
  std::sort(ratios.begin(), ratios.end());
  group.factor = Median(ratios);
  const double half = MedianHalfWidth(ratios);
  group.low = group.factor * (1 - half);
  group.high = group.factor * (1 + half);
  return group;
}

void FillFrom(const PaceGroup& other, PaceGroup& group) {
  if (group.launches >= kLeast || other.launches < kLeast) return;
  const int launches = group.launches;
  group = other;
  group.launches = launches;
  group.of_other = true;
}

}  // namespace

MeasuredPace MeasurePace(const Machine& profile, const std::vector<std::shared_ptr<const BenchNetwork>>& networks,
                         BenchTarget& target, const PaceOptions& options) {
  const MeasuredLaunches measured(profile.devices[0], profile.name);
  Ratios ratios;
  for (const BenchItem& item : LaunchesOf(networks)) {
    std::vector<double>& of_kind = ratios[IsProduct(item.launch.kind) ? 0 : 1];
    if (of_kind.size() >= options.launches) continue;
    const std::optional<Cost> then = TimeThen(measured, item.launch);
    if (!then) continue;
    const std::optional<double> now = TimeNow(item, *then, target, options.loop);
    if (now) of_kind.push_back(*now / static_cast<double>(then->time));
  }
  MeasuredPace pace{.products = GroupOf(std::move(ratios[0])), .others = GroupOf(std::move(ratios[1]))};
  FillFrom(pace.others, pace.products);
  FillFrom(pace.products, pace.others);
  return pace;
}

KernelPace FactorsOf(const MeasuredPace& pace) { return {pace.products.factor, pace.others.factor}; }

}  // namespace spillway
