// The machine that a recording describes, for plans without a profile.
#ifndef SPILLWAY_MODEL_RECORDED_RECORDED_MACHINE_H_
#define SPILLWAY_MODEL_RECORDED_RECORDED_MACHINE_H_

#include "model/profile/machine.h"
#include "model/recorded/recorded_step.h"

namespace spillway {

// The device and link of the recording; its memory is all usable. `link`: bytes per nanosecond in each direction in place
// of those measured, 0 = those. Without either the link is the slowest that a profile may have: nothing should be swapped.
// Figures that the recording lacks are assumed, and their sources say so.
Machine MachineOfRecording(const RecordedStep& recorded, double link);

// Memory of a GPU that its framework takes besides the tensors of the step.
constexpr Bytes kUsualContext =
    768 * kMiB;  // as the profiles of A100 and H100 assume it for a bare context with kernels

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_MACHINE_H_
