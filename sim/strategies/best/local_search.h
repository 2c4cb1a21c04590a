// Local search over what is decided of single maps: on the timeline model, a hundred thousand times a second, then on the
// full path. Stopped by count; the same every time.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_LOCAL_SEARCH_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_LOCAL_SEARCH_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/strategies/best/class_plans.h"

namespace spillway {

// Changes each map by itself until none gains, or so many simulations are spent.
Simulation SettleInModel(ClassPlans& plans, const Allowed& allowed, std::int64_t simulations, Classes& classes);

// Changes a few at random, and stays with what is hardly slower in the model.
// `classes` become the fastest found; returns the model's simulation of them. REQUIRES: the classes fit.
Simulation ImproveInModel(ClassPlans& plans, const Allowed& allowed, std::int64_t simulations, Classes& classes);

// Enters the plan of `classes`, then those of every other class of a single map, the most promising in the model first,
// and goes on from whatever wins the contest, until none does or `most` plans were judged.
void ImproveOnFullPath(ClassPlans& plans, const std::string& by, std::int64_t most, Classes classes, Contest& contest);

// Lets single copies back to the device of the winner begin earlier or later, and stays with what wins, until none does.
void ImproveMoments(std::int64_t most, Contest& contest);

// Gives single ops of the winner another way of their menus and stays with what wins.
void ImproveOps(std::int64_t most, Contest& contest);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_LOCAL_SEARCH_H_
