// The grammar of the command line. The one file with CLI11.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>

#include "hw/text/lists.h"
#include "scenarios/cli/argument_mistakes.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/options.h"
#include "scenarios/cli/version.h"
#include "scenarios/file/scenario.h"

namespace spillway {

namespace {

constexpr const char* kDescription =
    "Spillway predicts how fast a network trains beyond GPU memory, and which plan is best.";

constexpr const char* kMore =
    "\nExamples:\n"
    "  spillway run scenarios/resnet50-pcie-vs-nvlink.yaml --out out/\n"
    "  spillway compare my.yaml --machines v100-x86-pcie3,v100-power9-nvlink2\n"
    "  spillway plan my.yaml --machine v100-x86-pcie3 --batch 256 -o plan.yaml\n"
    "  spillway run my.yaml --plan plan.yaml\n"
    "  spillway list machines\n"
    "  spillway help run            options, examples and exit status of a verb\n"
    "  spillway help scenario       the keys of scenario files; likewise plan, network, graph, machine\n"
    "\nExit status: 0 done; 1 a check failed: an expectation under --check, a certificate, a\n"
    "measurement; 2 the input is wrong, or the output cannot be written; 3 no strategy fits;\n"
    "130 run, compare, calibrate or validate was interrupted; 70 an internal error.\n";

CLI::Option* InRange(CLI::Option* option, std::uint64_t least, std::uint64_t most) {
  return option->check([=](const std::string& text) { return WholeNumberMistake(text, least, most); },
                       std::to_string(least) + " to " + std::to_string(most));
}

constexpr auto kMostBatchTyped = static_cast<std::uint64_t>(kMostBatch);

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

OfferedWords AddVerb(const Verb& verb, CLI::App& app, Command& command) {
  CLI::App& sub = *app.add_subcommand(verb.name, verb.description);
  Options options(sub);
  command.Declare(options);
  RefuseOptionsAsValues(sub);
  sub.footer(GuideText(verb));
  return options.offered();
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

// What the verb says of values that the library takes for text.
Arguments Parsed(std::unique_ptr<Command> command) {
  try {
    command->Parse();
  } catch (const UserError& error) {
    return {nullptr, kExitWrongInput, std::string(error.what()) + "\n"};
  }
  return {std::move(command), kExitDone, ""};
}

}  // namespace

// What values may be, each check in our words.

DeclaredOption DeclaredOption::Required() const { return option_->required(), *this; }
DeclaredOption DeclaredOption::SplitAtCommas() const { return option_->delimiter(','), *this; }
DeclaredOption DeclaredOption::Once() const { return option_->expected(1), *this; }
DeclaredOption DeclaredOption::OneEach() const { return option_->allow_extra_args(false), *this; }

DeclaredOption DeclaredOption::Among(const std::vector<std::string>& choices) const {
  option_->check([=](const std::string& text) { return ChoiceMistake(text, choices); },
                 "{" + CLI::detail::join(choices, ",") + "}");
  return Offer([choices] { return choices; });
}

DeclaredOption DeclaredOption::Offer(std::function<std::vector<std::string>()> words) const {
  offered_[option_] = std::move(words);
  return *this;
}

DeclaredOption Options::Text(const char* names, std::string& value, const char* meaning) {
  return Declared(app_.add_option(names, value, meaning));
}

DeclaredOption Options::Texts(const char* names, std::vector<std::string>& values, const char* meaning) {
  return Declared(app_.add_option(names, values, meaning));
}

void Options::Flag(const char* names, bool& value, const char* meaning) { app_.add_flag(names, value, meaning); }

DeclaredOption Options::Whole(const char* names, int& value, int least, int most, const char* meaning) {
  return Declared(InRange(app_.add_option(names, value, meaning), static_cast<std::uint64_t>(least),
                          static_cast<std::uint64_t>(most)));
}

DeclaredOption Options::Batch(const char* names, std::int64_t& value, const char* meaning) {
  return Declared(InRange(app_.add_option(names, value, meaning), 1, kMostBatchTyped));
}

DeclaredOption Options::Batches(const char* names, std::vector<std::int64_t>& values, const char* meaning) {
  return Declared(InRange(app_.add_option(names, values, meaning)->delimiter(','), 1, kMostBatchTyped));
}

DeclaredOption Options::Seed(const char* names, std::uint64_t& value, const char* meaning) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return Declared(InRange(app_.add_option(names, value, meaning), 0, kMost));
}

DeclaredOption Options::Number(const char* names, double& value, double least, double most, const char* meaning) {
  return Declared(app_.add_option(names, value, meaning)
                      ->check([=](const std::string& text) { return NumberMistake(text, least, most); },
                              fmt::format("{} to {}", least, most)));
}

std::vector<VerbWords> WordsOfVerbs() {
  CLI::App app(kDescription, "spillway");
  std::vector<VerbWords> all;
  for (const Verb& verb : Verbs()) {
    const std::unique_ptr<Command> command = verb.make();
    const OfferedWords offered = AddVerb(verb, app, *command);
    VerbWords& words = all.emplace_back(VerbWords{verb.name, {}});
    for (const CLI::Option* option : app.get_subcommand(verb.name)->get_options()) {
      const auto found = offered.find(option);
      words.options.push_back({.names = TypedNames(*option),
                               .by_place = option->get_positional(),
                               .flag = option->get_items_expected_max() == 0,
                               .offered = found == offered.end() ? std::vector<std::string>{} : found->second()});
    }
  }
  return all;
}

Arguments ParseArguments(const std::vector<std::string>& words) {
  using Words = std::vector<std::string>;
  if (words == Words{"--version", "--verbose"} || words == Words{"--verbose", "--version"}) {
    return {nullptr, kExitDone, VersionText(true)};
  }
  const std::string no_verb = VerbMistake(words, NamesOf(Verbs()));
  if (!no_verb.empty()) return {nullptr, kExitWrongInput, no_verb};
  CLI::App app(kDescription, "spillway");
  app.footer(kMore);
  app.require_subcommand(1);
  app.set_version_flag("--version", VersionText(false));
  std::vector<std::unique_ptr<Command>> commands;
  for (const Verb& verb : Verbs()) AddVerb(verb, app, *commands.emplace_back(verb.make()));
  if (std::optional<std::string> help = HelpText(app, words)) return {nullptr, kExitDone, std::move(*help)};
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    return Left(app, words, error);
  }
  const auto index = IndexIn(NamesOf(Verbs()), app.get_subcommands().front()->get_name());
  std::unique_ptr<Command>& command = commands[*index];
  command->line = "spillway";
  for (const std::string& word : words) command->line += " " + word;
  return Parsed(std::move(command));
}

}  // namespace spillway
