// Lower bounds on the time of a step, whatever the plan, under a cost model.
//
// "Whatever the plan" means: any Plan that CheckPlan accepts within a Scope, on a machine that is never faster than its
// cost model: copies slow kernels down as it says (Cost::copy_slowdown), the host and copies that meet only add.
#ifndef SPILLWAY_SIM_BOUNDS_BOUNDS_H_
#define SPILLWAY_SIM_BOUNDS_BOUNDS_H_

#include <vector>

#include "model/cost/cost_model.h"
#include "sim/bounds/memory_bound.h"
#include "sim/bounds/scope.h"
#include "sim/program/step_tables.h"

namespace spillway {

inline constexpr const char* kInstantBinds = "instant";

struct Bounds {
  // Every op once, in the fastest way that fits, without stalls but for the upload that the first op waits for (none
  // where it may be streamed).
  Nanos compute = 0;
  Nanos transfer = 0;  // bytes that must cross the link even if recomputation were free: the input's upload
  // Linear program (sim/bounds/memory_bound.h): at every op boundary the bytes beyond capacity are on the host, to be
  // recomputed, or saved by a smaller workspace; the step takes at least compute + recomputation, and at least the
  // copies of each direction. (PoocH's problem, relaxed.) Equal to `compute` where everything fits, and where nothing
  // does: whether a plan exists at all is not for a bound to say. Where operands may be streamed it says nothing, as
  // they need not be on the device, nor in unified memory: `compute` again.
  Nanos memory = 0;
  // What one instant imposes (sim/bounds/cut_bound.h), the best of a few: each value needed later is kept, was copied
  // out or is recomputed with all it takes. 0 where everything fits, and where nothing does.
  Nanos instant = 0;
  Nanos Best() const;
  const char* Binding() const;  // "compute", "transfer", "memory" or "instant": the largest, the first of equals
};

// By row of StepTables::launches: CostModel::Menu.
using LaunchMenus = std::vector<std::vector<MenuEntry>>;
LaunchMenus MenusOf(const StepTables& tables, const CostModel& costs);

// ---- Rates: how fast an op can be in parts along the batch, whatever its parts, and in tiles of these.
//
// A part of b samples takes t(b, w) at least, within a workspace of w bytes. So parts that are all n samples of an op
// take at least n times the least of t(b, w) / b over all b: a bound of every division, without looking at any. Tiles
// likewise: each takes its time for its share of the op's volume (ShareOf), and the shares of all add up to 1.

struct PartRate {
  double nanos_per_sample = 0;
  Bytes workspace = 0;
  double beside_copies = 0;  // nanoseconds per sample while copies run all along, as OpWay has it
};

constexpr std::int64_t kMostRatedSamples = 2048;
// Those that no other one beats in both, the fastest first; empty: the launch has no parts. Asks for the menu of every
// size of a part, some 30 us each. Of more samples than kMostRatedSamples none is asked for, and parts take what no
// kernels are below (CostModel::LeastTime): a low bound, but a true one.
std::vector<PartRate> PartRatesOf(const Launch& launch, const CostModel& costs, int device = 0);
// The same of tiles: up to as many ranges of each axis. Asks for every size of a tile, with and without its padding;
// where those are more than kMostRatedTiles none is asked for, as above.
constexpr std::size_t kMostRatedTiles = 4096;
std::vector<PartRate> TileRatesOf(const Launch& launch, const CostModel& costs, const TileCounts& most, int device = 0);

// By row of StepTables::launches: of those that may have parts in the scope.
using LaunchPartRates = std::vector<std::vector<PartRate>>;
LaunchPartRates PartRatesOf(const StepTables& tables, const CostModel& costs, PartScope parts,
                            const TileCounts& tiles = {});

// ---- Bounds.

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
