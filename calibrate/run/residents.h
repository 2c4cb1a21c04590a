// Tensors that outlive a step, and where a Program expects and leaves them.
//
// Parameters, optimizer state, the input and small state such as running statistics have a value before the first
// instruction. It is on the host for the input, if that has a host buffer, and wherever the Program reads a host buffer
// of the tensor before it writes it; elsewhere in the device buffer that is allocated for the tensor first. After the last instruction it is in
// that host buffer again, else in the device buffer that is freed last. The two device buffers differ where the Program
// moves the tensor: whoever repeats the step carries the value back in between.
#ifndef SPILLWAY_CALIBRATE_RUN_RESIDENTS_H_
#define SPILLWAY_CALIBRATE_RUN_RESIDENTS_H_

#include <vector>

#include "calibrate/run/device.h"

namespace spillway {

// In order of tensors. Those without any buffer in the Program are left out.
// REQUIRES: the Program has the structure that sim/verify/verify.h demands.
std::vector<Resident> FindResidents(const Program& program, const TrainingStep& step);

// The whole buffer.
Location LocationOf(const Program& program, BufferId id);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_RESIDENTS_H_
