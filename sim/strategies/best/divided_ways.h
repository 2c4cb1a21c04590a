// Ways to run ops in parts along the batch, for searches to choose from in addition to whole ops: single convolutions,
// and groups of ops that run together.
//
// A convolution in parts may run faster algorithms in less workspace (micro-cuDNN, arXiv 1804.04806;
// sim/strategies/ucudnn/). Only ways that pay for sure are looked at: in at least 90 % of the common draws of the cost
// model's errors such a way is faster than the fastest whole one in no more workspace, or there is no whole one.
//
// A group is ops in a row that run together, one part of the batch after another. Tensors that they pass on among
// themselves are never there whole. A step needs groups where single ops do not fit.
//
//   relu:backward  reads y, dy, writes dx |                       whole     y, dy, dx             at once
//   conv:backward  reads dx, writes dw    |  dx, used in here     in parts  y, dy, a part of dx   at once
//                                            alone: inner
//
// Groups are layers fused along the batch, as ooc_cuDNN's fused functions (sim/strategies/ooc_cudnn/fused_functions.h),
// but of any ops that compute each sample by itself, and with everything else in place where it fits.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_

#include <cstdint>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"
#include "sim/program/step_tables.h"

namespace spillway {

struct DividedWay {
  Nanos time = 0;       // of all kernels, alone
  Bytes workspace = 0;  // of the part that needs most
  double slowdown = 1;  // factor on the time while a copy runs
  std::vector<OpPart> parts;
};

// Of two parts or more, in powers of two and what is left, within `limit` bytes of workspace: none beats another in both
// time and workspace, ascending in workspace. None of what is no convolution, or has no algorithms by name.
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

// Groups around ops that take more than `most` bytes by themselves, each as small as makes it take no more: ops that
// share what would be inner then join, as long as all of them take less together; what does not help so is brought from
// the host, the largest first. In parts so small that their tiles take a small share of `most`, where the batch has
// such a divisor. Ascending, disjoint; none in recorded steps. Ops that cannot run in parts, and those that nothing
// helps, are in none.
std::vector<PartGroup> GroupsOver(const StepTables& tables, Bytes most);

// The ways in which an op of a group may run: by each of its algorithms, all parts alike; the fastest first.
std::vector<DividedWay> WaysInParts(const CostModel& costs, const Launch& whole, std::int64_t parts, int device);

// Bytes of the tiles that are there at once.
Bytes TileBytes(const StepTables& tables, const PartGroup& group);

// What the group's `op` decides, without its parts.
OpDecision DecisionInGroup(const StepTables& tables, const PartGroup& group, OpId op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_
