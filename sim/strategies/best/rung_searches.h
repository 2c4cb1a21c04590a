// The searches that `best` makes over one space: on which rungs of the ladder, from where, how hot and how long.
//
// Whether an arena finds addresses for a plan, and how late copies are for them, is chance to a search that knows of none: of
// 62 plans found for ResNet-50 8 found no addresses, and the others took 0.03 % more than the model says in the median, but
// 0.8 % in the mean. A plan for a little less memory may do better. So around what each search has found it goes on, hardly
// warm, on the first few rungs, which takes a sixth of the judgements that annealing has, and settling around each, 3000 at most.
//
// A little more memory is another chance, too, and may be a worse one. So in arenas the long searches are made on a ladder
// with fewer rungs, the two highest that there are, with the rung as their seed: what is found with less memory is then
// mostly found with more as well.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_RUNG_SEARCHES_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_RUNG_SEARCHES_H_

#include <cstdint>
#include <stop_token>
#include <vector>

#include "sim/strategies/best/annealing.h"

namespace spillway {

struct RungSearch {
  enum class From : std::uint8_t { kAllKept, kCut, kFastest };
  int rung = 0;  // below the highest one
  From from = From::kAllKept;
  double hottest = 0;   // as AnnealingOptions has it
  int percent = 0;      // of all judgements
  bool usual = true;    // the others only where nothing runs yet, or nothing is close to the bound
  bool coarse = false;  // on the coarse ladder (rungs.h)
};

// Each in its order. kShared: the long ones on the coarse ladder, alike for all capacities between two of its rungs.
// kBoth: where there is so little to choose that time is no matter, and a tensor is as large as the way to the next rung.
enum class SearchList : std::uint8_t { kOwn, kShared, kBoth };
std::vector<RungSearch> RungSearches(SearchList list);
constexpr int kLowestRung = 16;

// Rungs, from the highest one down, on which a search goes on around what it has found.
constexpr int kRungsAround = 5;

// Anneals from `start` and settles. `judgements`: of all searches; `seed`: equal ones search alike; `stop`: ends it early, with
// anything.
Annealed SearchRung(GapModel& model, const OpenChoices& open, const GapChoices& start, const RungSearch& search,
                    std::int64_t judgements, std::uint64_t seed, bool insist, const std::stop_token& stop = {});

// The same around `found`, on the rung that `model` has.
Annealed SearchAround(GapModel& model, const OpenChoices& open, const GapChoices& found, std::int64_t judgements,
                      std::uint64_t seed);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_RUNG_SEARCHES_H_
