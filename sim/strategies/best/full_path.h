// Single decisions of the winner, changed one by one and judged by the full path: lowered, laid out, simulated. Stopped
// by count; the same every time, as all that helpers do is to judge what comes next before it is known whether it will.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_FULL_PATH_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_FULL_PATH_H_

#include <cstdint>
#include <string>

#include "model/util/thread_pool.h"
#include "sim/strategies/best/annealing.h"
#include "sim/strategies/best/gap_model.h"
#include "sim/strategies/best/rungs.h"

namespace spillway {

// Enters the plan of `choices`, then those of every other way of a single gap or op, the most promising in the model
// first, and goes on from whatever wins the contest, until none does or as many plans as the budget has were judged.
void ImproveChoices(const Problem& problem, GapModel& model, const std::string& by, const SearchBudget& budget,
                    GapChoices choices, Contest& contest, ThreadPool& helpers);

// Lets single copies back to the device of the winner begin earlier or later, and stays with what wins, until none does.
void ImproveMoments(std::int64_t most, Contest& contest, ThreadPool& helpers);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_FULL_PATH_H_
