// spillway validate: predicted against measured, on the machine at hand.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "calibrate/validate/journal.h"
#include "model/profile/machine.h"
#include "reports/tables/tables.h"
#include "reports/tables/validation.h"
#include "scenarios/cli/options.h"
#include "scenarios/cli/validate_command.h"
#include "scenarios/output/files_as_it_goes.h"
#include "scenarios/output/interrupts.h"
#include "scenarios/output/output_folder.h"
#include "scenarios/run/run_identity.h"
#include "scenarios/validate/validate.h"
#include "scenarios/validate/validate_files.h"
#include "scenarios/validate/validate_parts.h"
#include "sim/execute/clock.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

// What calibrate writes unless told otherwise.
std::string UsualProfile(const std::string& file) {
  for (const fs::path& folder : {fs::path("hw"), fs::path(MachineFolder())}) {
    std::error_code ignored;
    if (fs::exists(folder / file, ignored)) return (folder / file).string();
  }
  return "";
}

[[noreturn]] void NeedProfile(const std::string& usual, const std::string& device, const std::string& machine) {
  throw UserError(
      fmt::format("{}: not a profile of this machine, which validating needs. Make one by\n"
                  "  spillway calibrate --device {} -o hw/{}\n"
                  "and type the same command again, or name another one by --machine",
                  machine, device, usual));
}

// Predictions for another device say nothing about this one. The shipped scenarios name an example: the user's own
// profile takes its place.
PreparedRun PrepareValidation(const DeviceBackend& backend, const ValidateAsked& asked) {
  PreparedRun run = asked.scenarios.Prepare();
  const auto is_example = [&](const auto& machine) { return machine->base == backend.traits().example; };
  if (std::any_of(run.machines.begin(), run.machines.end(), is_example)) {
    ScenarioOptions own = asked.scenarios;
    own.overrides.machines = {UsualProfile(backend.traits().usual_profile)};
    if (own.overrides.machines[0].empty())
      NeedProfile(backend.traits().usual_profile, asked.device, run.machines.front()->label);
    run = own.Prepare();
  }
  for (const auto& step : run.steps) {
    if (step->source->recorded == nullptr) continue;
    throw UserError(
        fmt::format("{}: a recorded step, whose ops no device can run: validate networks", step->source->choice.graph));
  }
  for (const auto& machine : run.machines) {
    if (!machine->machine.devices[0].name.starts_with(backend.traits().devices))
      NeedProfile(backend.traits().usual_profile, asked.device, machine->label);
  }
  return run;
}

// What is measured again may hang, or differ for that reason: said before anything runs.
void WarnOfChanges(const PreparedRun& run, DeviceBackend& backend, Console& console) {
  std::set<std::string> said;
  for (const auto& machine : run.machines) {
    const std::string warning = backend.ChangedSince(machine->machine);
    if (!warning.empty() && said.insert(warning).second) console.err << "warning: " << warning << "\n" << std::flush;
  }
}

// What cases of an earlier run must share with this one. Plans are what this program's strategies make of these, but for
// one that was given.
JournalIdentity FactsOf(const PreparedRun& run, const std::string& identity, const ValidateOptions& options) {
  const RunDigests digests = DigestsOf(run);
  const std::string scenario = fmt::format("{}, {} points", run.points.front().row.scenario, run.points.size());
  std::string machines;
  for (const auto& machine : run.machines) machines += (machines.empty() ? "" : ", ") + machine->label;
  const std::string asked =
      fmt::format("--steps {} --random {} --seed {}", options.steps, options.random_plans, options.seed);
  return {{"scenario", digests.points + digests.networks + digests.plans, scenario},
          {"profile", digests.machines, machines},
          {"device", identity, identity},
          {"command", asked, asked},
          {"program", ProgramDigest(), Version()}};
}

bool Report(const PreparedRun& run, const Validated& validated, Console& console) {
  for (const std::string& failure : validated.failures) console.err << failure << "\n";
  const std::vector<Verdict> verdicts = Judge(validated.results, run.expectations);
  if (!verdicts.empty()) console.err << ExpectationTable(verdicts);
  const bool gate_failed =
      std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.gate && !v.passed; });
  return validated.failures.empty() && !gate_failed;
}

// Expectations are of all cases together: they are not judged by some.
// `kept`: the folder that has the finished ones; "": none.
ExitCode ReportStopped(const Validated& validated, std::size_t all, const std::string& kept, Console& console) {
  for (const std::string& failure : validated.failures) console.err << failure << "\n";
  console.err << fmt::format("interrupted: {} finished{}\n", CasesText(validated.set.cases.size(), all),
                             kept.empty() ? "" : ", kept in " + kept + "; --resume goes on");
  return kExitInterrupted;
}

// What a validation shows and keeps while it runs.
class ShownAndKept : public ValidateWatcher {
 public:
  // `out`: the folder; "": none. `known`: cases of it that an earlier run finished.
  ShownAndKept(const ValidateAsked& asked, std::size_t known, ValidationJournal& journal, Console& console)
      : table_(asked.format == "table"), known_(known), journal_(journal), console_(console), files_(asked.out) {}

  // Judged before any number is: what is measured now says little.
  void Before(const MachineNoise& noise) override {
    if (!noise.Crowded()) return;
    console_.err << fmt::format(
                        "warning: {:.1f} threads want a core here, where up to {:.0f} would not have to wait: what is "
                        "measured now says little\n",
                        noise.load, noise.room)
                 << std::flush;
  }
  void Begin(std::size_t sessions, std::size_t cases) override {
    cases_ = cases;
    tables_.Try([&] { files_.Begin(cases, known_); });
    progress_.emplace(console_, "session", sessions);
  }
  void SessionDone() override { progress_->Step(); }
  void Measured(const FinishedCase& finished) override {
    tables_.Try([&] { files_.StepsOf(finished); });
    cases_kept_.Try([&] { journal_.Append(finished); });
  }
  void CaseDone(const ValidationSet& set, std::size_t index) override {
    tables_.Try([&] { files_.CaseDone(set); });
    if (table_) console_.out << ValidationCaseTable(set, index) << "\n" << std::flush;
  }

  void EndProgress() { progress_.reset(); }
  void End(const Validated& validated) {
    const ValidationSet& set = validated.set;
    console_.out << (table_ ? ValidationSummaryTable(set) : ValidationCsv(set)) << std::flush;
    if (!table_) console_.err << NoiseVerdict(set.noise);
    tables_.Try([&] { files_.End(set, !validated.stopped); });
  }
  std::size_t cases() const { return cases_; }
  bool tables_failed() const { return tables_.failed(); }
  bool journal_failed() const { return cases_kept_.failed(); }

 private:
  bool table_;
  std::size_t known_, cases_ = 0;
  ValidationJournal& journal_;
  Console& console_;
  ValidationFiles files_;
  // Apart from each other: what was measured is worth more than tables of it.
  FilesAsItGoes tables_{console_, "the validation goes on without tables, and --resume will make up for them"};
  FilesAsItGoes cases_kept_{console_, "the validation goes on, and cases from here on cannot be resumed"};
  std::optional<Progress> progress_;
};

ExitCode Conclude(const PreparedRun& run, const Validated& validated, ShownAndKept& shown, const std::string& out,
                  Console& console) {
  if (!validated.stuck.empty()) {
    for (const std::string& message : validated.stuck) console.err << message << "\n";
    return kExitNothingFits;
  }
  if (validated.stopped && validated.set.cases.empty()) {
    console.err << "interrupted before the first case was finished\n";
    return kExitInterrupted;
  }
  shown.End(validated);
  if (validated.stopped) return ReportStopped(validated, shown.cases(), shown.journal_failed() ? "" : out, console);
  const bool passed = Report(run, validated, console);
  if (shown.tables_failed()) return kExitWrongInput;  // the journal is kept for --resume
  return passed ? kExitDone : kExitExpectationFailed;
}

}  // namespace

ExitCode ValidateWith(DeviceBackend& backend, const ValidateAsked& asked, Console& console, ProcessMemory* memory,
                      const std::function<bool()>& stop) {
  PreparedRun run = PrepareValidation(backend, asked);
  for (const std::string& warning : run.warnings) console.err << warning << "\n" << std::flush;
  ValidateOptions options{.steps = asked.steps,
                          .random_plans = asked.random_plans,
                          .seed = asked.seed,
                          .memory = memory,
                          .jobs = asked.scenarios.Threads(),
                          .stop = stop};
  const ResultFolder folder(asked.out);
  const FolderLock lock(asked.out, asked.line);  // given back first: then the folder may be empty
  ValidationJournal journal(asked.out, FactsOf(run, backend.Identity(), options));
  if (asked.resume) options.known = journal.Resume();
  for (const std::string& less : LimitToFree(run, options.known, [&] { return backend.FreeBytes(); })) {
    console.err << "warning: " << less << "\n" << std::flush;
  }
  CheckKnown(options.known, run.points, journal);
  NameByFile(run.points, options.known);
  WarnOfChanges(run, backend, console);
  ShownAndKept shown(asked, options.known.size(), journal, console);
  const Validated validated = ValidateRun(run, backend, options, shown);
  shown.EndProgress();
  const ExitCode status = Conclude(run, validated, shown, asked.out, console);
  if (status == kExitDone || status == kExitExpectationFailed) journal.Remove();
  return status;
}

void ValidateCommand::Declare(Options& options) {
  ScenarioOptions& scenarios = asked_.scenarios;
  options.Texts("FILE", scenarios.files, "scenario files, unless --torch is given");
  options.Texts("--torch", asked_.torch, "reports of plans that PyTorch carried out: carrier.report(\"report.json\")");
  options.Text("--device", asked_.device, "device that runs the plans: cpu, or cuda:0 and so on").Offer(DeviceWords);
  options.Text("--out", asked_.out, "folder for validation.csv, validation.txt and falsification.csv");
  options.Text("--format", asked_.format, "what goes to standard output").Among({"table", "csv"});
  options.Whole("--steps", asked_.steps, 5, 10000, "the fewest steps measured for each plan");
  options.Flag("--resume", asked_.resume, "continue an interrupted run of the same command in --out");
  options.Whole("--random", asked_.random_plans, 0, 10000,
                "number of random plans per network, besides those of strategies");
  options.Seed("--seed", asked_.seed, "seed of the random plans, the measuring order and the training data");
  scenarios.DeclareJobs(options);
  scenarios.DeclareOverrides(options);
  scenarios.DeclarePlan(options);
  scenarios.overrides.plan_on_any_machine = true;  // the user's own profile may take the place of the scenario's
}

void ValidateCommand::Parse() {
  if (asked_.torch.empty() && asked_.scenarios.files.empty()) {
    throw UserError("validate: expected a scenario FILE, or --torch with a carrier's report");
  }
  device_ = DeviceByName(asked_.device);
  asked_.line = line;
}

ExitCode ValidateCommand::Run(Console& console) const {
  if (!asked_.torch.empty()) return ValidateTorch(asked_, console);
  const SteadyClock clock;
  OwnProcessMemory memory;
  const std::unique_ptr<DeviceBackend> backend = device_.Make(clock);
  Interrupts interrupts;  // before there are threads, a device's among them
  backend->Need();
  const ExitCode status = ValidateWith(*backend, asked_, console, &memory, [&interrupts] { return interrupts.Came(); });
  interrupts.Came();  // behind the last case one changes nothing any more
  return status;
}

Verb ValidateVerb() {
  return {
      .name = "validate",
      .description = "execute a scenario's plans on a device: predicted against measured",
      .examples = {"spillway validate scenarios/validate-cpu-resnet.yaml --device cpu --machine hw/mine.yaml",
                   "spillway validate my.yaml --device cuda:0 --steps 50 --out out/mine",
                   "spillway validate --torch report.json --out out/carried"},
      .exits = {kDoneExit,
                {kExitExpectationFailed,
                 "a strategy's plan could not be executed, a required expectation failed, or PyTorch's peak was above "
                 "the memory planned for"},
                kWrongExit,
                kNothingFitsExit,
                kInterruptedExit},
      .make = MakeCommand<ValidateCommand>};
}

}  // namespace spillway
