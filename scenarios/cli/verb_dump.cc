// spillway dump: the step, program or plan of one point as JSON, for other programs; the format: reports/dump/README.md.
#include "reports/dump/dump.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/cli/topics.h"
#include "scenarios/output/not_destroyed.h"
#include "scenarios/run/run.h"

namespace spillway {

namespace {

struct DumpAsked {
  ScenarioOptions scenarios;
  std::string topic, out, format = "json";
};

DumpedPoint PointOf(const ResultRow& row) { return {row.network, row.machine, row.memory_limit}; }

ExitCode WriteStep(const DumpAsked& asked, const PreparedRun& run, Console& console) {
  const Point& point = run.points.front();
  const std::int64_t accumulate = point.plan == nullptr ? 1 : point.plan->accumulate;
  WriteText(
      asked.out,
      StepJson(StepOfPlan(*run.steps[point.step], accumulate), *run.machines[point.machine]->costs, PointOf(point.row)),
      console);
  return kExitDone;
}

ExitCode WriteProgram(const DumpAsked& asked, const PreparedRun& run, Console& console) {
  const std::optional<PointResult> best = BestOf(run, asked.scenarios.Threads(), console);
  if (!best) return kExitNothingFits;
  const Point& point = run.points.front();  // all have one step and machine
  WriteText(asked.out,
            ProgramJson(best->evaluation, best->plan, best->step->step, *run.machines[point.machine]->costs,
                        PointOf(best->row)),
            console);
  return kExitDone;
}

// A plan that is given needs no machine that it fits.
ExitCode WritePlan(const DumpAsked& asked, const PreparedRun& run, Console& console) {
  const Point& point = run.points.front();
  if (point.plan != nullptr) {
    const TrainingStep step = StepOfPlan(*run.steps[point.step], point.plan->accumulate);
    WriteText(asked.out, PlanJson(*point.plan, step), console);
    return kExitDone;
  }
  const std::optional<PointResult> best = BestOf(run, asked.scenarios.Threads(), console);
  if (!best) return kExitNothingFits;
  WriteText(asked.out, PlanJson(best->plan, best->step->step), console);
  return kExitDone;
}

constexpr Topic<ExitCode(const DumpAsked&, const PreparedRun&, Console&)> kTopics[] = {
    {"step", WriteStep}, {"program", WriteProgram}, {"plan", WritePlan}};

class DumpCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("WHAT", asked_.topic, "step, program (instructions) or plan").Required().Offer([] {
      return NamesOf(kTopics);
    });
    options.Texts("FILE", asked_.scenarios.files, "scenario file").Required().Once();
    options.Text("-o,--output", asked_.out, "file to write (default: standard output)");
    options.Text("--format", asked_.format, "json: described in reports/dump/README.md").Among({"json"});
    asked_.scenarios.DeclareJobs(options);
    asked_.scenarios.DeclareOverrides(options);
    asked_.scenarios.DeclarePlan(options, "this plan instead of the strategies' best");
  }
  bool ForReading() const override { return false; }
  ExitCode Run(Console& console) const override {
    const auto dump = AnswerTo(asked_.topic, kTopics, "dump");
    MustNotDestroy(asked_.out, Written::kJson, asked_.scenarios.files);
    const PreparedRun run = asked_.scenarios.Prepare(console);
    MustBeOnePlace(run, "dump");
    return dump(asked_, run, console);
  }

 private:
  DumpAsked asked_;
};

}  // namespace

Verb DumpVerb() {
  return {.name = "dump",
          .description = "write one point's training step, instructions or plan as JSON",
          .examples = {"spillway dump step my.yaml --machine v100-x86-pcie3 --batch 256 -o step.json",
                       "spillway dump program my.yaml --batch 256 --strategy pooch",
                       "spillway dump plan my.yaml --plan plan.yaml"},
          .exits = {kDoneExit, kWrongExit, kNothingFitsExit},
          .make = MakeCommand<DumpCommand>};
}

}  // namespace spillway
