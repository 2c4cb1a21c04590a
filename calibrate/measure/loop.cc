#include "calibrate/measure/loop.h"

#include <algorithm>
#include <cmath>

#include "model/stats/quantile.h"

namespace spillway {
namespace {

constexpr double kNormal95 = 1.96;
// A preemption costs at least this; the two clocks disagree by less.
constexpr double kLeastAbsence = 2000;
constexpr int kMoreWhenDisturbed = 2;
// Operations so long that the time limit leaves too few timings get this much more of it.
constexpr int kPatience = 4;

struct Timing {
  double wall = 0, own = 0;  // nanoseconds of one run
  bool disturbed = false;
};

class Loop {
 public:
  Loop(BenchSubject& subject, const BenchClocks& clocks, const LoopOptions& options)
      : subject_(subject), clocks_(clocks), options_(options), begin_(Limit().Now()) {}
  LoopResult Measure();

 private:
  Timing Take(int runs);
  Timing WarmUp();
  int RunsFor(const Timing& warm) const;
  bool TimeIsUp() const;
  const Clock& Limit() const { return clocks_.limit != nullptr ? *clocks_.limit : *clocks_.wall; }
  int Quiet() const { return static_cast<int>(quiet_.size()); }
  // The values to judge by so far: quiet ones once there are enough of them.
  std::vector<double> Values(bool* own_time) const;

  BenchSubject& subject_;
  BenchClocks clocks_;
  LoopOptions options_;
  Nanos begin_;
  std::vector<double> quiet_, all_;
  double passed_ = 0, computed_ = 0;  // of all timings
};

Timing Loop::Take(int runs) {
  subject_.Prepare(runs);
  const Nanos own_begin = clocks_.own == nullptr ? 0 : clocks_.own->Now();
  const Nanos begin = clocks_.wall->Now();
  subject_.Run(runs);
  const Nanos wall = clocks_.wall->Now() - begin;
  Timing timing;
  timing.wall = timing.own = static_cast<double>(wall) / runs;
  if (clocks_.own == nullptr) return timing;
  const double own = static_cast<double>(clocks_.own->Now() - own_begin);
  const double absent = static_cast<double>(wall) - own;
  timing.disturbed = absent > std::max(kLeastAbsence, options_.sliver * static_cast<double>(wall));
  timing.own = std::min(timing.wall, own / runs);
  return timing;
}

Timing Loop::WarmUp() {
  Timing warm = Take(1);
  for (int i = 1; i < options_.warm_up && !TimeIsUp(); ++i) warm = Take(1);
  return warm;
}

bool Loop::TimeIsUp() const {
  const bool few = static_cast<int>(all_.size()) < options_.least;
  return Limit().Now() - begin_ >= options_.time_limit * (few ? kPatience : 1);
}

int Loop::RunsFor(const Timing& warm) const {
  const double once = std::max(1.0, warm.own);
  const double runs = std::ceil(static_cast<double>(options_.least_timing) / once);
  return static_cast<int>(std::clamp(runs, 1.0, static_cast<double>(std::max(1, options_.most_runs))));
}

std::vector<double> Loop::Values(bool* own_time) const {
  *own_time = Quiet() < options_.least && Quiet() < static_cast<int>(all_.size());
  return *own_time ? all_ : quiet_;
}

LoopResult Loop::Measure() {
  const Timing warm = WarmUp();
  if (options_.hopeless > 0 && warm.own > options_.hopeless) {
    LoopResult result = ResultOfTimes({warm.own});
    result.cut_short = true;
    return result;
  }
  const int runs = RunsFor(warm);
  LoopResult result;
  do {
    const Timing timing = Take(runs);
    passed_ += timing.wall;
    computed_ += timing.own;
    all_.push_back(timing.disturbed ? timing.own : timing.wall);
    if (!timing.disturbed) quiet_.push_back(timing.wall);
    bool own_time = false;
    result = ResultOfTimes(Values(&own_time));
    result.own_time = own_time;
    // Of disturbed timings it takes more to be sure.
    const int least = own_time ? kMoreWhenDisturbed * options_.least : options_.least;
    result.noisy = result.timings < least || result.half_width > options_.target;
  } while (result.noisy && static_cast<int>(all_.size()) < options_.most && !TimeIsUp());
  result.runs = runs;
  result.passed = passed_ / static_cast<double>(all_.size());
  result.computed = computed_ / static_cast<double>(all_.size());
  result.disturbed = static_cast<int>(all_.size()) - Quiet();
  return result;
}

}  // namespace

double MedianHalfWidth(const std::vector<double>& sorted) {
  const double n = static_cast<double>(sorted.size());
  const double rank = std::floor((n - kNormal95 * std::sqrt(n)) / 2);
  const std::size_t low = rank > 0 ? static_cast<std::size_t>(rank) : 0;
  const double median = SortedQuantile(sorted, 0.5);
  return std::max(median - sorted[low], sorted[sorted.size() - 1 - low] - median) / std::max(median, 1e-9);
}

LoopResult ResultOfTimes(std::vector<double> nanos) {
  LoopResult result;
  if (nanos.empty()) return result;
  std::sort(nanos.begin(), nanos.end());
  result.median = SortedQuantile(nanos, 0.5);
  result.p10 = SortedQuantile(nanos, 0.1);
  result.p90 = SortedQuantile(nanos, 0.9);
  result.half_width = MedianHalfWidth(nanos);
  result.timings = static_cast<int>(nanos.size());
  return result;
}

LoopResult MeasureLoop(BenchSubject& subject, const BenchClocks& clocks, const LoopOptions& options) {
  return Loop(subject, clocks, options).Measure();
}

}  // namespace spillway
