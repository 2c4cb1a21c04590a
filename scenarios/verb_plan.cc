// spillway plan: the best plan of one point, as a file that can be edited and run.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "scenarios/command.h"
#include "scenarios/output_folder.h"
#include "scenarios/run.h"

namespace spillway {

namespace {

bool SamePlace(const ResultRow& a, const ResultRow& b) {
  return a.scenario == b.scenario && a.network == b.network && a.batch == b.batch && a.machine == b.machine &&
         a.memory_limit == b.memory_limit;
}

void MustBeOnePlace(const PreparedRun& run) {
  const ResultRow& first = run.points.front().row;
  for (const Point& point : run.points) {
    if (SamePlace(first, point.row)) continue;
    throw UserError(fmt::format(
        "plan: the scenario has more than one point, among them {} at batch {} on {} and {} at batch {} on {}; choose "
        "one by --machine, --batch, --memory",
        first.network, first.batch, first.machine, point.row.network, point.row.batch, point.row.machine));
  }
}

}  // namespace

ExitCode PlanVerb(const Command& command, Console& console) {
  const PreparedRun run = PrepareCommand(command, false);
  MustBeOnePlace(run);
  std::vector<ResultRow> rows;
  std::optional<PointResult> best;
  RunPoints(run, JobsOf(command), [&](const Point&, PointResult& result) {
    rows.push_back(result.row);
    if (result.row.feasible && (!best || result.row.step_time < best->row.step_time)) best = std::move(result);
  });
  if (!best) {
    for (const ResultRow& row : rows) console.err << row.strategy << ": " << row.reason << "\n";
    for (const std::string& message : PointsWithoutStrategy(run, rows)) console.err << message << "\n";
    return kExitNothingFits;
  }
  const std::string text = PlanToYaml(best->plan, best->step->step);
  if (command.out.empty() || command.out == "-") {
    console.out << text;
  } else {
    WriteFile(command.out, text);
    console.err << fmt::format("{}: {} with {:.1f} images/s\n", command.out, best->row.strategy,
                               best->row.SamplesPerSecond());
  }
  return kExitDone;
}

}  // namespace spillway
