// How long a thread that computes waits for its core.
//
// Where more threads want a core than there are, each computes for a time slice of some milliseconds and then waits until
// all others have had theirs. A timing shorter than a slice mostly falls between two waits, and now and then holds one
// that is many times as long: a dozen of them say little of the mean, their median nothing. A step is many slices long
// and pays the mean. So a thread computes without pause for as long as a step does, and what passed is held against what
// it had of its core.
//
// Tested by bench_waiting_test (tests/).
#ifndef SPILLWAY_CALIBRATE_MEASURE_WAITING_H_
#define SPILLWAY_CALIBRATE_MEASURE_WAITING_H_

#include <algorithm>
#include <cstdint>

#include "sim/execute/clock.h"

namespace spillway {

struct WaitingOptions {
  Nanos own = 100 * kMillisecond;  // that the thread computes: some thirty slices
  Nanos limit = 4 * kSecond;       // of time that passes
};
// Time that passes over what the calling thread has of its core; 1: nobody else wants it. 0: it had nothing.
// `own` counts while the calling thread runs.
inline double MeasureWaiting(const Clock& wall, const Clock& own, const WaitingOptions& options = {}) {
  const Nanos begin = wall.Now(), own_begin = own.Now();
  Nanos passed = 0, had = 0;
  do {
    // Some ten microseconds, so that looking at the clocks takes a small part of the time. It neither sleeps nor yields.
    volatile std::uint32_t state = 1;
    for (int k = 0; k < 10'000; ++k) state = state * 1664525u + 1013904223u;
    had = own.Now() - own_begin;
    passed = wall.Now() - begin;
  } while (had < options.own && passed < options.limit);
  return had > 0 ? std::max(1.0, static_cast<double>(passed) / static_cast<double>(had)) : 0;
}

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_WAITING_H_
