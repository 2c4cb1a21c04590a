#include "calibrate/validate/track.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "hw/text/document.h"
#include "model/stats/quantile.h"
#include "sim/engine/simulate.h"

namespace spillway {

namespace {

// So many timings of each launch, no rule that stops early: whoever stops as soon as all is calm never sees unrest.
constexpr int kTimings = 8;
constexpr Nanos kLongest = 50 * kMillisecond;  // of one launch, four times that where there are fewer yet

LoopOptions ProbeLoop() {
  return {.target = 0, .warm_up = 1, .least = kTimings, .most = kTimings, .time_limit = kLongest};
}

using TimeOf = double LaunchAgain::*;

// That time over the profile's, of sums; 0: no launch of the group.
double FactorOf(const PaceProbe& probe, bool product, TimeOf time) {
  double now = 0, then = 0;
  for (const LaunchAgain& launch : probe.launches) {
    if (launch.product != product) continue;
    now += launch.*time;
    then += launch.then;
  }
  return then > 0 ? now / then : 0;
}

struct Moment {
  Nanos at;
  double factor;
};

// Each probe's factor, smoothed; of the other group where a probe has none of this one.
std::vector<Moment> MomentsOf(std::span<const PaceProbe> probes, bool product, TimeOf time) {
  std::vector<Moment> raw;
  for (const PaceProbe& probe : probes) {
    double factor = FactorOf(probe, product, time);
    if (factor == 0) factor = FactorOf(probe, !product, time);
    if (factor > 0) raw.push_back({probe.at, factor});
  }
  std::vector<Moment> smooth = raw;
  for (std::size_t k = 0; raw.size() >= 3 && k < raw.size(); ++k) {
    const std::size_t first = std::min(k == 0 ? 0 : k - 1, raw.size() - 3);
    smooth[k].factor = Median({raw[first].factor, raw[first + 1].factor, raw[first + 2].factor});
  }
  return smooth;
}

// As it was: each tells of as long a time as a step's.
std::vector<Moment> WaitingOf(std::span<const PaceProbe> probes) {
  std::vector<Moment> moments;
  for (const PaceProbe& probe : probes) {
    if (probe.waiting > 0) moments.push_back({probe.at, probe.waiting});
  }
  return moments;
}

double Between(const std::vector<Moment>& moments, Nanos at) {
  if (moments.empty()) return 1;
  const auto behind =
      std::find_if(moments.begin(), moments.end(), [at](const Moment& moment) { return moment.at >= at; });
  if (behind == moments.end()) return moments.back().factor;
  if (behind == moments.begin()) return behind->factor;
  const Moment &a = *(behind - 1), &b = *behind;
  const double share = static_cast<double>(at - a.at) / static_cast<double>(b.at - a.at);
  return a.factor + share * (b.factor - a.factor);
}

// Largest less smallest, over the median.
double Range(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double median = Median(values);
  return median > 0 ? (*high - *low) / median : 0;
}

struct ValuesOfLaunch {
  bool product = false;
  std::vector<double> values;
};

// By launch: what `value` says of it at each probe in which the target did not refuse it.
template <typename Value>
std::map<std::size_t, ValuesOfLaunch> ByLaunchOf(std::span<const PaceProbe> probes, const Value& value) {
  std::map<std::size_t, ValuesOfLaunch> all;
  for (const PaceProbe& probe : probes) {
    for (const LaunchAgain& launch : probe.launches) {
      ValuesOfLaunch& of_launch = all[launch.index];
      of_launch.product = launch.product;
      of_launch.values.push_back(value(launch));
    }
  }
  return all;
}

// Whether predictions at the factor found before are the better ones at what was found meanwhile: a factor of 0.65
// where launches take 0.98 of their times is on the right side of 1 and farther off.
bool Confirms(const PaceGroup& found, double factor) {
  const bool same_side = factor > 1 ? found.low > 1 : found.high < 1;
  return same_side && std::abs(std::log(factor / found.factor)) < std::abs(std::log(found.factor));
}

void Judge(std::vector<double> ratios, PaceGroup& group) {
  const PaceGroup found = PaceGroupOf(std::move(ratios));
  if (found.high <= 0) return;
  group.meanwhile = found.factor;
  group.meanwhile_low = found.low;
  group.meanwhile_high = found.high;
  group.applied = group.applied && Confirms(found, group.factor);
}

}  // namespace

std::vector<PacedLaunch> TrackedLaunches(const std::vector<PacedLaunch>& timed) {
  std::vector<PacedLaunch> tracked;
  std::array<std::size_t, 2> taken{};
  for (const PacedLaunch& launch : timed) {
    if (taken[IsProduct(launch.item.launch.kind) ? 0 : 1]++ < kTrackedLaunches) tracked.push_back(launch);
  }
  return tracked;
}

PaceProbe ProbePace(std::span<const PacedLaunch> launches, BenchTarget& target, Nanos at) {
  PaceProbe probe{.at = at, .launches = {}, .waiting = 0};
  for (std::size_t k = 0; k < launches.size(); ++k) {
    const PacedLaunch& launch = launches[k];
    try {
      const LoopResult now = target.Measure(
          launch.item, {.algorithm = launch.then.algorithm, .workspace = launch.then.workspace}, ProbeLoop());
      if (now.median <= 0) continue;
      probe.launches.push_back({.index = k,
                                .product = IsProduct(launch.item.launch.kind),
                                .then = static_cast<double>(launch.then.time),
                                .now = now.median,
                                .computed = now.computed > 0 ? now.computed : now.median,
                                .passed = now.passed > 0 ? now.passed : now.median});
    } catch (const UserError&) {
      // Other launches say enough.
    }
  }
  probe.waiting = target.Waiting();
  return probe;
}

KernelPace PaceAt(std::span<const PaceProbe> probes, Nanos at) {
  const std::vector<Moment> waiting = WaitingOf(probes);
  const TimeOf time = waiting.empty() ? &LaunchAgain::passed : &LaunchAgain::computed;
  const double waits = Between(waiting, at);  // 1: nobody tells
  return {waits * Between(MomentsOf(probes, true, time), at), waits * Between(MomentsOf(probes, false, time), at)};
}

void CheckPace(std::span<const PaceProbe> probes, MeasuredPace& pace) {
  std::array<std::vector<double>, 2> ratios;  // of products, of others
  const auto ratio = [](const LaunchAgain& launch) { return launch.now / launch.then; };
  for (auto& [index, launch] : ByLaunchOf(probes, ratio)) {
    ratios[launch.product ? 0 : 1].push_back(Median(launch.values));
  }
  Judge(ratios[pace.products.of_other ? 1 : 0], pace.products);
  Judge(ratios[pace.others.of_other ? 0 : 1], pace.others);
}

Nanos StepTimeAt(const Program& program, const CostModel& costs, const KernelPace& pace, const Runtime& runtime,
                 Bytes capacity) {
  std::vector<Nanos> durations = Durations(program, costs);
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Instruction& in = program.code[i];
    if (in.opcode != Opcode::kKernel) continue;
    const bool product = IsProduct(program.launches[program.kernels[in.arg].launch].kind);
    durations[i] = std::llround(static_cast<double>(durations[i]) * (product ? pace.products : pace.others));
  }
  Scratch scratch;
  return SimulateTimes(program, durations, ConditionsOf(program, costs, runtime, capacity), scratch).makespan;
}

void PredictTracked(const Program& program, const CostModel& costs, const Runtime& runtime, Bytes capacity,
                    std::span<const PaceProbe> probes, ValidationRow& row) {
  if (probes.empty() || row.moments.size() != row.step_times.size()) return;
  std::vector<double> predicted, errors;
  for (std::size_t round = 0; round < row.step_times.size(); ++round) {
    const KernelPace pace = PaceAt(probes, row.moments[round]);
    const auto time = static_cast<double>(StepTimeAt(program, costs, pace, runtime, capacity));
    for (const double step : row.step_times[round]) {
      predicted.push_back(time);
      errors.push_back(time / step - 1);
    }
  }
  if (errors.empty()) return;
  row.tracked = std::llround(Median(std::move(predicted)));
  row.tracked_error = Median(std::move(errors));
}

double RoundsDiffer(std::span<const ValidationRow> rows) {
  std::vector<double> ranges;
  for (const ValidationRow& row : rows) {
    if (!row.Measured() || row.step_times.size() < 2) continue;
    std::vector<double> medians;
    for (const std::vector<double>& round : row.step_times) medians.push_back(Median(round));
    ranges.push_back(Range(medians));
  }
  return ranges.empty() ? -1 : Median(std::move(ranges));
}

double LaunchesDiffer(std::span<const PaceProbe> probes) {
  if (probes.size() < 2) return -1;
  std::vector<double> ranges;
  for (const auto& [index, launch] : ByLaunchOf(probes, [](const LaunchAgain& l) { return l.passed; })) {
    if (launch.values.size() > 1) ranges.push_back(Range(launch.values));
  }
  return ranges.empty() ? -1 : Median(std::move(ranges));
}

}  // namespace spillway
