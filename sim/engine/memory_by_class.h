// What lies on the device when most does.
#ifndef SPILLWAY_SIM_ENGINE_MEMORY_BY_CLASS_H_
#define SPILLWAY_SIM_ENGINE_MEMORY_BY_CLASS_H_

#include <vector>

#include "sim/engine/simulate.h"

namespace spillway {

// Bytes on device 0 by TensorClass, then workspace, at the time of Simulated::live_peak, the first of several: they add
// up to it. REQUIRES: `scratch` as the engine that simulated `program` left it.
std::vector<Bytes> MemoryByClassAtPeak(const Program& program, const TrainingStep& step, const Scratch& scratch);

}  // namespace spillway

#endif  // SPILLWAY_SIM_ENGINE_MEMORY_BY_CLASS_H_
