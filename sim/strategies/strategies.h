// The table of strategies: what table.inc lists, by name.
#ifndef SPILLWAY_SIM_STRATEGIES_STRATEGIES_H_
#define SPILLWAY_SIM_STRATEGIES_STRATEGIES_H_

#include <string>
#include <vector>

#include "sim/planning/strategy.h"

namespace spillway {

const std::vector<Strategy>& Strategies();                // in the order of table.inc
const Strategy* FindStrategy(const std::string& name);    // nullptr: there is none
const Strategy& StrategyByName(const std::string& name);  // UserError with the nearest name

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_STRATEGIES_H_
