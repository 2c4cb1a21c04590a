// spillway completion: a script that completes command lines, from the tables that the parser goes by.
#include <fmt/format.h>

#include "hw/text/lists.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/options.h"

namespace spillway {

namespace {

constexpr const char* kShells[] = {"bash"};

// The function's beginning and end. `kind` is what the word before asks for: words, or files.
constexpr const char* kBegin = R"(# Completion for bash of spillway, and of ./run, which passes its words on.
# To use it:  source <(spillway completion bash)
_spillway() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]} kind=place
  local options='' words='' value=''
  if [[ $word == '=' ]]; then word=''; elif [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  COMPREPLY=()
)";
constexpr const char* kEnd = R"(  if [[ $kind == place && $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
    return
  fi
  # Several values stand between commas: the last one is completed.
  [[ $kind == value && $word == *,* ]] && value=${word%,*},
  COMPREPLY=($(compgen -P "$value" -W "$words" -- "${word#"$value"}"))
  [[ $kind == value && -n $words ]] || COMPREPLY+=($(compgen -f -- "$word"))
}
complete -o filenames -F _spillway spillway ./run
)";

std::string ValueCases(const VerbWords& verb) {
  std::string cases;
  for (const OptionWords& option : verb.options) {
    if (option.by_place || option.flag) continue;
    cases += fmt::format("    '{0} {1}') kind=value words='{2}' ;;\n", verb.verb,
                         fmt::join(option.names, fmt::format("'|'{} ", verb.verb)), fmt::join(option.offered, " "));
  }
  return cases;
}

// Options, and the words of what is known by its place.
std::string VerbCase(const VerbWords& verb) {
  std::vector<std::string> options, places;
  for (const OptionWords& option : verb.options) {
    const std::vector<std::string>& more = option.by_place ? option.offered : option.names;
    std::vector<std::string>& to = option.by_place ? places : options;
    to.insert(to.end(), more.begin(), more.end());
  }
  return fmt::format("    {}) options='{}' words='{}' ;;\n", verb.verb, fmt::join(options, " "),
                     fmt::join(places, " "));
}

std::string BashScript() {
  std::string verbs, values;
  for (const VerbWords& verb : WordsOfVerbs()) {
    verbs += VerbCase(verb);
    values += ValueCases(verb);
  }
  std::vector<std::string> names = NamesOf(Verbs());
  names.insert(names.end(), {"--help", "--version"});
  return fmt::format(
      "{}  if ((COMP_CWORD == 1)); then\n    COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n    return\n  fi\n"
      "  case $verb in\n{}  esac\n  case \"$verb $before\" in\n{}  esac\n{}",
      kBegin, fmt::join(names, " "), verbs, values, kEnd);
}

class CompletionCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("SHELL", shell_, "the shell that the script is for")
        .Required()
        .Among({std::begin(kShells), std::end(kShells)});
  }
  bool ForReading() const override { return false; }
  ExitCode Run(Console& console) const override {
    console.out << BashScript();
    return kExitDone;
  }

 private:
  std::string shell_;
};

}  // namespace

Verb CompletionVerb() {
  return {.name = "completion",
          .description = "write a script with which a shell completes verbs, options and names",
          .examples = {"spillway completion bash"},
          .exits = {kDoneExit, kWrongExit},
          .make = MakeCommand<CompletionCommand>};
}

}  // namespace spillway
