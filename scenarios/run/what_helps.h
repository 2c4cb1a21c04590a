// Where a run's fastest strategies stand, planned again with more memory and behind other links (reports/what_helps.h).
#ifndef SPILLWAY_SCENARIOS_RUN_WHAT_HELPS_H_
#define SPILLWAY_SCENARIOS_RUN_WHAT_HELPS_H_

#include <functional>
#include <vector>

#include "reports/what_helps.h"
#include "scenarios/run/run.h"

namespace spillway {

// Of every place where something runs, in the order of the rows. Left out: plans from files and those made for another
// machine, which are not planned again. Plans three times more than the fastest strategy of each place did, with `jobs`
// threads. `stop` ends it early, as in RunPoints: with the places that are done. REQUIRES: `rows` are of the run's first
// points, in their order.
std::vector<WhatHelps> FindWhatHelps(const PreparedRun& run, const std::vector<ResultRow>& rows, int jobs,
                                     Console& console, const std::function<bool()>& stop = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_WHAT_HELPS_H_
