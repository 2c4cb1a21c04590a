// Ways to run a convolution in parts along its batch: faster algorithms in less workspace (micro-cuDNN, arXiv
// 1804.04806; sim/strategies/ucudnn/). A search chooses among these and the ways that run the convolution whole.
//
// Only ways that surely pay are offered: in at least 90 % of the common draws of the cost model's errors, the way must
// be faster than the fastest whole way with no more workspace. A way is also offered if no whole way has so little
// workspace.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_

#include <cstdint>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"
#include "sim/program/step_tables.h"

namespace spillway {

struct DividedWay {
  Nanos time = 0;       // all kernels together, alone
  Bytes workspace = 0;  // bytes of the part that needs most
  double slowdown = 1;  // factor on `time` while a copy runs
  std::vector<OpPart> parts;
};

// The ways with two or more parts within `limit` bytes of workspace, ascending in workspace; no way beats another in
// both time and workspace. Parts are powers of two in size, and the remainder. Empty for other ops, and for a
// convolution without named algorithms.
std::vector<DividedWay> DividedWaysOf(const CostModel& costs, const Launch& launch, Bytes limit, int device);

// ---- Groups.

struct PartGroup {
  OpId first = kNoOp, end = kNoOp;  // ops [first, end), all of forward or all of backward
  std::int64_t parts = 0;           // equal ones
  // What has tiles in place of buffers: used by these ops alone, which takes no copy; made before, used here last, and
  // brought from the host part by part.
  std::vector<TensorId> inner, brought;
  bool operator==(const PartGroup&) const = default;
};

// Builds a group around each op that takes more than `most` bytes by itself. A group grows only until it fits in
// `most`. At each step the ops that use one more tensor join: the tensor that lowers the group's bytes most. If no
// tensor does, the largest whole tensor is brought from the host. Parts are so small that all tiles take at most a 32nd of
// `most`, if the batch has such a divisor. Groups are ascending and disjoint; a recorded step has none. An op that
// cannot run in parts, or that fits in no group, is in none.
std::vector<PartGroup> GroupsOver(const StepTables& tables, Bytes most);

// The ways in which an op of a group may run: by each of its algorithms, all parts alike; the fastest first.
std::vector<DividedWay> WaysInParts(const CostModel& costs, const Launch& whole, std::int64_t parts, int device);

// Bytes of the tiles that are there at once.
Bytes TileBytes(const StepTables& tables, const PartGroup& group);

// What the group's `op` decides, without its parts.
OpDecision DecisionInGroup(const StepTables& tables, const PartGroup& group, OpId op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_
