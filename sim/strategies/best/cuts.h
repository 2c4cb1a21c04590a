// The bounds of single instants that `best` asks for: what it claims of all plans, and what searches begin with.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_CUTS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_CUTS_H_

#include "sim/bounds/cut_bound.h"
#include "sim/evaluate/oracle.h"

namespace spillway {

// Of all plans in the scope within `capacity` bytes, by more instants than the general bounds look at.
CutBound CutToClaim(const StepFacts& facts, const Scope& scope, Bytes capacity);

// What to begin a search with. As if copies slowed no kernel down: the search counts that itself, and from cuts that do it
// came out no better on eight points of ResNet-50 behind PCIe and NVLink.
CutBound CutToStartFrom(const StepFacts& facts, const Scope& scope, Bytes capacity);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_CUTS_H_
