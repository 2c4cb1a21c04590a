// Plans with the margin that an arena needs.
#ifndef SPILLWAY_SIM_PLANNING_HEADROOM_H_
#define SPILLWAY_SIM_PLANNING_HEADROOM_H_

#include "sim/evaluate/oracle.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/problem.h"

namespace spillway {

// A strategy counts bytes; an arena's layout needs up to some per cent more, depending on the plan. A plan that moves
// anything in an arena is therefore asked for again within 97, 94 and 91 % of the capacity (with a quarter of the
// simulations each, where a strategy counts them by capacity), and the one that evaluates fastest under the whole
// capacity is returned. A pool has no addresses: its plan is returned as it is. A bound that comes with it is that of
// the whole capacity. Strategies that judge their plans themselves are asked once. `memo`: of the run that asks.
// REQUIRES: `oracle` is the problem's.
Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem, const Oracle& oracle, PlanCache& memo);
// With an oracle and a memo of its own.
Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_HEADROOM_H_
