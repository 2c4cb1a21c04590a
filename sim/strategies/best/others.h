// The plans of the other strategies of the table, which `best` begins with.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_OTHERS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_OTHERS_H_

#include <vector>

#include "model/util/thread_pool.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/best/contest.h"

namespace spillway {

struct JudgedPlan {
  Planned planned;
  PlanJudgement judged;  // where it is feasible
};
struct Asked {
  const Strategy* strategy = nullptr;
  Future<JudgedPlan> answer;
};

// Of every strategy that says `which`, in the order of the table, for the whole batch at once and without parameters.
// `contest` judges; none of its winners matters. All but the problem must outlive the answers.
std::vector<Asked> AskOthers(ForBest which, const Problem& problem, const Contest& contest, PlanCache& memo,
                             ThreadPool& helpers);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_OTHERS_H_
