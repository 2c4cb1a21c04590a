// What the CPU device's threads cost: beginning one, and waking one up.
#ifndef SPILLWAY_CALIBRATE_MEASURE_CPU_STREAMS_H_
#define SPILLWAY_CALIBRATE_MEASURE_CPU_STREAMS_H_

#include <map>
#include <string>

#include "calibrate/measure/loop.h"
#include "calibrate/run/cpu/pin.h"

namespace spillway {

// "thread_start": until a stream's thread runs. "event_wake": from recording an event on the compute stream to the first
// thing that a copy stream does which waited for it asleep.
std::map<std::string, LoopResult> MeasureStreams(const CoreChoice& cores, const Clock& clock, int repetitions);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_MEASURE_CPU_STREAMS_H_
