// From classes of maps and a schedule of swap-ins to a Plan.
#ifndef SPILLWAY_SIM_STRATEGIES_POOCH_CLASSIFY_H_
#define SPILLWAY_SIM_STRATEGIES_POOCH_CLASSIFY_H_

#include <string>
#include <vector>

#include "sim/planning/strategy.h"
#include "sim/strategies/pooch/search.h"

namespace spillway {

// Adds to `plan` one decision per map that is not kept, for the gap between its forward and its backward uses. Swaps
// come first, in the order of the last simulation's swap-ins, each issued at the first op of its timing; a swapped map
// that the simulation never brought back is left alone. `notes`: by map, put behind the reason; may be empty.
// REQUIRES: the last simulation of `search` was of `classes`, and came to its end.
void AddDecisions(const Search& search, const Classes& classes, const std::vector<std::string>& notes, Plan& plan);

// Its timings are the backward units of the problem's runtime, if that overrides.
PoochModel MakeModel(const Problem& problem);

// "out_of_memory: needs 17.3 GB at op conv1:forward with every map swapped, 15.2 GB are usable".
Planned DoesNotFit(const Problem& problem, const PoochProfile& profile, const Simulation& simulation);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_POOCH_CLASSIFY_H_
