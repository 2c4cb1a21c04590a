// Where a run's fastest strategies stand, planned again with more memory and behind other links (reports/rows/what_helps.h).
#ifndef SPILLWAY_SCENARIOS_RUN_WHAT_HELPS_H_
#define SPILLWAY_SCENARIOS_RUN_WHAT_HELPS_H_

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "reports/rows/what_helps.h"
#include "scenarios/run/run.h"

namespace spillway {

// 4 GB of a card, a quarter of a limit below 8 GB.
Bytes MoreMemory(Bytes limit);

struct HelpsAsked {
  bool links = true;  // about links too, which takes over forty plans a place
  // Places at most: of each network, machine and limit the largest batch comes first, then the next one.
  std::size_t places = std::numeric_limits<std::size_t>::max();
};

// Of every place asked about where something runs, in the order of the rows. Left out: plans from files and those made for
// another machine, which are not planned again. Uses `jobs` threads. `stop` ends it early, as in RunPoints: with the places
// that are done. REQUIRES: `rows` are of the run's first points, in their order.
std::vector<WhatHelps> FindWhatHelps(const PreparedRun& run, const std::vector<ResultRow>& rows,
                                     const HelpsAsked& asked, int jobs, Console& console,
                                     const std::function<bool()>& stop = nullptr);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_WHAT_HELPS_H_
