// spillway dump: the step, program or plan of one point as JSON, for other programs; the format: reports/dump/README.md.
#include "reports/dump/dump.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/topics.h"
#include "scenarios/run/run.h"

namespace spillway {

namespace {

DumpedPoint PointOf(const ResultRow& row) { return {row.network, row.machine, row.memory_limit}; }

ExitCode WriteStep(const Command& command, const PreparedRun& run, Console& console) {
  const Point& point = run.points.front();
  const std::int64_t accumulate = point.plan == nullptr ? 1 : point.plan->accumulate;
  WriteText(
      command.out,
      StepJson(StepOfPlan(*run.steps[point.step], accumulate), *run.machines[point.machine]->costs, PointOf(point.row)),
      console);
  return kExitDone;
}

ExitCode WriteProgram(const Command& command, const PreparedRun& run, Console& console) {
  const std::optional<PointResult> best = BestOf(run, JobsOf(command), console);
  if (!best) return kExitNothingFits;
  const Point& point = run.points.front();  // all have one step and machine
  WriteText(command.out,
            ProgramJson(best->evaluation, best->plan, best->step->step, *run.machines[point.machine]->costs,
                        PointOf(best->row)),
            console);
  return kExitDone;
}

// A plan that is given needs no machine that it fits.
ExitCode WritePlan(const Command& command, const PreparedRun& run, Console& console) {
  const Point& point = run.points.front();
  if (point.plan != nullptr) {
    const TrainingStep step = StepOfPlan(*run.steps[point.step], point.plan->accumulate);
    WriteText(command.out, PlanJson(*point.plan, step), console);
    return kExitDone;
  }
  const std::optional<PointResult> best = BestOf(run, JobsOf(command), console);
  if (!best) return kExitNothingFits;
  WriteText(command.out, PlanJson(best->plan, best->step->step), console);
  return kExitDone;
}

constexpr Topic<ExitCode(const Command&, const PreparedRun&, Console&)> kTopics[] = {
    {"step", WriteStep}, {"program", WriteProgram}, {"plan", WritePlan}};

}  // namespace

ExitCode DumpVerb(const Command& command, Console& console) {
  const auto dump = AnswerTo(command.topic, kTopics, "dump");
  const PreparedRun run = PrepareCommand(command);
  MustBeOnePlace(run, "dump");
  return dump(command, run, console);
}

}  // namespace spillway
