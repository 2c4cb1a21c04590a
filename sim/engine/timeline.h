// When each instruction of a Program ran, predicted by an engine or measured on a device.
//
// Times are nanoseconds from the step's beginning, sizes bytes.
#ifndef SPILLWAY_SIM_ENGINE_TIMELINE_H_
#define SPILLWAY_SIM_ENGINE_TIMELINE_H_

#include <cstdint>
#include <vector>

#include "hw/text/units.h"
#include "sim/program/program.h"

namespace spillway {

struct Span {  // of one kernel or copy
  std::uint32_t instruction = 0;
  Nanos start = 0;
  Nanos end = 0;
};

// An interval in which a compute stream or the host stood still. Stalls of one stream, and of the host, do not overlap.
// They are in no order.
struct Stall {
  Nanos start = 0;
  Nanos end = 0;
  Cause cause = Cause::kNone;  // kNone: the host was busy issuing
  bool host = false;           // the host stood, and the stream had nothing to do for that
  // The kWait, kHostSync, blocking kCopy, or the kFree whose bytes a pool waited for; of a busy host what it issued late;
  // kNoInstruction: a pool was compacted.
  std::uint32_t instruction = kNoInstruction;
};

// A change of the device's live bytes: that of Timeline::memory with the same index.
struct MemoryChange {
  Nanos time = 0;
  BufferId buffer = kNoBuffer;
  bool is_alloc = false;
};

// The events of a step, predicted or measured: one type for both, joined by instruction.
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
  // Only in predicted timelines: the single stalls of `stall` and `host_stall`; the host's waits in order; the issue
  // time of each span, by index; memory changes by buffer, in timelines that Evaluate made.
  std::vector<Stall> stalls = {};
  std::vector<Stall> host_waits = {};
  std::vector<Nanos> issued = {};
  std::vector<MemoryChange> changes = {};
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_TIMELINE_H_
