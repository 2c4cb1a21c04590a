// When swap-ins are issued: the rules of SwapInRule, and PoocH's last step.
#ifndef SPILLWAY_SIM_STRATEGIES_SWAP_IN_RULES_H_
#define SPILLWAY_SIM_STRATEGIES_SWAP_IN_RULES_H_

#include "sim/strategies/pooch/pooch_model.h"

namespace spillway {

// Sets `issue` of every swap-in in `scratch`, which holds them in order of need, from `scratch.load`, which is used up.
// In time linear in timings and swap-ins (kWhenRoom: a logarithm more).
void IssueSwapIns(const PoochProfile& profile, SwapInRule rule, SimulationScratch& scratch);

// Moves swap-ins of the last simulation to the latest timing at which issuing them changes no copy's time, which
// holds their memory for shorter (the code's last step).
void DelaySwapIns(SimulationScratch& scratch);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_SWAP_IN_RULES_H_
