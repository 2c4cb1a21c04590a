// The grammar of the command line. The one file with CLI11.
#include <CLI/CLI.hpp>
#include <sstream>

#include "scenarios/command.h"

namespace spillway {

namespace {

constexpr const char* kDescription =
    "Spillway predicts how fast a network trains when it does not fit in GPU memory, and which plan is best.";

constexpr const char* kExamples =
    "\nExamples:\n"
    "  spillway run scenarios/resnet50-pcie-vs-nvlink.yaml --out out/\n"
    "  spillway run my.yaml --strategies pooch,swap-all --memory 12GiB --format csv\n"
    "  spillway compare my.yaml --machines v100-x86-pcie3,v100-power9-nvlink2\n"
    "  spillway plan my.yaml --machine v100-x86-pcie3 --batch 256 -o plan.yaml\n"
    "  spillway run my.yaml --plan plan.yaml\n"
    "  spillway list machines\n"
    "  spillway show network resnet50 --batch 256\n"
    "\nExit status: 0 done; 1 an expectation failed under --check; 2 the input is wrong; 3 no strategy fits "
    "somewhere; 130 calibrate or validate was interrupted.\n";

void AddFiles(CLI::App& app, Command& command) { app.add_option("FILE", command.files, "scenario files")->required(); }

void AddOverrides(CLI::App& app, Overrides& overrides) {
  app.add_option("--machines,--machine", overrides.machines, "these machines instead of the scenario's")
      ->delimiter(',');
  app.add_option("--strategies,--strategy", overrides.strategies, "these strategies")->delimiter(',');
  app.add_option("--batch", overrides.batch, "these batch sizes")->delimiter(',');
  app.add_option("--memory", overrides.memory, "cap on device memory, e.g. 12GiB");
  app.add_option("--runtime", overrides.runtime, "carry every plan out on this runtime");
}

void AddJobs(CLI::App& app, Command& command) {
  app.add_option("--jobs", command.jobs, "threads; the results do not depend on it (default: all cores)")
      ->check(CLI::Range(1, 1024));
}

void AddRun(CLI::App& app, Command& command) {
  AddFiles(app, command);
  app.add_option("--out", command.out, "folder for results, plans and timelines");
  app.add_option("--format", command.format, "what goes to standard output")
      ->check(CLI::IsMember({"table", "csv", "json"}));
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
  app.add_option("--plan", command.overrides.plan, "carry out this plan instead of the strategies");
  app.add_flag("--check", command.check, "exit with 1 when an expectation that is a gate fails");
}

void AddCompare(CLI::App& app, Command& command) {
  AddFiles(app, command);
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
}

void AddPlan(CLI::App& app, Command& command) {
  AddFiles(app, command);
  app.add_option("-o,--output", command.out, "file to write; standard output without");
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
}

void AddList(CLI::App& app, Command& command) {
  app.add_option("WHAT", command.topic, "machines, networks, strategies or reports")->required();
}

void AddShow(CLI::App& app, Command& command) {
  app.add_option("WHAT", command.topic, "network, machine or strategy")->required();
  app.add_option("NAME", command.name, "its name, or a file")->required();
  app.add_option("--batch", command.batch, "batch size of the network")->check(CLI::Range(std::int64_t{1}, kMostBatch));
}

void AddEstimate(CLI::App& app, Command& command) {
  app.add_option("OPS", command.files, "operations: CSV with the columns of a samples file")->required();
  app.add_option("--machine", command.machine, "profile to ask")->required();
  app.add_option("--workspace", command.workspace, "most scratch a call is granted, e.g. 8MiB (default: any)");
  app.add_option("-o,--output", command.out, "file to write; standard output without");
}

void AddFit(CLI::App& app, Command& command) {
  app.add_option("SAMPLES", command.files, "samples files")->required();
  app.add_option("-o,--output", command.out, "profile to write");
  app.add_option("--base", command.base, "profile that tells what samples cannot: memory, host, links");
  app.add_option("--devices,--device", command.devices, "use the samples of this device, or of boards of one chip")
      ->delimiter(',');
  app.add_option("--carry", command.carry, "profile of a device whose models are the starting point");
  app.add_option("--copies", command.copies,
                 "HOST or HOST@DEVICE whose copies make the links' curves (columns host and device of the samples)");
  app.add_option("--copies-scale", command.copies_scale,
                 "the near link is this many times as fast as the measured one (another number of lanes)")
      ->check(CLI::Range(0.01, 100.0));
  app.add_option("--duplex", command.duplex, "HOST or HOST@DEVICE whose copies in both directions at once count");
  app.add_flag("--links-only", command.links_only, "leave the kernel models as they are");
  app.add_option(
      "--report", command.report,
      "write an accuracy report to this name, .md and .csv; with --links-only, of the copies in the samples");
}

void AddCalibrate(CLI::App& app, Command& command) {
  app.add_option("--device", command.device, "cpu, or cuda:0 and so on")->required();
  app.add_option("-o,--output", command.out, "profile to write; the journal goes beside it, as NAME.samples.csv")
      ->required();
  app.add_flag("--quick", command.quick, "within a minute: fewer repetitions, fewer shapes and sizes");
  app.add_option("--budget", command.budget, "time to measure, e.g. 300s; what matters most comes first");
  app.add_flag("--resume", command.resume, "go on with the journal of an earlier run; nothing is measured again");
  app.add_option("--link-rate", command.link_rate,
                 "rate of the link in each direction, e.g. \"2 GB/s\"; without it as fast as memory copies");
  app.add_option("--pinned-limit", command.pinned_limit,
                 "most host memory that may be pinned, e.g. 100GiB; without it all that the system states");
  app.add_option("--networks", command.networks,
                 "measure the launches of these first: NAME:BATCH, network.yaml:BATCH, or a scenario's")
      ->delimiter(',');
  app.add_option(
         "--groups", command.groups,
         "measure these alone: copies, host, networks, beside, memory, grid, beyond, again, managed (without it "
         "all but managed)")
      ->delimiter(',');
  app.add_flag("--no-grid", command.no_grid, "measure the launches of --networks only; models will not hold elsewhere");
  app.add_option("--threads", command.threads, "threads of the compute library")->check(CLI::Range(1, 256));
  app.add_option("--protocol", command.protocol,
                 "state in which kernels find their operands: step (as in training, the default), cold or warm");
}

void AddProbe(CLI::App& app, Command& command) {
  app.add_option("--device", command.device, "cuda:0 and so on")->required();
}

void AddValidate(CLI::App& app, Command& command) {
  AddFiles(app, command);
  app.add_option("--device", command.device, "what to run on: cpu, or cuda:0 and so on");
  app.add_option("--out", command.out, "folder for validation.csv, validation.txt and falsification.csv");
  app.add_option("--format", command.format, "what goes to standard output")->check(CLI::IsMember({"table", "csv"}));
  app.add_option("--steps", command.steps, "steps measured of each plan, at least")->check(CLI::Range(5, 10000));
  app.add_flag("--resume", command.resume,
               "go on with the cases that an interrupted run of the same command has finished in --out");
  app.add_option("--random", command.random_plans, "so many random plans per network, beside the strategies'")
      ->check(CLI::Range(0, 10000));
  app.add_option("--seed", command.seed, "of random plans, of the order of measuring, and of the numbers trained on");
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
  app.add_option("--plan", command.overrides.plan, "carry out this plan instead of the strategies");
}

void AddOptions(const std::string& verb, CLI::App& app, Command& command) {
  if (verb == "run") AddRun(app, command);
  if (verb == "compare") AddCompare(app, command);
  if (verb == "plan") AddPlan(app, command);
  if (verb == "list") AddList(app, command);
  if (verb == "show") AddShow(app, command);
  if (verb == "estimate") AddEstimate(app, command);
  if (verb == "fit") AddFit(app, command);
  if (verb == "validate") AddValidate(app, command);
  if (verb == "calibrate") AddCalibrate(app, command);
  if (verb == "probe") AddProbe(app, command);
}

std::vector<std::string> VerbNames() {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) names.emplace_back(verb.name);
  return names;
}

// CLI11 only says that a subcommand is missing when its name is misspelt.
std::string UnknownVerb(const std::vector<std::string>& words) {
  const std::vector<std::string> names = VerbNames();
  if (words.empty() || words[0].starts_with('-')) return "";
  if (std::find(names.begin(), names.end(), words[0]) != names.end()) return "";
  return "unknown verb '" + words[0] + "'" + DidYouMean(words[0], names) + " (spillway --help)\n";
}

Arguments Left(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, err;
  Arguments arguments;
  arguments.status = app.exit(error, out, err) == 0 ? kExitDone : kExitWrongInput;
  arguments.text = out.str() + err.str();
  return arguments;
}

}  // namespace

Arguments ParseArguments(const std::vector<std::string>& words) {
  const std::string unknown = UnknownVerb(words);
  if (!unknown.empty()) return {std::nullopt, kExitWrongInput, unknown};
  Command command;
  CLI::App app(kDescription, "spillway");
  app.footer(kExamples);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("spillway ") + Version());
  for (const Verb& verb : Verbs()) AddOptions(verb.name, *app.add_subcommand(verb.name, verb.description), command);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    return Left(app, error);
  }
  command.verb = app.get_subcommands().front()->get_name();
  command.line = "spillway";
  for (const std::string& word : words) command.line += " " + word;
  return {std::move(command), kExitDone, ""};
}

}  // namespace spillway
