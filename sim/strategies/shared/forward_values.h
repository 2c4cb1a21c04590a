// The results of forward as chains of checkpoints see them: in the order in which they are complete, with the points that
// every path goes through.
//
// Tested by chen_test and checkpoint_blocks_test (tests/sim/).
#ifndef SPILLWAY_SIM_STRATEGIES_SHARED_FORWARD_VALUES_H_
#define SPILLWAY_SIM_STRATEGIES_SHARED_FORWARD_VALUES_H_

#include <vector>

#include "sim/plan/plan.h"

namespace spillway {

// What an op of forward makes; or the input.
struct ForwardValue {
  TensorId tensor = kNoTensor;
  OpId first = kNoOp, complete = kNoOp, last = kNoOp;  // forward ops: its first and last writer, its last use
  MapGap gap{};                                        // of a map that backward uses
  bool candidate = false;  // on every path from the input to the loss, read again in forward and in backward
  bool IsInput() const { return first == kNoOp; }
  bool IsWantedAgain() const { return gap.before != kNoOp; }
};

// By `complete`; inputs first.
std::vector<ForwardValue> ForwardValuesOf(const TrainingStep& step);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_SHARED_FORWARD_VALUES_H_
