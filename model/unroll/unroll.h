// From a network to one iteration of its training.
#ifndef SPILLWAY_MODEL_UNROLL_UNROLL_H_
#define SPILLWAY_MODEL_UNROLL_UNROLL_H_

#include "model/network/network.h"
#include "model/step/training_step.h"
#include "model/unroll/step_options.h"

namespace spillway {

// REQUIRES: InferShapes(network) succeeded.
TrainingStep BuildTrainingStep(const Network& network, const StepOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_MODEL_UNROLL_UNROLL_H_
