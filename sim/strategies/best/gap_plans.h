// Choices of GapTables and plans, there and back.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_GAP_PLANS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_GAP_PLANS_H_

#include "sim/bounds/cut_bound.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/best/gap_model.h"

namespace spillway {

// All kept that may be, all ops as usual.
GapChoices AllKept(const GapTables& tables);

// `model` judges them once more, for the moments of copies: each back as late as it could begin without being later.
Plan PlanOf(const Problem& problem, GapModel& model, const GapChoices& unsettled, const std::string& reason);

// What `plan` decides of the gaps that there are, and of ops that run whole; what else it decides is left out. Of a way that
// the tables do not have the fastest one that takes no more workspace.
GapChoices ChoicesOf(const GapTables& tables, const Plan& plan);

// What the best choice at one instant copies and recomputes (sim/bounds/cut_bound.h), ops as in `kept`, which keeps all.
GapChoices ChoicesOf(const GapTables& tables, const CutBound& cut, const GapChoices& kept);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_GAP_PLANS_H_
