// Lower bounds on the step time of every plan within a Scope, under a cost model.
//
// A bound holds for each Plan that CheckPlan accepts within the scope. It assumes a machine that is never faster than
// its cost model: copies slow kernels down as Cost::copy_slowdown says; the host and copies that meet only add time.
//
// Example: a step with compute 100 ms, transfer 5 ms, memory 120 ms and instant 130 ms has Best() = 130 ms and
// Binding() = "instant": no plan in the scope takes less than 130 ms.
#ifndef SPILLWAY_SIM_BOUNDS_BOUNDS_H_
#define SPILLWAY_SIM_BOUNDS_BOUNDS_H_

#include <vector>

#include "model/cost/cost_model.h"
#include "sim/bounds/memory_bound.h"
#include "sim/bounds/part_rates.h"
#include "sim/bounds/scope.h"
#include "sim/program/step_tables.h"

namespace spillway {

inline constexpr const char* kInstantBinds = "instant";

struct Bounds {
  // The time of every op once, each in the fastest way that fits, and of the upload that the first op waits for. A
  // first op that may stream its input waits for none.
  Nanos compute = 0;
  Nanos transfer = 0;  // the time of the copies that no recomputation can avoid: the input's upload
  // The linear program of sim/bounds/memory_bound.h. At every op, bytes beyond the capacity are on the host, to be
  // recomputed, or saved by a smaller workspace. The step takes at least compute + recomputation, and at least the
  // copies of each direction. (This is PoocH's problem, relaxed.) Equal to `compute` if everything fits, if some op
  // cannot fit in any way, if operands may be streamed, and for unified memory.
  Nanos memory = 0;
  // The cut bound of sim/bounds/cut_bound.h, the best of a few instants: each value needed later is kept, copied out or
  // recomputed with everything that this needs. 0 if everything fits, or if some op cannot fit in any way.
  Nanos instant = 0;
  Nanos Best() const;
  const char* Binding() const;  // "compute", "transfer", "memory" or "instant": the largest, the first of equals
};

// CostModel::Menu of each launch, by row of StepTables::launches.
using LaunchMenus = std::vector<std::vector<MenuEntry>>;
LaunchMenus MenusOf(const StepTables& tables, const CostModel& costs);

// The input of MemoryBound and BestCut. Arguments as for LowerBounds.
BoundProblem BoundProblemOf(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus,
                            const LaunchPartRates& rates, Bytes capacity, const Scope& scope);

// `capacity`: bytes of device memory. An op's workspace is at most the part of the capacity that its operands, and
// tensors that never move, leave free. `menus` and `rates` belong to `tables`, `rates` also to the scope's parts.
// `rates` may be empty if the scope has PartScope::kNone, `menus` if it leaves no choice (Scope::LeavesNoChoice).
Bounds LowerBounds(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus,
                   const LaunchPartRates& rates, Bytes capacity, const Scope& scope);
// As above, but makes tables and menus itself. REQUIRES: the machine links `device` to a host.
Bounds LowerBounds(const TrainingStep& step, const CostModel& costs, Bytes capacity, const Scope& scope,
                   int device = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_BOUNDS_H_
