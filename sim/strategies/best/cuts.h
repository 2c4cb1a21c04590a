// The two cut bounds (sim/bounds/cut_bound.h) that `best` computes: one to claim for all plans, one to start searches
// from.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_CUTS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_CUTS_H_

#include "sim/bounds/cut_bound.h"
#include "sim/evaluate/oracle.h"

namespace spillway {

// A bound for all plans in the scope within `capacity` bytes, from more instants than the general bounds try.
CutBound CutToClaim(const StepFacts& facts, const Scope& scope, Bytes capacity);

// A choice to start a search with, computed as if copies slowed no kernel down. The search itself counts the slowdown.
// Starts that count it gave no better plans at eight points of ResNet-50 over PCIe and NVLink.
CutBound CutToStartFrom(const StepFacts& facts, const Scope& scope, Bytes capacity);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_CUTS_H_
