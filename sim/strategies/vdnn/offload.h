// What vDNN moves and when: which inputs of layers leave the device, and at the backward of which layer each comes back
// (Rhu et al., vDNN: Virtualized Deep Neural Networks for Scalable, Memory-Efficient Neural Network Design, MICRO 2016,
// arXiv 1602.08124).
#ifndef SPILLWAY_SIM_STRATEGIES_VDNN_OFFLOAD_H_
#define SPILLWAY_SIM_STRATEGIES_VDNN_OFFLOAD_H_

#include <cstdint>
#include <vector>

#include "sim/plan/plan.h"

namespace spillway::vdnn {

enum class Offload : std::uint8_t {
  kNone,
  kConvolutions,  // inputs of convolutions
  kAll,           // inputs of all layers that have a buffer of their own
};

// One decision for each map that is offloaded and that backward uses; copies in are in the order of their prefetch.
//
// The managed layers are those that extract features: what the classifier reads, from the first fully connected layer on,
// stays (where there is none, what the last layer before the loss reads). A layer that works in place has no buffer.
//
// Out: beside the last layer that reads the map (its reference count), from that layer's start; the network's input is on
// the host already. In: when the backward of layer n begins, the inputs of the nearest layer before n that has any on the
// host; no layer before the nearest convolution is looked at, so that nothing comes too early. What was not prefetched is
// fetched when its own layer begins.
std::vector<GapDecision> OffloadDecisions(const TrainingStep& step, Offload offload);

}  // namespace spillway::vdnn

#endif  // SPILLWAY_SIM_STRATEGIES_VDNN_OFFLOAD_H_
