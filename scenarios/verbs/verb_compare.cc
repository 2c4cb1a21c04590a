// spillway compare: one scenario on two machines, side by side.
#include <set>

#include "hw/text/lists.h"
#include "reports/expectation.h"
#include "reports/reports.h"
#include "scenarios/run/run.h"
#include "scenarios/verbs/command.h"

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

ExitCode CompareVerb(const Command& command, Console& console) {
  const PreparedRun run = PrepareCommand(command, false);
  const std::vector<std::string> machines = MachineLabels(run);
  if (machines.size() != 2) {
    throw UserError("compare: expected two machines, found " + std::to_string(machines.size()) +
                    "; name them by --machines A,B");
  }
  ResultSet results;
  {
    Progress progress(console, "point", run.points.size());
    RunPoints(run, JobsOf(command), [&](const Point&, PointResult& result) {
      results.rows.push_back(std::move(result.row));
      progress.Step();
    });
  }
  console.out << CompareTable(results, machines[0], machines[1]);
  const std::vector<Verdict> verdicts = Judge(results.rows, run.expectations);
  const std::set<const ResultRow*> expected = ExpectedNotToRun(verdicts);
  const std::vector<std::string> stuck =
      PointsWithoutStrategy(run, results.rows, [&](const ResultRow& row) { return expected.contains(&row); });
  for (const std::string& message : stuck) console.err << message << "\n";
  return stuck.empty() ? kExitDone : kExitNothingFits;
}

}  // namespace spillway
