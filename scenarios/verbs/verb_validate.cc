// spillway validate: predicted against measured, on the machine at hand.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "calibrate/validate/falsify.h"
#include "hw/machine/machine.h"
#include "reports/tables/expectation_table.h"
#include "reports/tables/validation.h"
#include "scenarios/run/output_folder.h"
#include "scenarios/run/run_identity.h"
#include "scenarios/validate/validate.h"
#include "scenarios/validate/validate_files.h"
#include "scenarios/validate/validate_journal.h"
#include "scenarios/validate/validate_places.h"
#include "scenarios/verbs/command.h"
#include "scenarios/verbs/devices.h"
#include "scenarios/verbs/files_as_it_goes.h"
#include "scenarios/verbs/interrupts.h"
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

[[noreturn]] void NeedProfile(const ValidateHost& host, const std::string& device, const std::string& machine) {
  throw UserError(
      fmt::format("{}: not a profile of this machine, which validating needs. Make one by\n"
                  "  spillway calibrate --device {} -o hw/{}\n"
                  "and type the same command again, or name another one by --machine",
                  machine, device, host.usual_profile));
}

// Predictions for another device say nothing about this one. The shipped scenarios name an example: the user's own
// profile takes its place.
PreparedRun PrepareValidation(const ValidateHost& host, const Command& command) {
  PreparedRun run = PrepareCommand(command);
  const auto is_example = [&](const auto& machine) { return machine->base == host.example; };
  if (std::any_of(run.machines.begin(), run.machines.end(), is_example)) {
    Command own = command;
    own.overrides.machines = {UsualProfile(host.usual_profile)};
    if (own.overrides.machines[0].empty()) NeedProfile(host, command.device, run.machines.front()->label);
    run = PrepareCommand(own);
  }
  for (const auto& step : run.steps) {
    if (step->source->recorded == nullptr) continue;
    throw UserError(
        fmt::format("{}: a recorded step, whose ops no device can run: validate networks", step->source->choice.graph));
  }
  for (const auto& machine : run.machines) {
    if (!machine->machine.devices[0].name.starts_with(host.devices)) NeedProfile(host, command.device, machine->label);
  }
  return run;
}

// What is measured again may hang, or differ for that reason: said before anything runs.
void WarnOfChanges(const PreparedRun& run, const ValidateHost& host, Console& console) {
  std::set<std::string> said;
  for (const auto& machine : run.machines) {
    const std::string warning = host.changed(machine->machine);
    if (!warning.empty() && said.insert(warning).second) console.err << "warning: " << warning << "\n" << std::flush;
  }
}

bool IsThePlace(const ValidationCase& found, const ResultRow& wanted) {
  return found.scenario == wanted.scenario && found.network == wanted.network && found.batch == wanted.batch &&
         found.machine == wanted.machine && found.memory_limit == wanted.memory_limit;
}

// A row for each of the strategies, then random plans'.
bool HasTheRows(const std::vector<ValidationRow>& rows, std::span<const Point> points) {
  if (rows.size() < points.size()) return false;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (rows[k].random != (k >= points.size())) return false;
    // A plan that was given is called by its file, which may have another name by now.
    const bool named = k < points.size() && points[k].plan == nullptr;
    if (named && rows[k].strategy != points[k].row.strategy) return false;
  }
  return true;
}

bool HasTheFigures(const FinishedCase& found, std::size_t strategies) {
  const auto measured =
      std::count_if(found.rows.begin(), found.rows.end(), [](const ValidationRow& row) { return row.Measured(); });
  return found.classes.size() == strategies && found.models.size() == static_cast<std::size_t>(measured) &&
         std::all_of(found.models.begin(), found.models.end(),
                     [](const auto& by_model) { return by_model.size() == StepModels().size(); });
}

// Cases that an earlier run finished, held against those of this one: a journal that somebody changed is told before
// anything runs. Throws UserError, with the line, at the first that is not the one of these points' places at its position:
// another scenario, network, batch, machine, limit, other strategies, or figures that are missing.
void CheckKnown(const std::vector<FinishedCase>& known, const std::vector<Point>& points,
                const ValidationJournal& journal) {
  const std::vector<std::span<const Point>> places = PlacesOf(points);
  const std::string anew = "the file was changed; leave --resume away to measure all cases anew";
  for (std::size_t k = 0; k < known.size(); ++k) {
    if (k >= places.size()) {
      throw UserError(fmt::format("{}: error: there are {} cases, and this is one more: {}", journal.LineOf(k),
                                  places.size(), anew));
    }
    const ResultRow& row = places[k].front().row;
    if (IsThePlace(known[k].place, row) && HasTheRows(known[k].rows, places[k]) &&
        HasTheFigures(known[k], places[k].size())) {
      continue;
    }
    throw UserError(fmt::format("{}: error: this is not case {}, {} at batch {} on {} with {}: {}", journal.LineOf(k),
                                k + 1, row.network, row.batch, row.machine, FormatBytes(row.memory_limit), anew));
  }
}

// Rows of a plan that was given, by the name that its file has now. REQUIRES: checked.
void NameByFile(const std::vector<Point>& points, std::vector<FinishedCase>& known) {
  const std::vector<std::span<const Point>> places = PlacesOf(points);
  for (std::size_t k = 0; k < known.size(); ++k) {
    ValidationCase& place = known[k].place;
    for (std::size_t i = 0; i < places[k].size(); ++i) {
      const std::string then = std::exchange(known[k].rows[i].strategy, places[k][i].row.strategy);
      for (std::string* best : {&place.best_predicted, &place.best_measured}) {
        if (*best == then) *best = places[k][i].row.strategy;
      }
    }
  }
}

// What cases of an earlier run must share with this one. Plans are what this program's strategies make of these, but for
// one that was given.
JournalIdentity FactsOf(const PreparedRun& run, const ValidateHost& host, const ValidateOptions& options) {
  const RunDigests digests = DigestsOf(run);
  const std::string scenario = fmt::format("{}, {} points", run.points.front().row.scenario, run.points.size());
  std::string machines;
  for (const auto& machine : run.machines) machines += (machines.empty() ? "" : ", ") + machine->label;
  const std::string asked =
      fmt::format("--steps {} --random {} --seed {}", options.steps, options.random_plans, options.seed);
  return {{"scenario", digests.points + digests.networks + digests.plans, scenario},
          {"profile", digests.machines, machines},
          {"device", host.identity, host.identity},
          {"command", asked, asked},
          {"program", ProgramDigest(), Version()}};
}

// Judged before any number is: what is measured now says little.
void WarnOfLoad(const MachineNoise& noise, Console& console) {
  if (!noise.Crowded()) return;
  console.err << fmt::format(
                     "warning: {:.1f} threads want a core here, where up to {:.0f} would not have to wait: what is "
                     "measured now says little\n",
                     noise.load, noise.room)
              << std::flush;
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

}  // namespace

ExitCode ValidateWith(const ValidateHost& host, const Command& command, Console& console,
                      const std::function<bool()>& stop) {
  PreparedRun run = PrepareValidation(host, command);
  ValidateOptions options{.steps = command.steps,
                          .random_plans = command.random_plans,
                          .seed = command.seed,
                          .jobs = JobsOf(command),
                          .stop = stop};
  const ResultFolder folder(command.out);
  const FolderLock lock(command.out, command.line);  // given back first: then the folder may be empty
  ValidationJournal journal(command.out, FactsOf(run, host, options));
  if (command.resume) options.known = journal.Resume();
  CheckKnown(options.known, run.points, journal);
  NameByFile(run.points, options.known);
  WarnOfChanges(run, host, console);
  const bool table = command.format == "table";
  ValidationFiles files(command.out);
  // Apart from each other: what was measured is worth more than tables of it.
  FilesAsItGoes tables(console, "the validation goes on without tables, and --resume will make up for them");
  FilesAsItGoes cases_kept(console, "the validation goes on, and cases from here on cannot be resumed");
  std::optional<Progress> progress;
  std::size_t all = 0;
  const ValidateWatcher watcher{.before = [&](const MachineNoise& noise) { WarnOfLoad(noise, console); },
                                .begin =
                                    [&](std::size_t sessions, std::size_t cases) {
                                      all = cases;
                                      tables.Try([&] { files.Begin(cases, options.known.size()); });
                                      progress.emplace(console, "session", sessions);
                                    },
                                .session = [&] { progress->Step(); },
                                .measured =
                                    [&](const FinishedCase& finished) {
                                      tables.Try([&] { files.StepsOf(finished); });
                                      cases_kept.Try([&] { journal.Append(finished); });
                                    },
                                .case_done =
                                    [&](const ValidationSet& set, std::size_t index) {
                                      tables.Try([&] { files.CaseDone(set); });
                                      if (table) console.out << ValidationCaseTable(set, index) << "\n" << std::flush;
                                    }};
  const Validated validated = ValidateRun(run, host, options, watcher);
  progress.reset();
  if (!validated.stuck.empty()) {
    for (const std::string& message : validated.stuck) console.err << message << "\n";
    return kExitNothingFits;
  }
  if (validated.stopped && validated.set.cases.empty()) {
    console.err << "interrupted before the first case was finished\n";
    return kExitInterrupted;
  }
  console.out << (table ? ValidationSummaryTable(validated.set) : ValidationCsv(validated.set)) << std::flush;
  if (!table) console.err << NoiseVerdict(validated.set.noise);
  tables.Try([&] { files.End(validated.set, !validated.stopped); });
  if (validated.stopped) return ReportStopped(validated, all, cases_kept.failed() ? "" : command.out, console);
  const bool passed = Report(run, validated, console);
  if (tables.failed()) return kExitWrongInput;  // the journal is kept for --resume
  journal.Remove();
  return passed ? kExitDone : kExitExpectationFailed;
}

ExitCode ValidateVerb(const Command& command, Console& console) {
  const DeviceChoice choice = DeviceByName(command.device);
  const SteadyClock clock;
  OwnProcessMemory memory;
  Interrupts interrupts;  // before there are threads, a device's among them
  ValidateHost host = choice.kind->validate(choice.index, command.seed, clock);
  host.memory = &memory;
  const ExitCode status = ValidateWith(host, command, console, [&interrupts] { return interrupts.Came(); });
  interrupts.Came();  // behind the last case one changes nothing any more
  return status;
}

}  // namespace spillway
