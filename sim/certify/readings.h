// What the check of a certificate reads of a step and its costs, by code of its own. Internal to sim/certify/.
#ifndef SPILLWAY_SIM_CERTIFY_READINGS_H_
#define SPILLWAY_SIM_CERTIFY_READINGS_H_

#include <limits>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/bounds/scope.h"

namespace spillway::certifying {

struct Way {
  Nanos time = 0;
  Bytes workspace = 0;
};

constexpr Bytes kAnyRoom = std::numeric_limits<Bytes>::max();

// Every way to run the op that the scope has and that finds room for its workspace; where none does, the usual one.
std::vector<Way> WaysInScope(const Op& op, const CostModel& costs, const Scope& scope, Bytes room, int device);

// By op: the bytes of its operands, and of what stays on the device or never moves while it is wanted.
std::vector<Bytes> TakenBytes(const TrainingStep& step);

// Nanoseconds: no copy of so many bytes takes less, cut into pieces of `piece` bytes or more (0: in one).
double LeastCopy(const CostModel& costs, Direction direction, Bytes bytes, Bytes piece, int device);

}  // namespace spillway::certifying

#endif  // SPILLWAY_SIM_CERTIFY_READINGS_H_
