// The grammar of the command line. The one file with CLI11.
#include <CLI/CLI.hpp>
#include <sstream>

#include "hw/text/lists.h"
#include "scenarios/verbs/command.h"
#include "scenarios/verbs/help.h"

namespace spillway {

namespace {

constexpr const char* kDescription =
    "Spillway predicts how fast a network trains when it does not fit in GPU memory, and which plan is best.";

constexpr const char* kMore =
    "\nExamples:\n"
    "  spillway run scenarios/resnet50-pcie-vs-nvlink.yaml --out out/\n"
    "  spillway compare my.yaml --machines v100-x86-pcie3,v100-power9-nvlink2\n"
    "  spillway plan my.yaml --machine v100-x86-pcie3 --batch 256 -o plan.yaml\n"
    "  spillway run my.yaml --plan plan.yaml\n"
    "  spillway list machines\n"
    "  spillway help run            options, examples and exit status of a verb\n"
    "  spillway help scenario       the keys of scenario files; likewise plan, network, machine\n"
    "\nExit status: 0 done; 1 an expectation failed under --check, or what was measured is not as promised; 2 the "
    "input\n"
    "is wrong, or the output cannot be written; 3 no strategy fits somewhere; 130 calibrate or validate was "
    "interrupted; 70 a bug of ours.\n";

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
  app.add_flag("--resume", command.resume, "go on with the run in the folder of --out that was cut off");
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
  app.add_option("WHAT", command.topic, "machines, networks, layers, strategies or reports")->required();
}

void AddShow(CLI::App& app, Command& command) {
  app.add_option("WHAT", command.topic, "network, machine, strategy or menu")->required();
  app.add_option("NAME", command.name, "its name, or a file")->required();
  app.add_option("--batch", command.batch, "batch size of the network")->check(CLI::Range(std::int64_t{1}, kMostBatch));
  app.add_option("--machine", command.machine, "of a menu: profile, by name or file");
}

void AddDump(CLI::App& app, Command& command) {
  app.add_option("WHAT", command.topic, "step, program or plan")->required();
  app.add_option("FILE", command.files, "scenario file")->required()->expected(1);
  app.add_option("-o,--output", command.out, "file to write; standard output without");
  app.add_option("--format", command.dump_format, "json: described in reports/dump.md")->check(CLI::IsMember({"json"}));
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
  app.add_option("--plan", command.overrides.plan, "this plan instead of the strategies' best");
}

void AddHelp(CLI::App& app, Command& command) {
  app.add_option("TOPIC", command.topic, "a verb, or scenario, plan, network or machine: the keys of such files");
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
  if (verb == "dump") AddDump(app, command);
  if (verb == "help") AddHelp(app, command);
}

// CLI11 only says that a subcommand is missing when its name is misspelt.
std::string UnknownVerb(const std::vector<std::string>& words) {
  const std::vector<std::string> names = NamesOf(Verbs());
  if (words.empty() || words[0].starts_with('-')) return "";
  if (Contains(names, words[0])) return "";
  return "unknown verb '" + words[0] + "'" + DidYouMean(words[0], names) + " (spillway --help)\n";
}

// The library takes 010 for eight.
std::string LeadingZero(const std::string& text) {
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  return digits && text.size() > 1 && text[0] == '0' ? "'" + text + "' begins with a zero; write it without" : "";
}

void RefuseLeadingZeros(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("INT") || type.starts_with("UINT")) option->check(LeadingZero, "");
  }
}

void AddVerb(const Verb& verb, CLI::App& app, Command& command) {
  CLI::App& sub = *app.add_subcommand(verb.name, verb.description);
  AddOptions(verb.name, sub, command);
  RefuseLeadingZeros(sub);
  for (const VerbGuide& guide : VerbGuides()) {
    if (sub.get_name() == guide.verb) sub.footer(GuideText(guide));
  }
}

// Options that the verb does not have, with the nearest one that it has. "" when there are none: then the library knows
// better what is wrong.
std::string UnknownOptions(const CLI::App& verb, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  std::string text;
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || name.size() == 2) continue;
    if (Contains(names, name)) continue;
    text += verb.get_name() + ": unknown option '" + name + "'" + DidYouMean(name, names) + " (spillway help " +
            verb.get_name() + ")\n";
  }
  return text;
}

// `help`, `help VERB`: the library's own text, and the page of keys of that name. Nothing for other topics.
std::optional<std::string> HelpText(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0] != "help" || words.size() > 2) return std::nullopt;
  if (words.size() == 1) return app.help();
  const std::vector<std::string> names = NamesOf(Verbs());
  if (!Contains(names, words[1])) return std::nullopt;
  const std::string page = HelpPage(words[1]);
  return app.get_subcommand(words[1])->help("spillway") + (page.empty() ? "" : "\n" + page);
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
  app.footer(kMore);
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("spillway ") + Version());
  for (const Verb& verb : Verbs()) AddVerb(verb, app, command);
  if (std::optional<std::string> help = HelpText(app, words)) return {std::nullopt, kExitDone, std::move(*help)};
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    const bool asks = error.get_exit_code() == 0;  // for help or the version
    const std::string mistakes =
        asks || app.get_subcommands().empty() ? "" : UnknownOptions(*app.get_subcommands().front(), words);
    return mistakes.empty() ? Left(app, error) : Arguments{std::nullopt, kExitWrongInput, mistakes};
  }
  command.verb = app.get_subcommands().front()->get_name();
  // There the user's own profile may take the place of the machine that the scenario names.
  command.overrides.plan_on_any_machine = command.verb == "validate";
  command.line = "spillway";
  for (const std::string& word : words) command.line += " " + word;
  return {std::move(command), kExitDone, ""};
}

}  // namespace spillway
