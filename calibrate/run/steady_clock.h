// The clock of real devices.
#ifndef SPILLWAY_CALIBRATE_RUN_STEADY_CLOCK_H_
#define SPILLWAY_CALIBRATE_RUN_STEADY_CLOCK_H_

#include <chrono>

#include "calibrate/run/clock.h"

namespace spillway {

class SteadyClock : public Clock {
 public:
  Nanos Now() const override {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_STEADY_CLOCK_H_
