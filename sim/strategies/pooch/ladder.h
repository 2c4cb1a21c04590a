// The ladder of capacities: fixed capacities (rungs) for which PoocH's search runs, so that more memory never gives a
// slower plan.
//
// A search that stops after a number of simulations may find worse classes with a little more memory. So the search
// runs for a ladder of rungs at and below the capacity, and each result is judged at the capacity itself. The result
// for a rung depends only on the rung, because the limits count simulations per rung. Classes that fit also fit with
// more memory, and are no slower in the model. So the fastest result of all rungs is no slower with more memory either,
// as far down as the ladder reaches.
//
// Example with 6 leading bits: a capacity of 1,000 MiB (binary 1111101000) has the rungs 992, 976, 960, ... MiB.
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_LADDER_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_LADDER_H_

#include <cstdint>

#include "model/util/once_cache.h"
#include "sim/strategies/pooch/search.h"

namespace spillway {

// The highest rung up to `capacity`: its leading bits are kept, all others are 0.
Bytes RungBelow(Bytes capacity, int leading_bits = 6);

// Limits of the search. Parameters of pooch with the same names replace them.
struct LadderLimits {
  std::int64_t rungs = 12;    // the most rungs, from the highest one down: a sixth of the memory or more
  std::int64_t step1 = 833;   // simulations of step 1 on each rung (SearchKeepOrSwap's cap)
  std::int64_t step2 = 5000;  // simulations of step 2 on each rung, about
  bool operator==(const LadderLimits&) const = default;
};
// The limits for a step. Step 2 takes a round over all maps for each map, so networks with many maps get fewer rungs,
// each searched to its end. The limits depend on the step alone, so that more memory never gives a slower plan.
LadderLimits LimitsFor(const TrainingStep& step);

// The key of RungCache: everything on which the classes found for a rung depend.
struct RungQuestion {
  const TrainingStep* step = nullptr;
  const CostModel* costs = nullptr;
  int device = 0;
  BackwardUnits units = BackwardUnits::kLayers;
  bool recompute = false;    // step 2 follows
  bool keep_passed = false;  // in step 2
  LadderLimits limits;
  Bytes rung = 0;  // bytes, without persistent tensors
  bool operator==(const RungQuestion&) const = default;
};

struct RungAnswer {
  bool feasible = false;  // swapping everything fits
  bool exact = false;     // step 1 was not stopped
  Classes classes;
  std::int64_t simulations = 0;  // spent when the answer was first made
};

// The run's cache of rungs. Capacities close to each other have most rungs in common, and strategies share step 1.
class RungCache : public OnceCache<RungQuestion, RungAnswer> {
 public:
  RungCache() : OnceCache(1000) {}
};

struct Ladder {
  Classes best;            // the fastest classes at the capacity of the problem
  Nanos total = kNever;    // kNever: swapping everything fits on no rung
  std::int64_t rungs = 0;  // number of rungs on which swapping everything fits
  Bytes found_for = 0;     // the rung of `best`
  Bytes lowest = 0;        // the last rung; 0: `best` moves nothing that costs time, so no lower rung can be faster
  bool exact = true;       // step 1 was stopped on no rung
};

// Searches all rungs. `like`: the search and its limits; its `rung` is not used. `memo`: the run's cache, or nullptr;
// searches that share it must differ in `like` if their answers differ. Adds the simulations of every rung to
// search.simulations, also for rungs that come from the cache.
Ladder SearchLadder(Search& search, const RungQuestion& like, RungCache* memo);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_LADDER_H_
