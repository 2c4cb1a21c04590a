#include "reports/rows/measure.h"

#include <array>

#include "reports/rows/standing.h"

namespace spillway {

namespace {

using At = const MeasuredRow&;
using Value = std::optional<double>;
constexpr bool kBefore = true;

Value Seconds(Nanos time) { return static_cast<double>(time) / static_cast<double>(kSecond); }
Value Size(Bytes bytes) { return static_cast<double>(bytes); }

Value BelowOf(At at) { return at.reference == nullptr ? Value() : BelowInCore(*at.reference, at.row); }

Value RatioOf(At at) {
  if (at.other == nullptr || !at.other->feasible) return std::nullopt;
  return at.row.SamplesPerSecond() / at.other->SamplesPerSecond();
}

}  // namespace

const MeasureTraits& TraitsOf(Measure measure) {
  using enum Measure;
  using enum MeasureForm;
  // In the order of Measure.
  static constexpr std::array<MeasureTraits, 15> kMeasures = {{
      {kSamplesPerSecond, "samples_per_second", "images", kPerSecond,
       [](At at) -> Value { return at.row.SamplesPerSecond(); }},
      {kStepTime, "step_time", "step time", kSeconds, [](At at) { return Seconds(at.row.times.step); }},
      {kBelowInCore, "below_in_core", "below in-core", kShare, BelowOf},
      {kKeep, "keep", "keep", kCount, [](At at) -> Value { return at.row.plan.classes.keep; }},
      {kSwap, "swap", "swap", kCount, [](At at) -> Value { return at.row.plan.classes.swap; }},
      {kRecompute, "recompute", "recompute", kCount, [](At at) -> Value { return at.row.plan.classes.recompute; }},
      {kRatio, "ratio", "over", kFactor, RatioOf},
      {kFeasible, "feasible", "memory", kFits, [](At at) -> Value { return at.row.feasible ? 1 : 0; }, kBefore},
      {kMeanSaving, "mean_saving", "mean saving", kShare, [](At at) -> Value { return at.row.MeanSaving(); }},
      {kMeanSavingBesideParameters, "mean_saving_beside_parameters", "without parameters", kShare,
       [](At at) -> Value { return at.row.MeanSavingBesideParameters(); }},
      {kPeak, "peak", "peak", kBytes, [](At at) { return Size(at.row.memory.peak); }},
      {kNetworkWide, "network_wide", "network-wide", kBytes, [](At at) { return Size(at.row.memory.network_wide); },
       kBefore},
      {kHostPeak, "host_peak", "host memory", kBytes, [](At at) { return Size(at.row.memory.host_peak); }},
      {kMapShare, "map_share", "share of feature maps", kShare, [](At at) -> Value { return at.row.MapShare(); }},
      {kCopyRate, "copy_rate", "rate of copies", kBytesPerSecond, [](At at) -> Value { return at.row.CopyRate(); },
       kBefore},
  }};
  return kMeasures.at(static_cast<std::size_t>(measure));
}

Value ValueOf(Measure measure, At at) {
  const MeasureTraits& traits = TraitsOf(measure);
  return at.row.feasible || traits.before ? traits.of(at) : std::nullopt;
}

}  // namespace spillway
