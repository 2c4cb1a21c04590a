// What threads and events of the CPU device's streams cost, for the host's costs of a profile.
//
// Tested by cpu_bench_test (tests/).
#ifndef SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_STREAMS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_STREAMS_H_

#include <map>
#include <string>

#include "calibrate/host/pin.h"
#include "calibrate/measure/loop.h"
#include "sim/execute/clock.h"

namespace spillway {

// What the CPU device's threads cost: beginning one, and waking one up.
// "thread_start": until a stream's thread runs. "event_wake": from recording an event on the compute stream to the first
// thing that a copy stream does which waited for it asleep.
std::map<std::string, LoopResult> MeasureStreams(const CoreChoice& cores, const Clock& clock, int repetitions);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CPU_BENCH_STREAMS_H_
