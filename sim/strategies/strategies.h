// The functions behind the table of strategies, one file each.
#ifndef SPILLWAY_SIM_STRATEGIES_STRATEGIES_H_
#define SPILLWAY_SIM_STRATEGIES_STRATEGIES_H_

#include "sim/strategy.h"

namespace spillway {

Planned PlanInCore(const Problem& problem);
Planned PlanRecomputeAll(const Problem& problem);
Planned PlanSwapAllUnscheduled(const Problem& problem);
Planned PlanSwapAll(const Problem& problem);
Planned PlanSwapOpt(const Problem& problem);
Planned PlanPooch(const Problem& problem);
Planned PlanPoochKeepPassed(const Problem& problem);
Planned PlanPoochReleased(const Problem& problem);
Planned PlanSuperneurons(const Problem& problem);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_STRATEGIES_H_
