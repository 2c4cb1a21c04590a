// spillway plan: the best plan of one point, as a file that can be edited and run.
#include <fmt/format.h>

#include "reports/reports.h"
#include "reports/tables/tables.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/scenario_options.h"
#include "scenarios/output/not_destroyed.h"
#include "scenarios/output/output_folder.h"
#include "scenarios/run/run.h"
#include "sim/certify/find_certificate.h"

namespace spillway {

namespace {

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

class PlanCommand : public Command {
 public:
  void Declare(Options& options) override {
    scenarios_.DeclareFiles(options);
    options.Text("-o,--output", out_, "file to write (default: standard output)");
    scenarios_.DeclareJobs(options);
    scenarios_.DeclareOverrides(options);
    scenarios_.DeclareCosts(options);
  }
  bool ForReading() const override { return false; }
  ExitCode Run(Console& console) const override;

 private:
  ScenarioOptions scenarios_;
  std::string out_;
};

ExitCode PlanCommand::Run(Console& console) const {
  MustNotDestroy(out_, Written::kPlan, scenarios_.files);
  const PreparedRun run = scenarios_.Prepare(console, false);
  MustBeOnePlace(run, "plan");
  const std::optional<PointResult> best = BestOf(run, scenarios_.Threads(), console);
  if (!best) return kExitNothingFits;
  const PreparedMachine& on = *run.machines[run.points.front().machine];
  WriteText(out_, PlanReport({best->row, best->step->step, on.machine, best->plan, best->evaluation, *on.costs}),
            console);
  if (!out_.empty() && out_ != "-") {
    WriteCertificate(run, *best, out_ + ".certificate");
    // One that was planned on another machine names that one, on which `run --plan` would look for it.
    const bool elsewhere = best->plan.machine != best->row.machine;
    console.err << fmt::format(
        "{}: {} with {:.1f} images/s; {}again by: {}\n", out_, best->row.strategy, best->row.SamplesPerSecond(),
        elsewhere ? fmt::format("made for {}: without its line 'machine' ", best->plan.machine) : "",
        AgainBy(scenarios_, out_));
    console.err << SourceLine({&best->row});
    if (const std::string parts = AccumulateText(best->row); !parts.empty()) console.err << parts << "\n";
  }
  return kExitDone;
}

}  // namespace

Verb PlanVerb() {
  return {.name = "plan",
          .description = "write the best plan of one point of a scenario as YAML",
          .examples = {"spillway plan my.yaml --machine v100-x86-pcie3 --batch 256 -o plan.yaml",
                       "spillway plan my.yaml --batch 256 --strategy pooch"},
          .exits = {kDoneExit, kWrongExit, kNothingFitsExit},
          .make = MakeCommand<PlanCommand>};
}

}  // namespace spillway
