// spillway plan: the best plan of one point, as a file that can be edited and run.
#include <fmt/format.h>

#include "reports/reports.h"
#include "scenarios/run/output_folder.h"
#include "scenarios/run/run.h"
#include "sim/certify/find_certificate.h"

namespace spillway {

namespace {

// The plan says network, batch and machine by itself; what else was asked for on the command line has to be asked again.
std::string AgainBy(const Command& command) {
  const auto quoted = [](const std::string& text) {
    return text.find_first_of(" \t'$") == text.npos ? text : "\"" + text + "\"";
  };
  std::string line = "spillway run " + quoted(command.files.front());
  if (!command.overrides.machines.empty()) line += " --machine " + quoted(command.overrides.machines.front());
  if (!command.overrides.batch.empty()) line += fmt::format(" --batch {}", command.overrides.batch.front());
  if (!command.overrides.memory.empty()) line += fmt::format(" --memory \"{}\"", command.overrides.memory);
  if (!command.overrides.runtime.empty()) line += " --runtime " + command.overrides.runtime;
  return line + " --plan " + quoted(command.out);
}

// The best bound of the row's scope that can be checked, where there is one.
void WriteCertificate(const PreparedRun& run, const PointResult& best, const std::string& file) {
  const StepFacts facts(best.step->step, *run.machines[run.points.front().machine]->costs);
  const auto certificate = FindCertificate(facts, best.row.memory_limit, best.row.bounds.scope);
  if (certificate) WriteFile(file, CertificateToYaml(*certificate, best.step->step));
}

}  // namespace

ExitCode PlanVerb(const Command& command, Console& console) {
  const PreparedRun run = PrepareCommand(command, false);
  MustBeOnePlace(run, "plan");
  const std::optional<PointResult> best = BestOf(run, JobsOf(command), console);
  if (!best) return kExitNothingFits;
  const PreparedMachine& on = *run.machines[run.points.front().machine];
  WriteText(command.out, PlanReport({best->row, best->step->step, on.machine, best->plan, best->evaluation, *on.costs}),
            console);
  if (!command.out.empty() && command.out != "-") {
    WriteCertificate(run, *best, command.out + ".certificate");
    // One that was planned on another machine names that one, on which `run --plan` would look for it.
    const bool elsewhere = best->plan.machine != best->row.machine;
    console.err << fmt::format(
        "{}: {} with {:.1f} images/s; {}again by: {}\n", command.out, best->row.strategy, best->row.SamplesPerSecond(),
        elsewhere ? fmt::format("made for {}: without its line 'machine' ", best->plan.machine) : "", AgainBy(command));
  }
  return kExitDone;
}

}  // namespace spillway
