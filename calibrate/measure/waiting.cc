#include "calibrate/measure/waiting.h"

#include <algorithm>
#include <cstdint>

namespace spillway {

namespace {

// Some ten microseconds, so that looking at the clocks takes a small part of the time. It neither sleeps nor yields.
void Compute() {
  volatile std::uint32_t state = 1;
  for (int k = 0; k < 10'000; ++k) state = state * 1664525u + 1013904223u;
}

}  // namespace

double MeasureWaiting(const Clock& wall, const Clock& own, const WaitingOptions& options) {
  const Nanos begin = wall.Now(), own_begin = own.Now();
  Nanos passed = 0, had = 0;
  do {
    Compute();
    had = own.Now() - own_begin;
    passed = wall.Now() - begin;
  } while (had < options.own && passed < options.limit);
  return had > 0 ? std::max(1.0, static_cast<double>(passed) / static_cast<double>(had)) : 0;
}

}  // namespace spillway
