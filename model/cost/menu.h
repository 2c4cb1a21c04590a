// The menu of a launch: every way to run it that the costs can name. What planners choose from and bounds may assume.
//
// A grant of workspace is a wish, not an order: within it the library takes the algorithm that it believes in, which need
// not be faster with more (a measured row that fits comes before a faster model). So the menu lists what is chosen at
// every grant and assumes no order.
#ifndef SPILLWAY_MODEL_COST_MENU_H_
#define SPILLWAY_MODEL_COST_MENU_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/cost/cost_model.h"

namespace spillway {

// The answers of `ask`, which never wants more with less granted: first what it chooses by itself, the largest grant
// first, then in the same way each of `algorithms` (as in Launch) that it has. At every grant up to kMostWorkspace at
// which the launch can run, one of the entries of the same `algorithm` is its cost. Empty: the library refuses the launch
// (Cost::calls). Deterministic.
std::vector<MenuEntry> MenuOf(Launch launch, std::span<const std::int32_t> algorithms,
                              const std::function<Cost(const Launch&)>& ask);

// The entries that no other one beats in both workspace and time, the fastest first; of equal ones the first.
std::vector<MenuEntry> ParetoSet(std::vector<MenuEntry> menu);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_MENU_H_
