// The grammar of the command line. The one file with CLI11.
#include <CLI/CLI.hpp>
#include <limits>
#include <sstream>

#include "hw/text/lists.h"
#include "scenarios/cli/argument_mistakes.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/help.h"

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
    "  spillway help scenario       the keys of scenario files; likewise plan, network, graph, machine\n"
    "\nExit status: 0 done; 1 an expectation failed under --check, or what was measured is not as promised; 2 the "
    "input\n"
    "is wrong, or the output cannot be written; 3 no strategy fits somewhere; 130 run, compare, calibrate or "
    "validate was interrupted; 70 a bug of ours.\n";

// What values may be, each check in our words.
CLI::Option* Whole(CLI::Option* option, std::uint64_t least, std::uint64_t most) {
  return option->check([=](const std::string& text) { return WholeNumberMistake(text, least, most); },
                       std::to_string(least) + " to " + std::to_string(most));
}

CLI::Option* Among(CLI::Option* option, const std::vector<std::string>& choices) {
  return option->check([=](const std::string& text) { return ChoiceMistake(text, choices); },
                       "{" + CLI::detail::join(choices, ",") + "}");
}

constexpr auto kMostBatchTyped = static_cast<std::uint64_t>(kMostBatch);

void AddFiles(CLI::App& app, Command& command) { app.add_option("FILE", command.files, "scenario files")->required(); }

void AddOverrides(CLI::App& app, Overrides& overrides) {
  app.add_option("--machines,--machine", overrides.machines, "these machines instead of the scenario's")
      ->delimiter(',');
  app.add_option("--strategies,--strategy", overrides.strategies, "these strategies")->delimiter(',');
  Whole(app.add_option("--batch", overrides.batch, "these batch sizes")->delimiter(','), 1, kMostBatchTyped);
  app.add_option("--memory", overrides.memory, "cap on device memory, e.g. 12GiB");
  app.add_option("--runtime", overrides.runtime, "carry every plan out on this runtime");
}

void AddJobs(CLI::App& app, Command& command) {
  Whole(app.add_option("--jobs", command.jobs, "threads; the results do not depend on it (default: all cores)"), 1,
        1024);
}

void AddCosts(CLI::App& app, Command& command) {
  app.add_option(
      "--costs", command.overrides.costs,
      "plan and predict by what a step's launches and copies took: costs/POINT.csv of a validation's folder");
}

void AddRun(CLI::App& app, Command& command) {
  AddFiles(app, command);
  app.add_option("--out", command.out, "folder for results, plans, timelines and report.html");
  app.add_flag("--resume", command.resume, "go on with the run in the folder of --out that was cut off");
  Among(app.add_option("--format", command.format, "what goes to standard output"), {"table", "csv", "json"});
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
  app.add_option("--plan", command.overrides.plan, "carry out this plan instead of the strategies");
  AddCosts(app, command);
  app.add_flag("--timeline", command.timeline, "a sketch of each point's streams and memory, in characters");
  app.add_flag("--check", command.check, "exit with 1 when an expectation that is a gate fails");
}

void AddCompare(CLI::App& app, Command& command) {
  AddFiles(app, command);
  app.add_option("--out", command.out, "folder for results, plans, timelines and report.html");
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
  app.add_option("--plan", command.plans, "a plan against another one (give it twice), or against the strategies' best")
      ->allow_extra_args(false);
}

void AddPlan(CLI::App& app, Command& command) {
  AddFiles(app, command);
  app.add_option("-o,--output", command.out, "file to write; standard output without");
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
  AddCosts(app, command);
}

void AddCertify(CLI::App& app, Command& command) {
  AddFiles(app, command);
  app.add_option("--plan", command.overrides.plan, "the plan; its certificate is the file beside it, PLAN.certificate")
      ->required();
  AddOverrides(app, command.overrides);
}

void AddList(CLI::App& app, Command& command) {
  app.add_option("WHAT", command.topic, "machines, networks, layers, strategies or reports")->required();
}

void AddShow(CLI::App& app, Command& command) {
  app.add_option("WHAT", command.topic, "network, machine, strategy, menu, floor or shares")->required();
  app.add_option("NAME", command.name, "its name, or a file; of floors, all: every network of the zoo")->required();
  Whole(app.add_option("--batch", command.batch, "batch size of the network"), 1, kMostBatchTyped);
  app.add_option("--machine", command.machine,
                 "of a menu or floor: profile, by name or file; of shares several, separated by commas");
}

void AddDump(CLI::App& app, Command& command) {
  app.add_option("WHAT", command.topic, "step, program or plan")->required();
  app.add_option("FILE", command.files, "scenario file")->required()->expected(1);
  app.add_option("-o,--output", command.out, "file to write; standard output without");
  Among(app.add_option("--format", command.dump_format, "json: described in reports/dump/README.md"), {"json"});
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
  app.add_option("--plan", command.overrides.plan, "this plan instead of the strategies' best");
}

void AddExplain(CLI::App& app, Command& command) {
  app.add_option("RESULT", command.name, "a point's timeline: timelines/POINT.trace.json of a run's folder")
      ->required();
  app.add_option("--op", command.op, "what it costs and what it waits for");
  app.add_option("--map", command.map, "what was decided about this feature map, why, and what else would cost");
}

void AddReport(CLI::App& app, Command& command) {
  app.add_option("DIR", command.name, "folder that run, compare or validate wrote into")->required();
  app.add_option("-o,--output", command.out, "file to write (default: DIR/report.html)");
}

void AddHelp(CLI::App& app, Command& command) {
  app.add_option("TOPIC", command.topic,
                 "a verb, or scenario, plan, network, graph or machine: the keys of such files");
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
      ->check([](const std::string& text) { return NumberMistake(text, 0.01, 100); }, "0.01 to 100");
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
  Whole(app.add_option("--threads", command.threads, "threads of the compute library"), 1, 256);
  app.add_option("--protocol", command.protocol,
                 "state in which kernels find their operands: step (as in training, the default), cold or warm");
}

void AddClaims(CLI::App& app, Command& command) {
  app.add_option("SYSTEM", command.name, "its claims alone, e.g. vdnn; without it those of all systems");
  AddJobs(app, command);
  app.add_flag("--check", command.check, "exit with 1 when a claim that is a gate does not hold");
}

void AddProbe(CLI::App& app, Command& command) {
  app.add_option("--device", command.device, "cuda:0 and so on")->required();
}

void AddValidate(CLI::App& app, Command& command) {
  AddFiles(app, command);
  app.add_option("--device", command.device, "what to run on: cpu, or cuda:0 and so on");
  app.add_option("--out", command.out, "folder for validation.csv, validation.txt and falsification.csv");
  Among(app.add_option("--format", command.format, "what goes to standard output"), {"table", "csv"});
  Whole(app.add_option("--steps", command.steps, "steps measured of each plan, at least"), 5, 10000);
  app.add_flag("--resume", command.resume,
               "go on with the cases that an interrupted run of the same command has finished in --out");
  Whole(app.add_option("--random", command.random_plans, "so many random plans per network, beside the strategies'"), 0,
        10000);
  Whole(app.add_option("--seed", command.seed,
                       "of random plans, of the order of measuring, and of the numbers trained on"),
        0, std::numeric_limits<std::uint64_t>::max());
  AddJobs(app, command);
  AddOverrides(app, command.overrides);
  app.add_option("--plan", command.overrides.plan, "carry out this plan instead of the strategies");
}

void AddOptions(const std::string& verb, CLI::App& app, Command& command) {
  if (verb == "run") AddRun(app, command);
  if (verb == "compare") AddCompare(app, command);
  if (verb == "plan") AddPlan(app, command);
  if (verb == "certify") AddCertify(app, command);
  if (verb == "list") AddList(app, command);
  if (verb == "show") AddShow(app, command);
  if (verb == "estimate") AddEstimate(app, command);
  if (verb == "fit") AddFit(app, command);
  if (verb == "validate") AddValidate(app, command);
  if (verb == "calibrate") AddCalibrate(app, command);
  if (verb == "probe") AddProbe(app, command);
  if (verb == "claims") AddClaims(app, command);
  if (verb == "dump") AddDump(app, command);
  if (verb == "explain") AddExplain(app, command);
  if (verb == "report") AddReport(app, command);
  if (verb == "help") AddHelp(app, command);
}

// As they are typed.
std::vector<std::string> TypedNames(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name(true)};
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

// The library takes the next option for a value.
void RefuseOptionsAsValues(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string> own = TypedNames(*option);
    names.insert(names.end(), own.begin(), own.end());
  }
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    const bool by_place = option->get_positional();
    option->check([names, by_place](const std::string& text) { return ValueMistake(text, by_place, names); }, "");
  }
}

void AddVerb(const Verb& verb, CLI::App& app, Command& command) {
  CLI::App& sub = *app.add_subcommand(verb.name, verb.description);
  AddOptions(verb.name, sub, command);
  RefuseOptionsAsValues(sub);
  for (const VerbGuide& guide : VerbGuides()) {
    if (sub.get_name() == guide.verb) sub.footer(GuideText(guide));
  }
}

// What the library has found of a verb's options.
LineFacts FactsOf(const CLI::App& verb, const std::vector<std::string>& words, const CLI::ParseError& error) {
  LineFacts facts{.verb = verb.get_name(), .options = {}, .words = words, .extra = verb.remaining(), .wrong = ""};
  for (const CLI::Option* option : verb.get_options()) {
    facts.options.push_back({.names = TypedNames(*option),
                             .meaning = option->get_description(),
                             .by_place = option->get_positional(),
                             .required = option->get_required(),
                             .flag = option->get_items_expected_max() == 0,
                             .many = option->get_items_expected_max() > 1,
                             .given = option->results()});
  }
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) facts.wrong = error.what();
  return facts;
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

// Help or the version, or what is wrong.
Arguments Left(const CLI::App& app, const std::vector<std::string>& words, const CLI::ParseError& error) {
  std::ostringstream out, err;
  Arguments arguments;
  arguments.status = app.exit(error, out, err) == 0 ? kExitDone : kExitWrongInput;
  arguments.text = out.str() + err.str();
  if (arguments.status == kExitDone || app.get_subcommands().empty()) return arguments;
  const std::string mistakes = LineMistakes(FactsOf(*app.get_subcommands().front(), words, error));
  if (!mistakes.empty()) arguments.text = mistakes;
  return arguments;
}

}  // namespace

Arguments ParseArguments(const std::vector<std::string>& words) {
  const std::string no_verb = VerbMistake(words, NamesOf(Verbs()));
  if (!no_verb.empty()) return {std::nullopt, kExitWrongInput, no_verb};
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
    return Left(app, words, error);
  }
  command.verb = app.get_subcommands().front()->get_name();
  // There the user's own profile may take the place of the machine that the scenario names.
  command.overrides.plan_on_any_machine = command.verb == "validate";
  command.line = "spillway";
  for (const std::string& word : words) command.line += " " + word;
  return {std::move(command), kExitDone, ""};
}

}  // namespace spillway
