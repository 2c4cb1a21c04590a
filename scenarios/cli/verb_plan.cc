// spillway plan: the best plan of one point, as a file that can be edited and run.
#include <fmt/format.h>

#include <filesystem>

#include "hw/text/text_file.h"
#include "model/recorded/recorded_kinds.h"
#include "reports/dump/carry.h"
#include "reports/reports.h"
#include "reports/tables/tables.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/output/not_destroyed.h"
#include "scenarios/output/output_folder.h"
#include "scenarios/run/recorded_plan.h"
#include "scenarios/run/run.h"
#include "sim/certify/find_certificate.h"

namespace spillway {

namespace {

constexpr double kUsualMargin = 10;  // percent

// The plan says network, batch and machine by itself; what else was asked for on the command line has to be asked again.
std::string AgainBy(const ScenarioOptions& scenarios, const std::string& out) {
  const auto quoted = [](const std::string& text) {
    return text.find_first_of(" \t'$") == text.npos ? text : "\"" + text + "\"";
  };
  std::string line = "spillway run " + quoted(scenarios.files.front());
  if (!scenarios.overrides.machines.empty()) line += " --machine " + quoted(scenarios.overrides.machines.front());
  if (!scenarios.overrides.batch.empty()) line += fmt::format(" --batch {}", scenarios.overrides.batch.front());
  if (!scenarios.overrides.memory.empty()) line += fmt::format(" --memory \"{}\"", scenarios.overrides.memory);
  for (const std::string& where : scenarios.overrides.where) line += " --where " + quoted(where);
  if (!scenarios.overrides.runtime.empty()) line += " --runtime " + scenarios.overrides.runtime;
  return line + " --plan " + quoted(out);
}

// The best bound of the row's scope that can be checked, where there is one.
void WriteCertificate(const PreparedRun& run, const PointResult& best, const std::string& file) {
  const StepFacts facts(best.step->step, *run.machines[run.points.front().machine]->costs);
  const auto certificate = FindCertificate(facts, best.row.memory_limit, best.row.bounds.scope);
  if (certificate) WriteFile(file, CertificateToYaml(*certificate, best.step->step));
}

constexpr std::size_t kLargestRecording = std::size_t{1} << 30;

// Only a recorded step has calls to carry a plan out between.
void MustBeRecorded(const PreparedRun& run) {
  const PreparedStep& step = *run.steps[run.points.front().step];
  if (step.source->recorded != nullptr) return;
  throw UserError(
      fmt::format("--for torch: {} is no recording: expected 'network: {{graph: STEP.json}}'", step.network));
}

std::string CarriedPlan(const PreparedRun& run, const PointResult& best, std::size_t kind) {
  const PreparedMachine& on = *run.machines[run.points.front().machine];
  return CarryJson(best.evaluation, best.plan, best.step->step,
                   ReadTextFile(best.step->source->choice.graph, "a recording", kLargestRecording), kind,
                   {best.row.network, on.label, best.row.memory_limit});
}

// The step without a carrier, in the same memory; 0: it does not fit.
Nanos PlainTime(const PreparedRun& run, const PointResult& best) {
  const Point& at = run.points.front();
  Problem problem = ProblemOf(run, at, best.step->step, at.machine, best.row.memory_limit);
  problem.use_runtime = true;
  problem.runtime = best.plan.runtime;
  problem.runtime.framework_time = 0;
  const Evaluation plain =
      Evaluate(StartPlan(problem, "in-core", "torch"), problem, {.verify = false, .bounds = false, .timeline = false});
  return plain.feasible ? plain.step_time : 0;
}

// What carrying a plan out costs, where the step fits without.
std::string AdviceAgainst(const PreparedRun& run, const PointResult& best) {
  const Nanos plain = PlainTime(run, best);
  if (plain == 0 || plain > best.row.times.step || best.plan.runtime.framework_time == 0) return "";
  return fmt::format("carry out no plan: the step fits as it is and takes {}; under the carrier {}, at {} a call\n",
                     FormatDuration(plain), FormatDuration(best.row.times.step),
                     FormatDuration(best.plan.runtime.framework_time));
}

// As a recording is planned without a scenario: on the runtime of PyTorch's carrier, unless another one was named.
std::vector<std::string> PlanWhatIsCarried(PreparedRun& run) {
  for (Point& point : run.points) {
    if (point.use_runtime) continue;
    point.use_runtime = true;
    point.runtime = RuntimeByName("torch");
  }
  return FitTorch(run);
}

// The scenario with another kind of its recorded step.
PreparedRun PreparedKind(const ScenarioOptions& scenarios, const Document& kind) {
  Scenario scenario = LoadScenario(scenarios.files.front());
  ApplyOverrides(scenarios.overrides, scenario);
  for (NetworkChoice& network : scenario.networks) {
    network.recorded = ReadRecordedStep(kind);
    network.batch = {network.recorded->step.batch};
  }
  PreparedRun run;
  run.keep_steps = false;
  Prepare(scenario, scenarios.overrides, run);
  PlanWhatIsCarried(run);
  return run;
}

class PlanCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Texts("FILE", scenarios_.files, "a scenario, or a recorded step, which needs no profile").Required();
    options.Text("-o,--output", out_, "file to write (default: standard output)");
    options.Text("--for", carrier_, "torch: a file for a recorded step that spillway_torch.apply carries out")
        .Among({"torch"});
    scenarios_.DeclareJobs(options);
    scenarios_.DeclareOverrides(options);
    scenarios_.DeclareCosts(options);
    options.Text("--link", link_, "of a recorded step: rate of copies in each direction, e.g. 12GB/s");
    options.Number("--margin", margin_, 0, 90, "of a recorded step: percent of the card left free (default: 10)");
  }
  bool ForReading() const override { return false; }
  ExitCode Run(Console& console) const override;

 private:
  ExitCode RunRecording(const Document& document, Console& console) const;
  RecordingAsked Asked() const;
  ExitCode Write(const PreparedRun& run, const std::string& again, Console& console) const;
  template <typename PrepareKind>
  ExitCode WriteCarried(const Document& recording, const PrepareKind& prepare, Console& console) const;

  ScenarioOptions scenarios_;
  std::string out_, link_, carrier_;
  double margin_ = kUsualMargin;
};

// What scenarios have and recordings have not is refused.
RecordingAsked PlanCommand::Asked() const {
  const Overrides& overrides = scenarios_.overrides;
  if (scenarios_.files.size() > 1) throw UserError("plan: a recorded step is planned alone");
  if (overrides.machines.size() > 1) throw UserError("plan: a recorded step is planned for one machine");
  if (!overrides.batch.empty()) throw UserError("--batch: not for a recorded step, which has the batch it has");
  if (!overrides.where.empty()) throw UserError("--where: not for a recorded step, which has no lists");
  if (!overrides.costs.empty()) throw UserError("--costs: not for a recorded step, which has its own times");
  return {.file = scenarios_.files.front(),
          .machine = overrides.machines.empty() ? "" : overrides.machines.front(),
          .memory = overrides.memory,
          .link = link_,
          .margin = margin_ / 100,
          .strategies = overrides.strategies,
          .runtime = overrides.runtime.empty() && !carrier_.empty() ? "torch" : overrides.runtime};
}

ExitCode PlanCommand::RunRecording(const Document& document, Console& console) const {
  const auto prepare = [&](const Document& kind, std::size_t number) {
    PreparedRecording prepared = PrepareRecording(Asked(), kind);
    for (const std::string& said : prepared.said) {
      if (number == 0) console.err << said << "\n";
    }
    return std::move(prepared.run);
  };
  return carrier_.empty() ? Write(prepare(document, 0), "", console) : WriteCarried(document, prepare, console);
}

// One file with a plan for each kind of step. `prepare` makes the run of a kind and its number.
template <typename PrepareKind>
ExitCode PlanCommand::WriteCarried(const Document& recording, const PrepareKind& prepare, Console& console) const {
  std::vector<std::string> carried;
  const auto kinds = RecordedKinds(recording);
  for (const Document& kind : kinds) {
    const PreparedRun run = prepare(kind, carried.size());
    const std::optional<PointResult> best = BestOf(run, scenarios_.Threads(), console);
    if (!best) return kExitNothingFits;
    carried.push_back(CarriedPlan(run, *best, carried.size()));
    if (const std::string advice = AdviceAgainst(run, *best); !advice.empty()) {
      console.err << (kinds.size() > 1 ? fmt::format("kind {}: ", carried.size()) : "") << advice;
    }
  }
  WriteText(out_, JoinCarried(carried), console);
  return kExitDone;
}

ExitCode PlanCommand::Run(Console& console) const {
  MustNotDestroy(out_, carrier_.empty() ? Written::kPlan : Written::kCarry, scenarios_.files);
  // A pipe can be read but once, and is a scenario.
  if (std::error_code ignored; std::filesystem::is_regular_file(scenarios_.files.front(), ignored)) {
    const Document document = LoadDocument(scenarios_.files.front());
    if (IsRecording(document)) return RunRecording(document, console);
  }
  if (!link_.empty()) throw UserError("--link: only for a recorded step; a scenario has the key `link`");
  PreparedRun run = scenarios_.Prepare(console, false);
  MustBeOnePlace(run, "plan");
  if (!carrier_.empty()) {
    MustBeRecorded(run);
    for (const std::string& said : PlanWhatIsCarried(run)) console.err << said << "\n";
    const Document recording = LoadDocument(run.steps[run.points.front().step]->source->choice.graph);
    const auto prepare = [&](const Document& kind, std::size_t number) {
      return number == 0 ? std::move(run) : PreparedKind(scenarios_, kind);
    };
    return WriteCarried(recording, prepare, console);
  }
  return Write(run, AgainBy(scenarios_, out_), console);
}

// `again`: a command that carries the plan out; "": there is none.
ExitCode PlanCommand::Write(const PreparedRun& run, const std::string& again, Console& console) const {
  const std::optional<PointResult> best = BestOf(run, scenarios_.Threads(), console);
  if (!best) return kExitNothingFits;
  const PreparedMachine& on = *run.machines[run.points.front().machine];
  WriteText(out_, PlanReport({best->row, best->step->step, on.machine, best->plan, best->evaluation, *on.costs}),
            console);
  if (!out_.empty() && out_ != "-") {
    WriteCertificate(run, *best, out_ + ".certificate");
    // One that was planned on another machine names that one, on which `run --plan` would look for it.
    const bool elsewhere = best->plan.machine != best->row.machine;
    const std::string unit = again.empty() ? "samples" : "images";
    console.err << fmt::format("{}: {} with {:.1f} {}/s", out_, best->row.strategy, best->row.SamplesPerSecond(), unit);
    if (!again.empty()) {
      console.err << fmt::format(
          "; {}again by: {}",
          elsewhere ? fmt::format("made for {}: without its line 'machine' ", best->plan.machine) : "", again);
    }
    console.err << "\n";
    console.err << SourceLine({&best->row});
    if (const std::string parts = AccumulateText(best->row); !parts.empty()) console.err << parts << "\n";
  }
  return kExitDone;
}

}  // namespace

Verb PlanVerb() {
  return {.name = "plan",
          .description = "write the best plan of one point of a scenario, or of a recorded step, as YAML",
          .examples = {"spillway plan my.yaml --machine v100-x86-pcie3 --batch 256 -o plan.yaml",
                       "spillway plan my.yaml --batch 256 --strategy pooch",
                       "spillway plan step.json --memory 11GB -o plan.yaml",
                       "spillway plan step.json --memory 11GB --for torch -o plan.json"},
          .exits = {kDoneExit, kWrongExit, kNothingFitsExit},
          .make = MakeCommand<PlanCommand>};
}

}  // namespace spillway
