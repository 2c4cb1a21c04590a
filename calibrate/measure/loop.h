// The measuring loop: how often something is run, when that is enough, and what stands for all the timings.
//
//   warm-up        a few runs, also to learn how long one takes
//   batches        where one run is too short for the clock, a timing covers several
//   stopping rule  the relative half-width of the 95 % confidence interval of the median (by ranks, no distribution is
//                  assumed) is below a target; or the time is up, or the most timings are taken
//   disturbance    a timing during which the thread was off its core for longer than a sliver does not tell what the
//                  operation takes. Where the thread's own clock is given, such timings are left out; where hardly any
//                  other is to be had (operations longer than a time slice, on a busy machine), the thread's own time
//                  stands for them and the result says so.
//
// No clock of its own, no threads, no device: tests give a clock that they set.
#ifndef SPILLWAY_CALIBRATE_MEASURE_LOOP_H_
#define SPILLWAY_CALIBRATE_MEASURE_LOOP_H_

#include <string>
#include <vector>

#include "sim/execute/clock.h"

namespace spillway {

// The subject of a measurement. Calls alternate: Prepare, which is not timed, then Run, which is, with the same number
// of runs.
class BenchSubject {
 public:
  virtual ~BenchSubject() = default;
  virtual void Prepare(int /*runs*/) {}
  virtual void Run(int runs) = 0;
};

struct BenchClocks {
  const Clock* wall = nullptr;
  const Clock* own = nullptr;  // counts while the calling thread runs; nullptr: the subject sleeps or has none
  // The clock for the loop's limits; nullptr: `wall`. Needed for subjects timed by a device's clock, which stands still
  // between timings.
  const Clock* limit = nullptr;
};

struct LoopOptions {
  double target = 0.02;  // relative half-width of the confidence interval
  int warm_up = 1;       // runs, at least 1
  int least = 6;         // timings; below 6 the interval is narrower than it says
  int most = 200;
  int most_runs = 1 << 30;  // of one timing
  // The most time for the loop; four times as much while there are fewer than `least` timings. Checked after each
  // timing, so that at least one is taken.
  Nanos time_limit = 200 * kMillisecond;
  Nanos least_timing = 20 * kMicrosecond;  // shorter ones cover several runs
  double sliver = 0.02;                    // share of a timing that the thread may be off its core
  double hopeless = 0;  // nanoseconds of one run; a warm-up that takes longer stands for all timings. 0: never
};

struct LoopResult {
  double median = 0, p10 = 0, p90 = 0;  // nanoseconds of one run
  double half_width = 0;                // of the median's confidence interval, relative
  int timings = 0;                      // that the above come from
  int runs = 1;                         // in each
  int disturbed = 0;                    // timings during which the thread was off its core
  double passed = 0;                    // mean of one run by the wall's clock, all timings, whatever disturbed them
  double computed = 0;                  // the same by the thread's own clock; as passed without one
  bool noisy = false;                   // stopped before the target was reached
  bool own_time = false;                // disturbed timings are in, by the thread's own time
  bool cut_short = false;               // hopeless
  // Set by targets whose device reports it.
  bool throttled = false;  // the device's clocks were held back
  int sm_clock_mhz = -1;
  bool unheld = false;       // issuing it could not be kept out of its time
  std::string limited = {};  // what its clocks are limited by as it is set up
  double host = 0;           // nanoseconds that issuing one run costs the host, median; 0: not measured
};

// The result of single measurements in nanoseconds; all fields are zero without any.
LoopResult ResultOfTimes(std::vector<double> nanos);

LoopResult MeasureLoop(BenchSubject& subject, const BenchClocks& clocks, const LoopOptions& options);

// Relative half-width of the 95 % confidence interval of the median: the ranks that enclose it with that probability;
// of fewer than six values all of them. REQUIRES: sorted, not empty.
double MedianHalfWidth(const std::vector<double>& sorted);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_LOOP_H_
