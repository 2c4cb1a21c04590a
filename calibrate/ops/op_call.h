// What a device has to know of an op to compute it: its launch, and what costs do not depend on.
#ifndef SPILLWAY_CALIBRATE_OPS_OP_CALL_H_
#define SPILLWAY_CALIBRATE_OPS_OP_CALL_H_

#include "model/step/launch.h"

namespace spillway {

struct OpCall {
  Launch launch{};
  OpDetails details{};
  bool operator==(const OpCall&) const = default;
};
OpCall CallOf(const Op& op);
// For measuring a launch by itself: add and concat get equal operands, a buffer each; a slice is of the centre.
OpCall CallOf(const Launch& launch);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_OPS_OP_CALL_H_
