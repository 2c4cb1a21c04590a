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
