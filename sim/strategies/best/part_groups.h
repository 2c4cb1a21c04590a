// Ops in a row that run together, one part of the batch after another, so that what they pass on among themselves is never
// there whole: what a step takes where single ops do not fit.
//
//   relu:backward  reads y, dy, writes dx |                       whole     y, dy, dx             at once
//   conv:backward  reads dx, writes dw    |  dx, used in here     in parts  y, dy, a part of dx   at once
//                                            alone: inner
//
// Layers fused along the batch, as ooc_cuDNN's fused functions (sim/strategies/ooc_cudnn/fused_functions.h), but of any
// ops that compute each sample by itself, and with everything else in place where it fits.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_PART_GROUPS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_PART_GROUPS_H_

#include <cstdint>
#include <vector>

#include "sim/program/step_tables.h"
#include "sim/strategies/best/divided_ways.h"

namespace spillway {

struct PartGroup {
  OpId first = kNoOp, end = kNoOp;  // ops [first, end), all of forward or all of backward
  std::int64_t parts = 0;           // equal ones
  // What has tiles in place of buffers: used by these ops alone, which takes no copy; made before, used here last, and
  // brought from the host part by part.
  std::vector<TensorId> inner, brought;
  bool operator==(const PartGroup&) const = default;
};

// Groups around ops that take more than `most` bytes by themselves, each as small as makes it take no more: ops that share
// what would be inner then join, as long as all of them take less together; what does not help so is brought from the host,
// the largest first. In parts so small that their tiles take a small share of `most`, where the batch has such a divisor.
// Ascending, disjoint; none in recorded steps. Ops that cannot run in parts, and those that nothing helps, are in none.
std::vector<PartGroup> GroupsOver(const StepTables& tables, Bytes most);

// The ways in which an op of a group may run: by each of its algorithms, all parts alike; the fastest first.
std::vector<DividedWay> WaysInParts(const CostModel& costs, const Launch& whole, std::int64_t parts, int device);

// Bytes of the tiles that are there at once.
Bytes TileBytes(const StepTables& tables, const PartGroup& group);

// What the group's `op` decides, without its parts.
OpDecision DecisionInGroup(const StepTables& tables, const PartGroup& group, OpId op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_PART_GROUPS_H_
