// What the searches of `best` begin with: plans of the other strategies of the table, and what single instants impose.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_STARTS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_STARTS_H_

#include <vector>

#include "model/util/thread_pool.h"
#include "sim/bounds/cut_bound.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/best/contest.h"

namespace spillway {

// ---- Plans of the other strategies.

struct JudgedPlan {
  Planned planned;
  PlanJudgement judged;  // where it is feasible
};
struct Asked {
  const Strategy* strategy = nullptr;
  Future<JudgedPlan> answer;
};

// Asks every strategy that says `which`, in the order of the table, for the whole batch at once and without parameters.
// `contest` judges the plans and enters none. All arguments but the problem must outlive the answers.
std::vector<Asked> AskOthers(ForBest which, const Problem& problem, const Contest& contest, PlanCache& memo,
                             ThreadPool& helpers);

// ---- Instants (sim/bounds/cut_bound.h).

// The bound that `best` claims: of all plans in the scope within `capacity` bytes, by more instants than the general
// bounds look at.
CutBound CutToClaim(const StepFacts& facts, const Scope& scope, Bytes capacity);

// The instant from which a search may start. It is found as if copies slowed no kernel down, which the search counts
// itself: searches from cuts that count it came out no better on eight points of ResNet-50 behind PCIe and NVLink.
CutBound CutToStartFrom(const StepFacts& facts, const Scope& scope, Bytes capacity);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_STARTS_H_
