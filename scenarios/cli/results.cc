#include "scenarios/cli/results.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <set>
#include <utility>

#include "reports/rows/expectation.h"
#include "reports/tables/text.h"
#include "reports/trace/trace.h"
#include "scenarios/run/run_folder.h"
#include "scenarios/run/run_identity.h"

namespace spillway {

namespace {

constexpr const char* kSketchLegend =
    "# kernels, r computed again; stands still for: i a swap-in, o a swap-out, h the host; . else idle; > to the "
    "host,\n"
    "< to the device, = both; memory in eighths of the limit\n";

// What a run took, by the wall clock: the one place in the results where this may appear.
struct Clocked {
  std::vector<std::pair<std::string, double>> points;
  std::size_t resumed = 0;  // of them, by a run that was cut off
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

std::string RunJson(const ResultsAsked& asked, const Clocked& clocked) {
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
      "{{\n \"version\": {},\n \"command\": {},\n \"started\": {},\n \"jobs\": {},\n \"resumed_points\": {},\n "
      "\"wall_seconds\": {:.6f},\n"
      " \"point_seconds\": {{{}\n }}\n}}\n",
      JsonString(Version()), JsonString(asked.line), JsonString(date), asked.threads, clocked.resumed, seconds, points);
}

// What it looks like, for --timeline.
std::string SketchOf(const PointResult& result) {
  const ResultRow& row = result.row;
  return fmt::format("{}: {} at batch {} on {}, {}\n{}", row.network, row.strategy, row.batch, row.machine,
                     FormatBytes(row.memory_limit),
                     TimelineSketch(result.evaluation.timeline, result.evaluation.program, row.memory_limit));
}

ExitCode Interrupted(const RunFolder& folder, const std::string& out, std::size_t done, std::size_t all,
                     Console& console) {
  console.err << fmt::format("interrupted: {} of {} points are {}\n", done, all,
                             out.empty()       ? "done, and nothing is kept without --out"
                             : folder.failed() ? "done, not all of which could be written into " + out
                             : done == 0       ? "done: nothing is kept"
                                               : "kept in " + out + "; --resume goes on, with the last one again");
  return kExitInterrupted;
}

bool AnyGateFailed(const std::vector<Verdict>& verdicts, Console& console) {
  std::size_t failed = 0;
  for (const Verdict& v : verdicts) failed += v.gate && !v.passed ? 1 : 0;
  if (failed > 0) console.err << failed << " of the expectations that are gates failed\n";
  return failed > 0;
}

// What a run has found so far.
struct Found {
  ResultSet results;
  Clocked clocked;
  std::string sketches;
};

// The points that have no row yet. Whether all of them have one now.
bool RunRest(const PreparedRun& run, const ResultsAsked& asked, RunFolder& folder, Found& found, Console& console) {
  std::vector<ResultRow>& rows = found.results.rows;
  Progress progress(console, "point", run.points.size(), rows.size());
  const auto done = [&](const Point& point, PointResult& result) {
    folder.Add(point, result, run);
    found.clocked.points.emplace_back(result.row.point, result.seconds);
    if (asked.timeline && result.row.feasible) found.sketches += SketchOf(result);
    rows.push_back(std::move(result.row));
    progress.Step();
  };
  const auto stop = [&] {
    progress.Wait();
    return asked.stop && asked.stop();
  };
  return RunPoints(run, asked.threads, done, rows.size(), stop);
}

std::size_t PlacesOf(const std::vector<ResultRow>& rows) {
  std::size_t places = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) places += i == 0 || !SamePlace(rows[i - 1], rows[i]) ? 1 : 0;
  return places;
}

std::vector<std::string> StuckPlaces(const PreparedRun& run, const std::vector<ResultRow>& rows,
                                     const std::vector<Verdict>& verdicts) {
  const std::set<const ResultRow*> expected = ExpectedNotToRun(verdicts);
  return PointsWithoutStrategy(run, rows, [&](const ResultRow& row) { return expected.contains(&row); });
}

// What --check has to say, and the status to leave with; `all_fit`: some strategy does wherever that is expected.
ExitCode Checked(const PreparedRun& run, bool check, const std::vector<Verdict>& verdicts, bool all_fit,
                 Console& console) {
  if (check && run.unselected > 0) {
    const bool one = run.unselected == 1;
    console.err << fmt::format("--check: {} of the expectations {} no point left and {} not judged\n", run.unselected,
                               one ? "has" : "have", one ? "is" : "are");
  }
  if (check && AnyGateFailed(verdicts, console)) return kExitExpectationFailed;
  return all_fit ? kExitDone : kExitNothingFits;
}

}  // namespace

ExitCode RunPrepared(const PreparedRun& run, const ResultsAsked& asked, Console& console, const ShowResults& show) {
  Found found;
  const JournalHead head = asked.out.empty() ? JournalHead{} : IdentityOf(run, Version(), asked.line);
  RunFolder folder(asked.out, head, console, !asked.no_timelines);
  ResultSet& results = found.results;
  results.expectations = run.expectations;
  for (JournalEntry& entry : folder.Begin(asked.resume, run.points)) {
    found.clocked.points.emplace_back(entry.row.point, entry.seconds);
    results.rows.push_back(std::move(entry.row));
  }
  found.clocked.resumed = results.rows.size();
  bool done = RunRest(run, asked, folder, found, console);
  if (done && asked.helps.places > 0) {
    results.helps = FindWhatHelps(run, results.rows, asked.helps, asked.threads, console, asked.stop);
    done = !asked.stop || !asked.stop();
  }
  if (!done) return Interrupted(folder, asked.out, results.rows.size(), run.points.size(), console);
  folder.End(results, RunJson(asked, found.clocked));
  const std::vector<Verdict> verdicts = Judge(results.rows, results.expectations);
  show(results, verdicts);
  if (!found.sketches.empty()) {
    (asked.format == "table" ? console.out : console.err) << "\n" << found.sketches << kSketchLegend;
  }
  const std::vector<std::string> stuck = StuckPlaces(run, results.rows, verdicts);
  for (const std::string& message : stuck) console.err << message << "\n";
  const std::size_t places = PlacesOf(results.rows);
  if (!stuck.empty() && places > 1) {
    console.err << fmt::format("at {} of {} places no strategy fits; the rows of the others stand\n", stuck.size(),
                               places);
  }
  if (folder.failed()) return kExitWrongInput;
  return Checked(run, asked.check, verdicts, stuck.empty(), console);
}

}  // namespace spillway
