// The machine that a recording describes, for plans without a profile; and what a GPU takes that a recording of a CPU does
// not show.
#ifndef SPILLWAY_MODEL_RECORDED_RECORDED_MACHINE_H_
#define SPILLWAY_MODEL_RECORDED_RECORDED_MACHINE_H_

#include <string>
#include <vector>

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

// A way in which a step on a GPU takes other memory than the one that a CPU ran.
struct GpuDifference {
  std::string what;
  Bytes whole_step = 0, update = 0;  // bytes more at each op; at updates
  std::string source;
};
// Of this recording; empty where a GPU ran it.
std::vector<GpuDifference> DifferencesOnGpu(const RecordedStep& recorded);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_RECORDED_RECORDED_MACHINE_H_
