// Where times come from: library code reads no clock of its own, so that tests can give one that they set.
#ifndef SPILLWAY_SIM_EXECUTE_CLOCK_H_
#define SPILLWAY_SIM_EXECUTE_CLOCK_H_

#include <chrono>

#include "hw/text/units.h"

namespace spillway {

class Clock {
 public:
  virtual ~Clock() = default;
  // Since some fixed moment; never goes back.
  virtual Nanos Now() const = 0;
};

// The clock of real devices.
class SteadyClock : public Clock {
 public:
  Nanos Now() const override {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
  }
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EXECUTE_CLOCK_H_
