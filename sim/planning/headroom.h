// Headroom: plans made for a little less memory than there is, because an arena needs more bytes than are live.
#ifndef SPILLWAY_SIM_PLANNING_HEADROOM_H_
#define SPILLWAY_SIM_PLANNING_HEADROOM_H_

#include "sim/evaluate/oracle.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/problem.h"

namespace spillway {

// Asks `strategy` for plans within 100, 97, 94 and 91 % of the capacity, and returns the plan that evaluates fastest
// under the whole capacity.
//
// A strategy counts live bytes; an arena's layout needs up to some per cent more, depending on the plan. The smaller
// capacities are asked only for arenas, and only if the plan moves anything. They get a quarter of the simulations
// each, if the strategy counts simulations by capacity. A pool has no addresses: its plan is returned as it is. A
// strategy that judges its plans itself (Strategy::judges) is asked once. A returned bound is that of the whole
// capacity. `memo` is the run's cache. REQUIRES: `oracle` is the problem's.
Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem, const Oracle& oracle, PlanCache& memo);
// As above, with an oracle and a cache of its own.
Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_HEADROOM_H_
