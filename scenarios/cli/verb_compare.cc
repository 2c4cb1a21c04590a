// spillway compare: one scenario on two machines, or two plans of one place, side by side.
#include <optional>

#include "hw/text/lists.h"
#include "reports/reports.h"
#include "reports/tables/tables.h"
#include "scenarios/cli/results.h"
#include "scenarios/output/interrupts.h"

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

// The best of the command's points; with a plan file that one. Throws UserError unless they are of one place.
std::optional<PointResult> SideOf(const PreparedRun& run, int threads, Console& console) {
  MustBeOnePlace(run, "compare");
  return BestOf(run, threads, console);
}

}  // namespace

void CompareCommand::Declare(Options& options) {
  scenarios_.DeclareFiles(options);
  options.Text("--out", out_, "folder for results, plans, timelines and report.html");
  scenarios_.DeclareJobs(options);
  scenarios_.DeclareOverrides(options);
  options.Texts("--plan", plans_, "a plan, compared with a second --plan or else with the best strategy").OneEach();
}

// Two plans of one place; one plan alone is held against the best of the scenario's strategies.
ExitCode CompareCommand::ComparePlans(Console& console) const {
  if (plans_.size() > 2) throw UserError("compare: expected one or two plans behind --plan");
  if (!out_.empty()) throw UserError("compare: --plan prints how the plans differ; --out is for two machines");
  ScenarioOptions first = scenarios_, second = scenarios_;
  first.overrides.plan = plans_.size() == 2 ? plans_[0] : "";
  second.overrides.plan = plans_.back();
  const PreparedRun run = first.Prepare(console), other_run = second.Prepare();
  const std::optional<PointResult> a = SideOf(run, scenarios_.Threads(), console),
                                   b = SideOf(other_run, scenarios_.Threads(), console);
  if (!a || !b) return kExitNothingFits;
  console.out << PlanDifference({a->row, a->plan, a->step->step}, {b->row, b->plan, b->step->step},
                                *run.machines[run.points.front().machine]->costs);
  return kExitDone;
}

ExitCode CompareCommand::RunUntil(Console& console, const std::function<bool()>& stop) const {
  if (!plans_.empty()) return ComparePlans(console);
  const PreparedRun run = scenarios_.Prepare(console, false);
  const std::vector<std::string> machines = MachineLabels(run);
  if (machines.size() != 2) {
    throw UserError("compare: expected two machines, found " + std::to_string(machines.size()) +
                    "; name them by --machines A,B");
  }
  const ResultsAsked asked{.out = out_, .line = line, .threads = scenarios_.Threads(), .stop = stop};
  return RunPrepared(run, asked, console, [&](const ResultSet& results, const std::vector<Verdict>&) {
    console.out << CompareTable(results, machines[0], machines[1]) << WhatHelpsTable(results.helps, results.rows);
  });
}

ExitCode CompareCommand::Run(Console& console) const {
  Interrupts interrupts;  // before there are threads
  return RunUntil(console, StopBetweenPoints(interrupts, console.err));
}

Verb CompareVerb() {
  return {.name = "compare",
          .description = "run a scenario on two machines, or two plans, side by side",
          .examples = {"spillway compare my.yaml --machines v100-x86-pcie3,v100-power9-nvlink2 --out out/both",
                       "spillway compare my.yaml --machine v100-x86-pcie3 --batch 256 --plan a.yaml --plan b.yaml"},
          .exits = {kDoneExit, kWrongExit, kNothingFitsExit, kRowsKeptExit},
          .make = MakeCommand<CompareCommand>};
}

}  // namespace spillway
