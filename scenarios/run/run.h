// Runs prepared points: plan, evaluate, make a row. Points are independent; results come in order whatever `jobs` is.
// The last ones are planned by several threads each, where there are fewer points left than jobs.
#ifndef SPILLWAY_SCENARIOS_RUN_RUN_H_
#define SPILLWAY_SCENARIOS_RUN_RUN_H_

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/rows/result.h"
#include "scenarios/output/console.h"
#include "scenarios/run/prepare.h"

namespace spillway {

struct PointResult {
  ResultRow row;
  Plan plan;              // of a feasible row
  Evaluation evaluation;  // of a feasible row
  double seconds = 0;     // wall-clock time spent; for run.json only
  std::shared_ptr<const PreparedStep> step;
};

// Calls `sink` once per point from `first` on, in the order of run.points, on the calling thread. An exception of a
// point or of the sink ends the run and is thrown here. `stop`, asked several times a second, ends it too: then false
// is returned, when the points that are being worked on are done; they go to no sink. What is held does not grow with
// the number of points: no more than some results wait for the sink, and of steps that the run does not keep there are
// as few. Without keep_steps the costs of a machine forget their answers when its last point is done.
bool RunPoints(const PreparedRun& run, int jobs, const std::function<void(const Point&, PointResult&)>& sink,
               std::size_t first = 0, const std::function<bool()>& stop = nullptr);

// ---- What RunPoints is made of (run_point.cc).

class StepCache;  // scenarios/run/step_cache.h
// Several threads may share a cache. `threads`: that may plan it, at most; the result does not depend on it.
PointResult RunPoint(const PreparedRun& run, const Point& point, StepCache& steps, int threads);

// Of the point on that machine of the run, with that much memory. Refers to `run` and `step`.
Problem ProblemOf(const PreparedRun& run, const Point& point, const TrainingStep& step, std::size_t machine,
                  Bytes capacity);

// ---- Places

// Of one network, batch, machine and memory limit of a scenario.
bool SamePlace(const ResultRow& a, const ResultRow& b);

// One message per (network, batch, machine, memory limit) at which no strategy fits; where a single op is the
// obstacle, its name, its working set and the limit that swapping every map would do with. None where every row is
// `expected` not to run.
std::vector<std::string> PointsWithoutStrategy(const PreparedRun& run, const std::vector<ResultRow>& rows,
                                               const std::function<bool(const ResultRow&)>& expected = {});

// ---- How the fastest strategies of places do with more memory and with other links (WhatHelps).

// Memory to add to a limit: 4 GB of a card, a quarter of a limit below 8 GB.
Bytes MoreMemory(Bytes limit);

struct HelpsAsked {
  bool links = true;  // about links too, which takes over forty plans a place
  // Places at most: of each network, machine and limit the largest batch comes first, then the next one.
  std::size_t places = std::numeric_limits<std::size_t>::max();
};

// Plans the fastest strategy of each place asked about again, in the order of the rows. Places where nothing runs are
// left out, and so are plans from files and those made for another machine, which are not planned again. Uses `jobs`
// threads. `stop` ends it early, as in RunPoints: with the places that are done. REQUIRES: `rows` are of the run's
// first points, in their order.
std::vector<WhatHelps> FindWhatHelps(const PreparedRun& run, const std::vector<ResultRow>& rows,
                                     const HelpsAsked& asked, int jobs, Console& console,
                                     const std::function<bool()>& stop = nullptr);

// ---- One point of a scenario, for the verbs that answer about a single one: plan, dump.

// Throws UserError, with how to choose, unless all points have one network, batch, machine and memory limit.
void MustBeOnePlace(const PreparedRun& run, const std::string& verb);

// The fastest of the points; what there is to say where none runs goes to the console's `err`.
std::optional<PointResult> BestOf(const PreparedRun& run, int jobs, Console& console);

// To the file, or to the console's `out` where it is "" or "-".
void WriteText(const std::string& file, const std::string& text, Console& console);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_RUN_RUN_H_
