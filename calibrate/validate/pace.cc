#include "calibrate/validate/pace.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "hw/text/document.h"
#include "hw/text/lists.h"
#include "model/cost/measured_cost.h"
#include "model/stats/quantile.h"

namespace spillway {

namespace {

constexpr int kLeast = 6;  // launches; the ranks of fewer enclose no median

using Networks = std::vector<std::shared_ptr<const BenchNetwork>>;
using Ratios = std::array<std::vector<double>, 2>;  // of products, of others

// Those of `steps`, then those of `others`, both by how much of a step they make.
std::vector<BenchItem> LaunchesOf(const Networks& steps, const Networks& others, MathMode math) {
  Networks all = steps;
  all.insert(all.end(), others.begin(), others.end());
  std::vector<BenchItem> plan = MakeBenchPlan(all, {}, {.copies = {}, .host_calls = {}, .maths = {math}});
  std::erase_if(plan, [](const BenchItem& item) { return item.group != BenchGroup::kNetworks; });
  std::stable_partition(plan.begin(), plan.end(),
                        [&steps](const BenchItem& item) { return Contains(steps, item.from); });
  return plan;
}

// Of networks that differ in nothing but their math a launch is there twice.
bool Has(const std::vector<PacedLaunch>& known, const Launch& launch) {
  return std::any_of(known.begin(), known.end(), [&](const PacedLaunch& one) { return one.item.launch == launch; });
}

// What the profile says of the algorithm that plans take; nullopt: nothing.
std::optional<Cost> ThenOf(const MeasuredLaunches& profile, Launch launch, const PaceOptions& options) {
  launch.workspace = options.workspace;
  if (options.algorithm) launch.algorithm = options.algorithm(launch);
  return profile.Choose(launch).cost;
}

std::vector<PacedLaunch> KnownLaunches(const MeasuredLaunches& profile, const Networks& steps, const Networks& others,
                                       MathMode math, const PaceOptions& options) {
  std::vector<PacedLaunch> known;
  for (BenchItem& item : LaunchesOf(steps, others, math)) {
    if (Has(known, item.launch)) continue;
    const std::optional<Cost> then = ThenOf(profile, item.launch, options);
    if (then) known.push_back({std::move(item), *then});
  }
  return known;
}

std::vector<PacedLaunch> KnownLaunches(const MeasuredLaunches& profile, const Networks& steps, const Networks& others,
                                       const PaceOptions& options) {
  const auto in = [&](MathMode math) { return KnownLaunches(profile, steps, others, math, options); };
  const MathMode math = steps.empty() ? MathMode::kFp32 : steps.front()->network.math;
  std::vector<PacedLaunch> known = in(math);
  const auto products =
      std::count_if(known.begin(), known.end(), [](const PacedLaunch& one) { return IsProduct(one.item.launch.kind); });
  return products >= kLeast ? known : in(MathMode::kFp32);
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

void FillFrom(const PaceGroup& other, PaceGroup& group) {
  if (group.launches >= kLeast || other.launches < kLeast) return;
  const int launches = group.launches;
  group = other;
  group.launches = launches;
  group.of_other = true;
}

}  // namespace

PaceGroup PaceGroupOf(std::vector<double> ratios) {
  PaceGroup group;
  group.launches = static_cast<int>(ratios.size());
  if (group.launches < kLeast) return group;
  std::sort(ratios.begin(), ratios.end());
  group.factor = Median(ratios);
  const double half = MedianHalfWidth(ratios);
  group.low = group.factor * (1 - half);
  group.high = group.factor * (1 + half);
  group.applied = !group.HoldsOne();
  return group;
}

MeasuredPace MeasurePace(const Machine& profile, const Networks& steps, const Networks& others, BenchTarget& target,
                         const PaceOptions& options, std::vector<PacedLaunch>* timed) {
  const MeasuredLaunches measured(profile.devices[0], profile.name);
  Ratios ratios;
  for (const auto& [item, then] : KnownLaunches(measured, steps, others, options)) {
    std::vector<double>& of_kind = ratios[IsProduct(item.launch.kind) ? 0 : 1];
    if (of_kind.size() >= options.launches) continue;
    const std::optional<double> now = TimeNow(item, then, target, options.loop);
    if (!now) continue;
    of_kind.push_back(*now / static_cast<double>(then.time));
    if (timed != nullptr) timed->push_back({item, then});
  }
  MeasuredPace pace{.products = PaceGroupOf(std::move(ratios[0])), .others = PaceGroupOf(std::move(ratios[1]))};
  FillFrom(pace.others, pace.products);
  FillFrom(pace.products, pace.others);
  return pace;
}

KernelPace FactorsOf(const MeasuredPace& pace) { return {pace.products.Applied(), pace.others.Applied()}; }

}  // namespace spillway
