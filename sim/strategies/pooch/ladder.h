// The ladder of capacities, on which a search is made whose result depends on where it was stopped.
//
// What a capped search finds, and what step 2 gains from it, may be less with a little more memory. So both are made for
// a ladder of smaller capacities, the same ones whatever the capacity, and what is found for each rung is judged at the
// capacity that there is. What is found depends on the rung alone: where a search is cut, it is cut by what it spent on
// that rung. Classes that fit also fit with more memory, and are no slower in the model; so the fastest of all rungs is
// no slower with more memory either, as far down as the ladder reaches.
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_LADDER_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_LADDER_H_

#include <cstdint>

#include "model/util/once_cache.h"
#include "sim/strategies/pooch/search.h"

namespace spillway {

// The highest rung up to `capacity`: that many of its leading bits, all others 0.
Bytes RungBelow(Bytes capacity, int leading_bits = 6);

// What pooch's parameters of the same names replace.
struct LadderLimits {
  std::int64_t rungs = 12;    // at most, from the highest one down: a sixth of the memory or more
  std::int64_t step1 = 833;   // simulations of step 1 on each rung (SearchKeepOrSwap's cap)
  std::int64_t step2 = 5000;  // of step 2, about
  bool operator==(const LadderLimits&) const = default;
};
// Networks of many maps take as many rounds of step 2, over all of them: they have fewer rungs, each searched to its
// end. By the step alone, so that the law holds.
LadderLimits LimitsFor(const TrainingStep& step);

// What the classes found for a rung depend on.
struct RungQuestion {
  const TrainingStep* step = nullptr;
  const CostModel* costs = nullptr;
  int device = 0;
  BackwardUnits units = BackwardUnits::kLayers;
  bool recompute = false;    // step 2 follows
  bool keep_passed = false;  // in step 2
  LadderLimits limits;
  Bytes rung = 0;  // without what is persistent
  bool operator==(const RungQuestion&) const = default;
};

struct RungAnswer {
  bool feasible = false;  // swapping everything fits
  bool exact = false;     // step 1 was not stopped
  Classes classes;
  std::int64_t simulations = 0;  // spent when it was first made
};

// The rungs of a run that were made already: capacities close to each other have most of theirs in common, and
// strategies share their step 1.
class RungCache : public OnceCache<RungQuestion, RungAnswer> {
 public:
  RungCache() : OnceCache(1000) {}
};

struct Ladder {
  Classes best;            // the fastest at the capacity that there is
  Nanos total = kNever;    // kNever: swapping everything fits on no rung
  std::int64_t rungs = 0;  // on which it fits
  Bytes found_for = 0;     // the rung of `best`
  Bytes lowest = 0;        // the last rung; 0: `best` moves nothing that costs time, so that none below can be faster
  bool exact = true;       // step 1 was stopped on no rung
};

// `like`: for which search, and with which limits. `memo`: of the run, or none; `like` has to tell apart what shares it.
// Adds to search.simulations what every rung takes, whether it was made here or not.
Ladder SearchLadder(Search& search, const RungQuestion& like, RungCache* memo);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_LADDER_H_
