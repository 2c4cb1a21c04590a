// What several rounds of a calibration say together: one time for each operation, and how far rounds differ.
#include <algorithm>
#include <cmath>
#include <map>

#include "calibrate/measure/journal.h"
#include "calibrate/measure/profile.h"
#include "model/stats/quantile.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

// Differences between rounds that the widest timings explain; nothing repeats better than this.
constexpr double kLeastError = 0.005;
constexpr double kErrorOfNoisy = 0.1, kErrorOfNoisyRounds = 0.03;  // of one round; of several that agree
constexpr double kErrorOfCutShort = 0.3;
// (p90 - p10) / standard deviation of a normal distribution.
constexpr double kSpreadOfNormal = 2.563;
// A median of n timings strays about 1.25 / sqrt(n) times as much as one of them; timings share what disturbs them, so
// that more than this many count as no more.
constexpr double kMostCounted = 9;
// So many times the cache must be moved before it does not matter what part of it was there.
constexpr double kBeyondCache = 2;

bool Usable(const Sample& row) {
  return !HasFlag(row, kNoisyNote) && !HasFlag(row, kCutShortNote) && !HasFlag(row, kThrottledNote);
}

double OwnError(const Sample& row) {
  const double deviation = row.spread / kSpreadOfNormal;
  return 1.25 * deviation / std::sqrt(std::clamp(static_cast<double>(row.repetitions), 1.0, kMostCounted));
}

// Rows of one operation; the usable ones if there are any.
BenchTime Merge(const std::vector<const Sample*>& all) {
  std::vector<const Sample*> rows = all;
  std::erase_if(rows, [](const Sample* row) { return !Usable(*row); });
  BenchTime time;
  time.noisy = rows.empty();
  if (rows.empty()) rows = all;
  time.cut_short =
      std::all_of(rows.begin(), rows.end(), [](const Sample* row) { return HasFlag(*row, kCutShortNote); });
  time.sample = *rows.front();
  time.rounds = static_cast<int>(rows.size());
  std::vector<double> medians, hosts;
  double variance = 0;
  for (const Sample* row : rows) {
    medians.push_back(row->microseconds);
    if (row->host_microseconds > 0) hosts.push_back(row->host_microseconds);
    variance += std::pow(OwnError(*row), 2) / static_cast<double>(rows.size());
  }
  time.sample.microseconds = Median(medians);
  time.sample.host_microseconds = hosts.empty() ? 0 : Median(hosts);
  if (rows.size() > 1 && time.sample.microseconds > 0) {
    double squares = 0;
    for (const double median : medians) squares += std::pow(std::log(median / time.sample.microseconds), 2);
    variance = std::max(variance, squares / static_cast<double>(rows.size() - 1));
  }
  time.error = std::max(std::sqrt(variance), kLeastError);
  if (time.noisy) {
    time.error = std::max(time.error, time.cut_short    ? kErrorOfCutShort
                                      : rows.size() > 1 ? kErrorOfNoisyRounds
                                                        : kErrorOfNoisy);
  }
  return time;
}

}  // namespace

std::vector<BenchTime> MergeRounds(std::span<const Sample> rows) {
  std::vector<std::vector<const Sample*>> groups;
  std::map<std::string, std::size_t> places;
  for (const Sample& row : rows) {
    const auto [found, is_new] = places.emplace(BenchKey(row), groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(&row);
  }
  std::vector<BenchTime> times;
  for (const auto& group : groups) times.push_back(Merge(group));
  return times;
}

double SharedDrift(std::span<const Sample> rows) {
  constexpr std::size_t kFewOps = 4;
  std::map<std::string, double> first;
  for (const Sample& row : rows) {
    if (row.what == SampleKind::kKernel && RoundOf(row) == 1 && Usable(row)) first[BenchKey(row)] = row.microseconds;
  }
  std::map<int, std::vector<double>> ratios;  // by round: logarithms against the first one
  for (const Sample& row : rows) {
    if (row.what != SampleKind::kKernel || RoundOf(row) == 1 || !Usable(row)) continue;
    const auto found = first.find(BenchKey(row));
    if (found != first.end()) ratios[RoundOf(row)].push_back(std::log(row.microseconds / found->second));
  }
  double squares = 0, sum = 0, count = 1;  // the first round differs from itself by 0
  for (auto& [round, values] : ratios) {
    if (values.size() < kFewOps) continue;
    const double drift = Median(values);
    squares += drift * drift;
    sum += drift;
    ++count;
  }
  return count < 2 ? 0 : std::sqrt(std::max(0.0, squares - sum * sum / count) / (count - 1));
}

double MedianLoad(std::span<const Sample> rows) {
  std::vector<double> loads;
  for (const Sample& row : rows) {
    if (row.load > 0) loads.push_back(row.load);
  }
  return loads.empty() ? 0 : Median(std::move(loads));
}

bool WasBusy(std::span<const Sample> rows, const BenchFacts& facts) {
  constexpr double kOwnLoad = 1, kGoodPart = 0.5;
  return facts.cores > 0 && MedianLoad(rows) > kOwnLoad + kGoodPart * facts.cores;
}

MeasuredChip ChipOfSamples(std::span<const BenchTime> times, Bytes cache) {
  MeasuredChip chip;
  for (const BenchTime& time : times) {
    const Sample& sample = time.sample;
    if (sample.what != SampleKind::kKernel || sample.contention != "none" || time.cut_short) continue;
    const Work work = CountWork(sample.launch);
    const double nanos = 1000 * sample.microseconds;
    const bool product = IsProduct(sample.launch.kind);
    const bool plain = !sample.algorithm.starts_with("winograd") && !sample.algorithm.starts_with("fft");
    if (product && plain && sample.launch.math == MathMode::kFp32)
      chip.peak_flops = std::max(chip.peak_flops, work.flops / nanos);
    if (!product && work.bytes >= kBeyondCache * static_cast<double>(cache)) {
      chip.memory_bandwidth = std::max(chip.memory_bandwidth, work.bytes / nanos);
    }
  }
  return chip;
}

}  // namespace spillway
