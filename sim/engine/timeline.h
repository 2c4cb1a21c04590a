// When each instruction of a Program ran, predicted by an engine or measured on a device.
//
// Times are nanoseconds from the step's beginning, sizes bytes.
#ifndef SPILLWAY_SIM_ENGINE_TIMELINE_H_
#define SPILLWAY_SIM_ENGINE_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "hw/text/units.h"

namespace spillway {

struct Span {  // of one kernel or copy
  std::uint32_t instruction = 0;
  Nanos start = 0;
  Nanos end = 0;
};

// What happened, predicted or measured: one type, joined by instruction.
struct Timeline {
  std::vector<Span> spans;   // by instruction index
  std::vector<Nanos> stall;  // by Cause: time the compute streams stood still for it
  Nanos host_stall = 0;      // compute idle because the host had not issued yet
  struct MemoryPoint {
    Nanos time;
    Bytes live;
  };
  std::vector<MemoryPoint> memory;  // device 0, after each change, times not decreasing
  Nanos makespan = 0;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_TIMELINE_H_
