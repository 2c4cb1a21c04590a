// Where times come from: library code reads no clock of its own, so that tests can give one that they set.
#ifndef SPILLWAY_CALIBRATE_RUN_CLOCK_H_
#define SPILLWAY_CALIBRATE_RUN_CLOCK_H_

#include "hw/text/units.h"

namespace spillway {

class Clock {
 public:
  virtual ~Clock() = default;
  // Since some fixed moment; never goes back.
  virtual Nanos Now() const = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_CLOCK_H_
