// How much a search of `best` may spend: counts, so that what comes out depends on no clock.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_EFFORT_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_EFFORT_H_

#include <cstddef>
#include <cstdint>

#include "sim/planning/strategy.h"

namespace spillway {

struct Effort {
  // By the problem's parameters and caps; less in large steps, in which each judgement takes longer, and where there is
  // little to choose. `choices`: gaps and ops that have any.
  Effort(const Problem& problem, std::size_t choices);

  std::int64_t judgements = 0;  // of the model, over whole ops, and as many over each other space
  std::int64_t judged = 0;      // plans, by the full path, around the best of them
  bool few_choices = false;     // so that more searches take no time
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_EFFORT_H_
