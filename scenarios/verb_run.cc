// spillway run: every point of the scenarios, to the console and into a folder.
#include <fmt/format.h>

#include <chrono>
#include <ctime>

#include "reports/json_text.h"
#include "reports/report_table.h"
#include "scenarios/command.h"
#include "scenarios/output_folder.h"
#include "scenarios/run.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

// What a run took, by the wall clock: the one place in the results where this may appear.
struct Clocked {
  std::vector<std::pair<std::string, double>> points;
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

std::string RunJson(const Command& command, const Clocked& clocked) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - clocked.start).count();
  const std::time_t started = std::chrono::system_clock::to_time_t(clocked.started);
  std::tm utc{};
  gmtime_r(&started, &utc);
  char date[32] = "";
  (void)std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  std::string points;
  for (const auto& [point, took] : clocked.points) {
    points += fmt::format("{}\n  {}: {:.6f}", points.empty() ? "" : ",", JsonString(point), took);
  }
  return fmt::format(
      "{{\n \"version\": {},\n \"command\": {},\n \"started\": {},\n \"jobs\": {},\n \"wall_seconds\": {:.6f},\n"
      " \"point_seconds\": {{{}\n }}\n}}\n",
      JsonString(Version()), JsonString(command.line), JsonString(date), JobsOf(command), seconds, points);
}

void WritePoint(const fs::path& folder, const PointDetail& detail) {
  for (const Report& report : Reports()) {
    if (report.of_point == nullptr) continue;
    WriteFile(folder / ReportFile(report, detail.row.point), report.of_point(detail));
  }
}

void WriteRun(const fs::path& folder, const ResultSet& results) {
  for (const Report& report : Reports()) {
    if (report.of_run == nullptr || *report.file == '\0') continue;
    WriteFile(folder / report.file, report.of_run(results));
  }
}

void Print(const Command& command, const ResultSet& results, const std::vector<Verdict>& verdicts, Console& console) {
  for (const Report& report : Reports()) {
    if (report.of_run != nullptr && report.name == command.format) console.out << report.of_run(results);
  }
  if (verdicts.empty()) return;
  // With --format csv or json, standard output holds that and nothing else.
  std::ostream& stream = command.format == "table" ? console.out : console.err;
  stream << "\n" << ExpectationTable(verdicts);
}

bool AnyGateFailed(const std::vector<Verdict>& verdicts, Console& console) {
  std::size_t failed = 0;
  for (const Verdict& v : verdicts) failed += v.gate && !v.passed ? 1 : 0;
  if (failed > 0) console.err << failed << " of the expectations that are gates failed\n";
  return failed > 0;
}

}  // namespace

ExitCode RunVerb(const Command& command, Console& console) {
  Clocked clocked;
  const PreparedRun run = PrepareCommand(command);
  const ResultFolder folder(command.out);
  ResultSet results;
  results.expectations = run.expectations;
  {
    Progress progress(console, "point", run.points.size());
    RunPoints(run, JobsOf(command), [&](const Point& point, PointResult& result) {
      if (!command.out.empty() && result.row.feasible) {
        WritePoint(command.out, {result.row, run.steps[point.step]->step, run.machines[point.machine]->machine,
                                 result.plan, result.evaluation});
      }
      clocked.points.emplace_back(result.row.point, result.seconds);
      results.rows.push_back(std::move(result.row));
      progress.Step();
    });
  }
  if (!command.out.empty()) {
    WriteRun(command.out, results);
    WriteFile(fs::path(command.out) / "run.json", RunJson(command, clocked));
  }
  const std::vector<Verdict> verdicts = Judge(results.rows, results.expectations);
  Print(command, results, verdicts, console);
  const std::vector<std::string> stuck =
      PointsWithoutStrategy(run, results.rows, [&](const ResultRow& row) { return ExpectedNotToRun(verdicts, row); });
  for (const std::string& message : stuck) console.err << message << "\n";
  if (command.check && AnyGateFailed(verdicts, console)) return kExitExpectationFailed;
  return stuck.empty() ? kExitDone : kExitNothingFits;
}

}  // namespace spillway
