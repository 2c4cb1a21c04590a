// Conversions between GapChoices, the search's form of a decision, and Plans.
//
//   AllKept      the choice that swaps and recomputes nothing
//   PlanOf       from choices to a Plan
//   ChoicesOf    from a Plan, or from the best choice of the cut bound, to choices
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_PLANS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_PLANS_H_

#include "sim/bounds/cut_bound.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/best/gap_model.h"

namespace spillway {

// Every gap kept and every op in its usual way, but for streamed gaps, which are always swapped
// (GapTables::Gap::streamed).
GapChoices AllKept(const GapTables& tables);

// The plan of strategy "best" for these choices. `model` judges them once more, because a plan also names the ops at
// which copies are issued: each swap-in as late as it can be issued without starting later. `reason` goes into each
// GapDecision.
Plan PlanOf(const Problem& problem, GapModel& model, const GapChoices& unsettled, const std::string& reason);

// The decisions of `plan` on gaps that the tables have, and on ops without tiles and streamed operands; other decisions
// are left out. If the tables lack the plan's way of an op, the op gets the fastest way with at most the plan's
// workspace.
GapChoices ChoicesOf(const GapTables& tables, const Plan& plan);

// Swaps or recomputes the gaps over CutBound::op as the cheapest choice at that op does (sim/bounds/cut_bound.h). All
// other gaps, and all ops, are as in `kept`.
GapChoices ChoicesOf(const GapTables& tables, const CutBound& cut, const GapChoices& kept);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_PLANS_H_
