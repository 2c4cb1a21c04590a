// spillway run: every point of the scenarios, to the console and into a folder.
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "reports/html/page.h"
#include "reports/reports.h"
#include "reports/tables/expectation_table.h"
#include "reports/tables/text.h"
#include "reports/trace/sketch.h"
#include "scenarios/cli/command.h"
#include "scenarios/output/files_as_it_goes.h"
#include "scenarios/output/interrupts.h"
#include "scenarios/output/output_folder.h"
#include "scenarios/run/run.h"
#include "scenarios/run/run_files.h"
#include "scenarios/run/run_identity.h"
#include "scenarios/run/what_helps.h"

namespace spillway {

namespace {

// Places that a run's page tells more memory's worth of; each takes as long as one of the run's points.
constexpr std::size_t kMostHelps = 12;

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
      "{{\n \"version\": {},\n \"command\": {},\n \"started\": {},\n \"jobs\": {},\n \"resumed_points\": {},\n "
      "\"wall_seconds\": {:.6f},\n"
      " \"point_seconds\": {{{}\n }}\n}}\n",
      JsonString(Version()), JsonString(command.line), JsonString(date), JobsOf(command), clocked.resumed, seconds,
      points);
}

std::vector<NamedText> PointTexts(const PointDetail& detail, const std::filesystem::path& folder) {
  std::vector<NamedText> texts;
  for (const Report& report : Reports()) {
    const std::string file = ReportFile(report, detail.row.point);
    if (report.of_point != nullptr) texts.push_back({file, report.of_point(detail)});
    if (report.in_pieces == nullptr) continue;
    const auto pieces = std::make_shared<FileInPieces>(folder / file);
    report.in_pieces(detail, [&pieces](std::string_view piece) { pieces->Add(piece); });
    texts.push_back({.file = file, .text = "", .pieces = pieces});
  }
  return texts;
}

std::vector<NamedText> RunTexts(const ResultSet& results) {
  std::vector<NamedText> texts;
  for (const Report& report : Reports()) {
    if (report.of_run != nullptr && *report.file != '\0') texts.push_back({report.file, report.of_run(results)});
  }
  return texts;
}

// The folder of --out, if there is one.
class Folder {
 public:
  Folder(const Command& command, const PreparedRun& run, Console& console)
      : console_(console),
        out_(command.out),
        folder_(command.out),
        lock_(command.out, command.line),
        written_(console, "the run goes on without files, and --resume will make up for them") {
    if (!command.out.empty()) files_.emplace(command.out, IdentityOf(run, Version(), command.line));
  }

  std::vector<JournalEntry> Begin(bool resume, const std::vector<Point>& points) {
    if (!files_) return {};
    if (resume) return files_->Resume(points);
    const std::string cut_off = files_->CutOff();
    if (!cut_off.empty()) {
      console_.err << fmt::format(
          "a run into this folder was cut off after {}: it starts anew; --resume goes on with it\n", cut_off);
    }
    return {};
  }
  void Add(const Point& point, const PointResult& result, const PreparedRun& run) {
    if (!files_) return;
    written_.Try([&] {
      std::vector<NamedText> texts;
      if (result.row.feasible) {
        const PreparedMachine& on = *run.machines[point.machine];
        texts =
            PointTexts({result.row, result.step->step, on.machine, result.plan, result.evaluation, *on.costs}, out_);
      }
      files_->Add({result.row, result.seconds, {}}, texts);
    });
  }
  void End(const ResultSet& results, const std::string& run_json) {
    if (!files_) return;
    written_.Try([&] {
      std::vector<NamedText> texts = RunTexts(results);
      texts.push_back({"run.json", run_json, true});
      files_->End(texts, [](const std::filesystem::path& folder) {
        return NamedText{"report.html", ReportPage(folder)};
      });
    });
  }
  bool failed() const { return written_.failed(); }

 private:
  Console& console_;
  std::filesystem::path out_;
  ResultFolder folder_;
  FolderLock lock_;
  std::optional<RunFiles> files_;
  FilesAsItGoes written_;
};

// Rows stand among others (loss, beaten_by): even CSV comes when all are known. In a folder they appear as they finish.
void Print(const Command& command, const ResultSet& results, const std::vector<Verdict>& verdicts, Console& console) {
  for (const Report& report : Reports()) {
    if (report.of_run != nullptr && report.name == command.format) console.out << report.of_run(results);
  }
  if (verdicts.empty()) return;
  // With --format csv or json, standard output holds that and nothing else.
  std::ostream& stream = command.format == "table" ? console.out : console.err;
  stream << "\n"
         << ExpectationTable(verdicts)
         << "\nwithin?: yes or NO where --check holds us to it; - where a figure only stands beside ours\n";
}

// What it looks like, for --timeline.
std::string SketchOf(const PointResult& result) {
  const ResultRow& row = result.row;
  return fmt::format("{}: {} at batch {} on {}, {}\n{}", row.network, row.strategy, row.batch, row.machine,
                     FormatBytes(row.memory_limit),
                     TimelineSketch(result.evaluation.timeline, result.evaluation.program, row.memory_limit));
}

// The points that have no row yet. Whether all of them have one now.
bool RunRest(const PreparedRun& run, const Command& command, Folder& folder, Clocked& clocked, ResultSet& results,
             std::string& sketches, Console& console, const std::function<bool()>& stop) {
  Progress progress(console, "point", run.points.size(), results.rows.size());
  const auto done = [&](const Point& point, PointResult& result) {
    folder.Add(point, result, run);
    clocked.points.emplace_back(result.row.point, result.seconds);
    if (command.timeline && result.row.feasible) sketches += SketchOf(result);
    results.rows.push_back(std::move(result.row));
    progress.Step();
  };
  return RunPoints(run, JobsOf(command), done, results.rows.size(), stop);
}

ExitCode Interrupted(const Folder& folder, const std::string& out, std::size_t done, std::size_t all,
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

}  // namespace

ExitCode RunPrepared(const Command& command, const PreparedRun& run, const HelpsAsked& asked, Console& console,
                     const std::function<bool()>& stop, const ShowResults& show) {
  Clocked clocked;
  Folder folder(command, run, console);
  ResultSet results;
  results.expectations = run.expectations;
  for (JournalEntry& entry : folder.Begin(command.resume, run.points)) {
    clocked.points.emplace_back(entry.row.point, entry.seconds);
    results.rows.push_back(std::move(entry.row));
  }
  clocked.resumed = results.rows.size();
  std::string sketches;
  bool done = RunRest(run, command, folder, clocked, results, sketches, console, stop);
  if (done && asked.places > 0) {
    results.helps = FindWhatHelps(run, results.rows, asked, JobsOf(command), console, stop);
    done = !stop || !stop();
  }
  if (!done) {
    return Interrupted(folder, command.out, results.rows.size(), run.points.size(), console);
  }
  folder.End(results, RunJson(command, clocked));
  const std::vector<Verdict> verdicts = Judge(results.rows, results.expectations);
  show(results, verdicts);
  if (!sketches.empty()) (command.format == "table" ? console.out : console.err) << "\n" << sketches << kSketchLegend;
  const std::set<const ResultRow*> expected = ExpectedNotToRun(verdicts);
  const std::vector<std::string> stuck =
      PointsWithoutStrategy(run, results.rows, [&](const ResultRow& row) { return expected.contains(&row); });
  for (const std::string& message : stuck) console.err << message << "\n";
  if (folder.failed()) return kExitWrongInput;
  if (command.check && run.unselected > 0) {
    const bool one = run.unselected == 1;
    console.err << fmt::format("--check: {} of the expectations {} no point left and {} not judged\n", run.unselected,
                               one ? "has" : "have", one ? "is" : "are");
  }
  if (command.check && AnyGateFailed(verdicts, console)) return kExitExpectationFailed;
  return stuck.empty() ? kExitDone : kExitNothingFits;
}

ExitCode RunUntil(const Command& command, Console& console, const std::function<bool()>& stop) {
  if (command.resume && command.out.empty()) throw UserError("--resume: of which run? --out is missing");
  const PreparedRun run = PrepareCommand(command, false);
  const HelpsAsked asked{.links = false, .places = command.out.empty() ? 0 : kMostHelps};
  return RunPrepared(command, run, asked, console, stop,
                     [&](const ResultSet& results, const std::vector<Verdict>& verdicts) {
                       Print(command, results, verdicts, console);
                     });
}

ExitCode RunVerb(const Command& command, Console& console) {
  Interrupts interrupts;  // before there are threads
  return RunUntil(command, console, StopBetweenPoints(interrupts, console.err));
}

}  // namespace spillway
