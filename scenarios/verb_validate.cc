// spillway validate: predicted against measured, on the machine at hand.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "calibrate/cpu/device.h"
#include "calibrate/cpu/kernels.h"
#include "calibrate/steady_clock.h"
#include "reports/validation.h"
#include "scenarios/command.h"
#include "scenarios/output_folder.h"
#include "scenarios/validate.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

void MustBeKnown(const std::string& device) {
  if (device == "cpu" || device == "cpu:0") return;
  throw UserError(fmt::format("--device: unknown device '{}'{} (one of cpu)", device, DidYouMean(device, {"cpu"})));
}

constexpr const char* kExample = "cpu-example";  // hw/examples: made up
constexpr const char* kUsualProfile = "mine.yaml";

// What calibrate writes unless told otherwise.
std::string UsualProfile() {
  for (const fs::path& folder : {fs::path("hw"), fs::path(MachineFolder())}) {
    if (fs::exists(folder / kUsualProfile)) return (folder / kUsualProfile).string();
  }
  return "";
}

[[noreturn]] void NeedProfile(const std::string& machine) {
  throw UserError(
      fmt::format("{}: not a profile of this machine, which validating needs. Make one by\n"
                  "  spillway calibrate --device cpu -o hw/mine.yaml\n"
                  "and type the same command again, or name another one by --machine",
                  machine));
}

// Predictions for another device say nothing about this one. The shipped scenarios name an example: the user's own
// profile takes its place.
PreparedRun PrepareValidation(const Command& command) {
  PreparedRun run = PrepareCommand(command);
  const auto is_example = [](const auto& machine) { return machine->base == kExample; };
  if (std::any_of(run.machines.begin(), run.machines.end(), is_example)) {
    Command own = command;
    own.overrides.machines = {UsualProfile()};
    if (own.overrides.machines[0].empty()) NeedProfile(run.machines.front()->label);
    run = PrepareCommand(own);
  }
  for (const auto& machine : run.machines) {
    if (!machine->machine.devices[0].name.starts_with("cpu")) NeedProfile(machine->label);
  }
  return run;
}

void Write(const fs::path& folder, const ValidationSet& set) {
  WriteFile(folder / "validation.csv", ValidationCsv(set));
  WriteFile(folder / "falsification.csv", FalsificationCsv(set));
}

bool Report(const PreparedRun& run, const Validated& validated, Console& console) {
  for (const std::string& failure : validated.failures) console.err << failure << "\n";
  const std::vector<Verdict> verdicts = Judge(validated.results, run.expectations);
  if (!verdicts.empty()) console.err << ExpectationTable(verdicts);
  const bool gate_failed =
      std::any_of(verdicts.begin(), verdicts.end(), [](const Verdict& v) { return v.gate && !v.passed; });
  return validated.failures.empty() && !gate_failed;
}

// Over the last minute.
double LoadAverage() {
  double load = -1;
  return getloadavg(&load, 1) == 1 ? load : -1;
}

}  // namespace

ExitCode ValidateWith(const ValidateHost& host, const Command& command, Console& console) {
  PreparedRun run = PrepareValidation(command);
  if (!command.out.empty()) MakeFolder(command.out);
  const bool table = command.format == "table";
  std::optional<Progress> progress;
  const ValidateWatcher watcher{.begin = [&](std::size_t sessions) { progress.emplace(console, "session", sessions); },
                                .session = [&] { progress->Step(); },
                                .case_done =
                                    [&](const ValidationSet& set, std::size_t index) {
                                      if (table) console.out << ValidationCaseTable(set, index) << "\n" << std::flush;
                                    }};
  const ValidateOptions options{
      .steps = command.steps, .random_plans = command.random_plans, .seed = command.seed, .jobs = JobsOf(command)};
  const Validated validated = ValidateRun(run, host, options, watcher);
  progress.reset();
  if (!validated.stuck.empty()) {
    for (const std::string& message : validated.stuck) console.err << message << "\n";
    return kExitNothingFits;
  }
  console.out << (table ? ValidationSummaryTable(validated.set) : ValidationCsv(validated.set));
  if (!command.out.empty()) Write(command.out, validated.set);
  return Report(run, validated, console) ? kExitDone : kExitExpectationFailed;
}

ExitCode ValidateVerb(const Command& command, Console& console) {
  MustBeKnown(command.device);
  if (!HasCpuKernels()) throw UserError("validate: this program was built without oneDNN, which the CPU device needs");
  const SteadyClock clock;
  OwnProcessMemory memory;
  ValidateHost host;
  host.memory = &memory;
  host.load = LoadAverage;
  host.make = [&](const Network& network, double link_rate) {
    const CpuDeviceOptions options{.link_rate = link_rate, .seed = command.seed};
    auto device = std::make_unique<CpuDevice>(network, options, clock);
    const CpuDevice* const cpu = device.get();
    return OpenDevice{.device = std::move(device),
                      .clock = &clock,
                      .losses = [cpu] { return cpu->losses(); },
                      .host_bytes = [cpu] { return cpu->host_bytes(); },
                      .placement = [cpu] { return cpu->pinning(); }};
  };
  return ValidateWith(host, command, console);
}

}  // namespace spillway
