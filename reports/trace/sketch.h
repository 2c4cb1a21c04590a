// A timeline in characters, for a terminal: what the streams do, a column each for an equal part of the step, and the
// memory below.
//
//   compute   ####rr##i..   # kernels, r computed again, i o h stands still for a swap-in, a swap-out, the host; . else idle
//   copies    >>>><<<       > to the host, < to the device, = both
//   memory    ▂▃▅▇█▇▅       of the limit, in eighths; the most of each column
//
// What takes most of a column is shown. Without colours, so that NO_COLOR changes nothing.
//
// Tested by sketch_test.
#ifndef SPILLWAY_REPORTS_TRACE_SKETCH_H_
#define SPILLWAY_REPORTS_TRACE_SKETCH_H_

#include <string>

#include "sim/engine/timeline.h"

namespace spillway {

// Three lines. `limit`: bytes of device memory; `columns` at least 1.
std::string TimelineSketch(const Timeline& timeline, const Program& program, Bytes limit, int columns = 72);

}  // namespace spillway

#endif  // SPILLWAY_REPORTS_TRACE_SKETCH_H_
