// What a device has to know of an op to compute it: its launch, and what costs do not depend on.
#ifndef SPILLWAY_CALIBRATE_RUN_OP_CALL_H_
#define SPILLWAY_CALIBRATE_RUN_OP_CALL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/cost/launch.h"
#include "model/network/network.h"

namespace spillway {

// One operand of an add, or of a concat: channels [first_channel, first_channel + channels) of the whole.
struct OpSlice {
  std::size_t operand = 0;  // index into the op's reads; concat backward: into its writes
  std::int64_t first_channel = 0;
  std::int64_t channels = 0;
  bool operator==(const OpSlice&) const = default;
};

// A launch and what a Launch leaves out because costs do not depend on it.
struct OpCall {
  Launch launch{};
  std::vector<OpSlice> slices{};  // add, concat; an operand used twice is listed twice
  std::int64_t channels = 0;      // concat: of the whole; a backward op may write the gradients of some inputs only
  double dropout_rate = 0.5;
  bool input_gradient = true;  // batch norm backward: false where only the gradients of scale and shift are wanted
  bool operator==(const OpCall&) const = default;
};
// For measuring a launch by itself: add and concat get equal operands, a buffer each.
OpCall CallOf(const Launch& launch);
// REQUIRES: `step` was built from `network`.
OpCall CallOf(const Network& network, const TrainingStep& step, OpId id);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_RUN_OP_CALL_H_
