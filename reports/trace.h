// A Timeline in the Chrome trace event format (JSON), as chrome://tracing and Perfetto read it.
//
// Process 0 is the host, process d + 1 is device d; one thread per stream; names by metadata events. Kernels and
// copies are complete events ("X"), live memory of device 0 is a counter ("C"). Events are sorted by time; those of
// one thread do not overlap. Times are microseconds with three digits, that is, whole nanoseconds.
#ifndef SPILLWAY_REPORTS_TRACE_H_
#define SPILLWAY_REPORTS_TRACE_H_

#include <string>

#include "hw/machine/machine.h"
#include "sim/engine/simulate.h"

namespace spillway {

// `step` gives kernels and copies their names; without one they are numbered.
std::string TraceJson(const Timeline& timeline, const Program& program, const TrainingStep* step,
                      const Machine& machine);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TRACE_H_
