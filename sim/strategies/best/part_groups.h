// Groups of consecutive ops that run together, one part of the batch after another. A tensor that the ops of a group
// pass to each other never exists whole. A step needs such groups if single ops do not fit into the memory.
//
//   relu:backward  reads y, dy, writes dx |                       whole     y, dy, dx             at once
//   conv:backward  reads dx, writes dw    |  dx, used in here     in parts  y, dy, a part of dx   at once
//                                            alone: inner
//
// This is layer fusion along the batch, as in ooc_cuDNN's fused functions (sim/strategies/ooc_cudnn/fused_functions.h).
// Here a group may hold any ops that compute each sample separately, and all other operands stay on the device if they
// fit.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_PART_GROUPS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_PART_GROUPS_H_

#include <cstdint>
#include <vector>

#include "sim/program/step_tables.h"
#include "sim/strategies/best/divided_ways.h"

namespace spillway {

struct PartGroup {
  OpId first = kNoOp, end = kNoOp;  // ops [first, end), all of forward or all of backward
  std::int64_t parts = 0;           // number of equal parts
  // Tensors with tiles in place of buffers. `inner`: only ops of the group use them; no copy is needed. `brought`: made
  // before the group and used last in it; copied in from the host part by part.
  std::vector<TensorId> inner, brought;
  bool operator==(const PartGroup&) const = default;
};

// Groups around ops that need more than `most` bytes alone. Each group is the smallest that needs at most `most` bytes.
//
// A group grows by ops that share a tensor which becomes inner, as long as that lowers the bytes needed. If this does
// not suffice, tensors are brought from the host, the largest first. Parts are so small that tiles take a small share
// of `most`, if the batch has such a divisor. Groups are disjoint and ascend. Recorded steps have none. An op that
// cannot run in parts, or that no group helps, is in no group.
std::vector<PartGroup> GroupsOver(const StepTables& tables, Bytes most);

// The ways in which an op of a group may run, the fastest first: one for each algorithm, the same in all parts.
std::vector<DividedWay> WaysInParts(const CostModel& costs, const Launch& whole, std::int64_t parts, int device);

// Bytes of the tiles that are on the device at the same time.
Bytes TileBytes(const StepTables& tables, const PartGroup& group);

// The decision of the group's `op`, without its parts.
OpDecision DecisionInGroup(const StepTables& tables, const PartGroup& group, OpId op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_PART_GROUPS_H_
