// spillway run: every point of the scenarios, to the console and into a folder.
#include "reports/html/page.h"
#include "reports/reports.h"
#include "reports/tables/tables.h"
#include "reports/tables/text.h"
#include "reports/trace/trace.h"
#include "scenarios/cli/results.h"
#include "scenarios/output/interrupts.h"

namespace spillway {

namespace {

// Places that a run's page tells more memory's worth of; each takes as long as one of the run's points.
constexpr std::size_t kMostHelps = 12;

// Rows stand among others (loss, beaten_by): even CSV comes when all are known. In a folder they appear as they finish.
void Print(const std::string& format, const ResultSet& results, const std::vector<Verdict>& verdicts,
           Console& console) {
  for (const Report& report : Reports()) {
    if (report.of_run != nullptr && report.name == format) console.out << report.of_run(results);
  }
  if (verdicts.empty()) return;
  // With --format csv or json, standard output holds that and nothing else.
  std::ostream& stream = format == "table" ? console.out : console.err;
  stream << "\n"
         << ExpectationTable(verdicts)
         << "\nwithin?: yes or NO where --check holds us to it; - where a figure only stands beside ours\n";
}

}  // namespace

void RunCommand::Declare(Options& options) {
  scenarios_.DeclareFiles(options);
  options.Text("--out", asked_.out, "folder for results, plans, timelines and report.html");
  options.Flag("--resume", asked_.resume, "continue the interrupted run in the folder of --out");
  options.Text("--format", asked_.format, "format of the standard output").Among({"table", "csv", "json"});
  scenarios_.DeclareJobs(options);
  scenarios_.DeclareOverrides(options);
  scenarios_.DeclarePlan(options);
  scenarios_.DeclareCosts(options);
  options.Flag("--timeline", asked_.timeline, "print a timeline of each point's streams and memory as text");
  options.Flag("--no-timelines", asked_.no_timelines, "leave traces and memory curves out of the folder of --out");
  options.Flag("--check", asked_.check, "exit with 1 if an expectation with `within` or `required` fails");
}

ExitCode RunCommand::RunUntil(Console& console, const std::function<bool()>& stop) const {
  if (asked_.resume && asked_.out.empty()) throw UserError("--resume: of which run? --out is missing");
  const PreparedRun run = scenarios_.Prepare(console, false);
  ResultsAsked asked = asked_;
  asked.line = line;
  asked.threads = scenarios_.Threads();
  asked.helps = {.links = false, .places = asked_.out.empty() ? 0 : kMostHelps};
  asked.stop = stop;
  return RunPrepared(run, asked, console, [&](const ResultSet& results, const std::vector<Verdict>& verdicts) {
    Print(asked_.format, results, verdicts, console);
  });
}

ExitCode RunCommand::Run(Console& console) const {
  Interrupts interrupts;  // before there are threads
  return RunUntil(console, StopBetweenPoints(interrupts, console.err));
}

Verb RunVerb() {
  return {.name = "run",
          .description = "predict each point (network, batch, machine, memory) by each strategy",
          .examples = {"spillway run scenarios/resnet50-pcie-vs-nvlink.yaml --out out/",
                       "spillway run my.yaml --strategies pooch,swap-all --memory 12GiB --format csv",
                       "spillway run my.yaml --plan plan.yaml", "spillway run my.yaml --check"},
          .exits = {kDoneExit,
                    {kExitExpectationFailed, "--check: an expectation with `within` or `required` failed"},
                    kWrongExit,
                    {kExitNothingFits, "at some point no strategy fits, and no expectation says `feasible: false`"},
                    kRowsKeptExit},
          .make = MakeCommand<RunCommand>};
}

}  // namespace spillway
