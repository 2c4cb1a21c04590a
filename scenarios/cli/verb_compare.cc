// spillway compare: one scenario on two machines, or two plans of one place, side by side.
#include <optional>

#include "hw/text/lists.h"
#include "reports/reports.h"
#include "reports/tables/plan_difference.h"
#include "reports/tables/tables.h"
#include "scenarios/cli/command.h"
#include "scenarios/output/interrupts.h"
#include "scenarios/run/run.h"
#include "scenarios/run/what_helps.h"

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
std::optional<PointResult> SideOf(const PreparedRun& run, const Command& command, Console& console) {
  MustBeOnePlace(run, "compare");
  return BestOf(run, JobsOf(command), console);
}

// Two plans of one place; one plan alone is held against the best of the scenario's strategies.
ExitCode ComparePlans(const Command& command, Console& console) {
  if (command.plans.size() > 2) throw UserError("compare: expected one or two plans behind --plan");
  if (!command.out.empty()) throw UserError("compare: --plan prints how the plans differ; --out is for two machines");
  Command first = command, second = command;
  first.overrides.plan = command.plans.size() == 2 ? command.plans[0] : "";
  second.overrides.plan = command.plans.back();
  const PreparedRun run = PrepareCommand(first), other_run = PrepareCommand(second);
  const std::optional<PointResult> a = SideOf(run, command, console), b = SideOf(other_run, command, console);
  if (!a || !b) return kExitNothingFits;
  console.out << PlanDifference({a->row, a->plan, a->step->step}, {b->row, b->plan, b->step->step},
                                *run.machines[run.points.front().machine]->costs);
  return kExitDone;
}

}  // namespace

ExitCode CompareUntil(const Command& command, Console& console, const std::function<bool()>& stop) {
  if (!command.plans.empty()) return ComparePlans(command, console);
  const PreparedRun run = PrepareCommand(command, false);
  const std::vector<std::string> machines = MachineLabels(run);
  if (machines.size() != 2) {
    throw UserError("compare: expected two machines, found " + std::to_string(machines.size()) +
                    "; name them by --machines A,B");
  }
  return RunPrepared(
      command, run, HelpsAsked{}, console, stop, [&](const ResultSet& results, const std::vector<Verdict>&) {
        console.out << CompareTable(results, machines[0], machines[1]) << WhatHelpsTable(results.helps, results.rows);
      });
}

ExitCode CompareVerb(const Command& command, Console& console) {
  Interrupts interrupts;  // before there are threads
  return CompareUntil(command, console, StopBetweenPoints(interrupts, console.err));
}

}  // namespace spillway
