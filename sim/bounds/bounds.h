// Lower bounds on the time of a step, whatever the plan, under a cost model.
//
// "Whatever the plan" means: any Plan that CheckPlan accepts within a Scope, on a machine that is never faster than its
// cost model: copies slow kernels down as it says (Cost::copy_slowdown), the host and copies that meet only add.
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
  // Every op once, in the fastest way that fits, without stalls but for the upload that the first op waits for (none where
  // it may be streamed).
  Nanos compute = 0;
  Nanos transfer = 0;  // bytes that must cross the link even if recomputation were free: the input's upload
  // Linear program (sim/bounds/memory_bound.h): at every op boundary the bytes beyond capacity are on the host, to be
  // recomputed, or saved by a smaller workspace; the step takes at least compute + recomputation, and at least the
  // copies of each direction. (PoocH's problem, relaxed.) Equal to `compute` where everything fits, and where nothing
  // does: whether a plan exists at all is not for a bound to say. Where operands may be streamed it says nothing, as they need
  // not be on the device, nor in unified memory: `compute` again.
  Nanos memory = 0;
  // What one instant imposes (sim/bounds/cut_bound.h), the best of a few: each value needed later is kept, was copied out or
  // is recomputed with all it takes. 0 where everything fits, and where nothing does.
  Nanos instant = 0;
  Nanos Best() const;
  const char* Binding() const;  // "compute", "transfer", "memory" or "instant": the largest, the first of equals
};

// By row of StepTables::launches: CostModel::Menu.
using LaunchMenus = std::vector<std::vector<MenuEntry>>;
LaunchMenus MenusOf(const StepTables& tables, const CostModel& costs);

// What the programs of memory and of an instant are about; as LowerBounds, which see.
BoundProblem BoundProblemOf(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus,
                            const LaunchPartRates& rates, Bytes capacity, const Scope& scope);

// `capacity`: bytes of device memory; an op's workspace is at most what its operands and what never moves leave of it.
// `menus`, `rates`: of `tables`, rates for the scope's parts. Not looked at, and may be empty: rates where the scope has
// PartScope::kNone, menus where it leaves no choice (Scope::LeavesNoChoice).
Bounds LowerBounds(const StepTables& tables, const CostModel& costs, const LaunchMenus& menus,
                   const LaunchPartRates& rates, Bytes capacity, const Scope& scope);
// The same with tables and menus of its own. REQUIRES: the machine links `device` to a host.
Bounds LowerBounds(const TrainingStep& step, const CostModel& costs, Bytes capacity, const Scope& scope,
                   int device = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_BOUNDS_H_
