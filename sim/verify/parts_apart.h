// What the ops of each kind compute apart: an independent second list, which the columns of kOpTraits do not feed.
#ifndef SPILLWAY_SIM_VERIFY_PARTS_APART_H_
#define SPILLWAY_SIM_VERIFY_PARTS_APART_H_

#include "model/step/training_step.h"

namespace spillway::verifying {

// Each sample of the batch by itself; sums over samples are of parameters' gradients alone.
bool ComputesSamplesApart(const Op& op);

// What is computed apart beside samples.
struct Apart {
  bool channels = false, rows = false;
};
Apart PlacesApart(const Op& op);

}  // namespace spillway::verifying

#endif  // SPILLWAY_SIM_VERIFY_PARTS_APART_H_
