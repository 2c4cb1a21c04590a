// What one search of `best` comes to: plans, already judged by the full path. It follows from the search's order and start
// alone, so that helpers may make it before it is known whether it will be wanted.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_FOUND_PLANS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_FOUND_PLANS_H_

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "sim/planning/strategy.h"
#include "sim/strategies/best/contest.h"
#include "sim/strategies/best/rung_searches.h"
#include "sim/strategies/best/search_space.h"

namespace spillway {

struct SearchOrder {
  const SearchSpace* space = nullptr;
  RungSearch search;
  Bytes rung = 0;             // the capacity that it is made for
  std::vector<Bytes> around;  // those that it goes on for, around what it has found
  std::int64_t judgements = 0;
  std::uint64_t seed = 0;
  bool insist = false;
};

struct FoundPlan {
  GapChoices choices;
  Bytes rung = 0;
  Plan plan;
  PlanJudgement judged;
};

struct FoundPlans {
  bool insisted = false;         // as Annealed has it
  std::vector<FoundPlan> plans;  // the search's own, then those around it; none: nothing fits
};

// `contest` judges; none of its winners matters. `by`: the plans' reasons. Stopped: anything.
FoundPlans FindPlans(const Problem& problem, const Contest& contest, const SearchOrder& order, const GapChoices& start,
                     const std::string& by, const std::stop_token& stop);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_FOUND_PLANS_H_
