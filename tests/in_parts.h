// Steps of small networks in batch parts.
#ifndef SPILLWAY_TESTS_IN_PARTS_H_
#define SPILLWAY_TESTS_IN_PARTS_H_

#include "model/network/network.h"
#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"

namespace spillway {

// Of a network whose layers keep the batch as it is.
inline Network WithBatch(const Network& network, std::int64_t batch) {
  Network other = network;
  other.input.n = batch;
  for (Layer& layer : other.layers) layer.shape.n = batch;
  return other;
}

inline TrainingStep InParts(const Network& network, const StepOptions& options, std::int64_t parts) {
  StepsInParts steps(network.input.n,
                     [&](std::int64_t batch) { return BuildTrainingStep(WithBatch(network, batch), options); });
  return steps.In(parts).all.step;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_IN_PARTS_H_
