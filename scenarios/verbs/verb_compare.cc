// spillway compare: one scenario on two machines, side by side.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "hw/text/lists.h"
#include "reports/expectation.h"
#include "reports/reports.h"
#include "scenarios/run/run.h"
#include "scenarios/verbs/command.h"
#include "scenarios/verbs/interrupts.h"

namespace spillway {

namespace {

// The two machines, by label, in the order of the points.
std::vector<std::string> MachineLabels(const PreparedRun& run) {
  std::vector<std::string> labels;
  for (const Point& point : run.points) {
    AddOnce(labels, point.row.machine);
  }
  return labels;
}

}  // namespace

ExitCode CompareUntil(const Command& command, Console& console, const std::function<bool()>& stop) {
  const PreparedRun run = PrepareCommand(command, false);
  const std::vector<std::string> machines = MachineLabels(run);
  if (machines.size() != 2) {
    throw UserError("compare: expected two machines, found " + std::to_string(machines.size()) +
                    "; name them by --machines A,B");
  }
  ResultSet results;
  const auto done = [&run, &command, &console, &results, &stop] {
    Progress progress(console, "point", run.points.size());
    const auto sink = [&](const Point&, PointResult& result) {
      results.rows.push_back(std::move(result.row));
      progress.Step();
    };
    return RunPoints(run, JobsOf(command), sink, 0, stop);
  };
  if (!done()) {
    console.err << fmt::format("interrupted: {} of {} points are done; compare keeps nothing\n", results.rows.size(),
                               run.points.size());
    return kExitInterrupted;
  }
  console.out << CompareTable(results, machines[0], machines[1]);
  const std::vector<Verdict> verdicts = Judge(results.rows, run.expectations);
  const std::set<const ResultRow*> expected = ExpectedNotToRun(verdicts);
  const std::vector<std::string> stuck =
      PointsWithoutStrategy(run, results.rows, [&](const ResultRow& row) { return expected.contains(&row); });
  for (const std::string& message : stuck) console.err << message << "\n";
  return stuck.empty() ? kExitDone : kExitNothingFits;
}

ExitCode CompareVerb(const Command& command, Console& console) {
  Interrupts interrupts;  // before there are threads
  return CompareUntil(command, console, StopBetweenPoints(interrupts, console.err));
}

}  // namespace spillway
