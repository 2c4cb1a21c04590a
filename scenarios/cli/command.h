// The verbs of the command line: what each is called, which options it has, and what it does.
//
// To add a verb: a file verb_NAME.cc with a class that derives from Command and a function that returns its Verb, and a
// line in table.inc.
//
// Tested by cli_test, cli_help_test and cli_mistakes_test (tests/).
#ifndef SPILLWAY_SCENARIOS_CLI_COMMAND_H_
#define SPILLWAY_SCENARIOS_CLI_COMMAND_H_

#include <memory>
#include <string>
#include <vector>

#include "scenarios/output/console.h"

namespace spillway {

class Options;  // scenarios/cli/options.h

// Exit statuses of the process. `spillway help VERB` tells which of them a verb may return, and their meaning.
enum ExitCode {
  kExitDone = 0,
  kExitExpectationFailed = 1,
  kExitWrongInput = 2,  // or what was asked for cannot be written
  kExitNothingFits = 3,
  kExitInterrupted = 130,   // by Ctrl-C or SIGTERM: run, compare, calibrate, validate say what is kept
  kExitInternalError = 70,  // a bug of ours; sysexits.h, EX_SOFTWARE
};

// A verb with its options as one command line has them. Members hold the options' values; without an option a member
// has the value that the class gives.
class Command {
 public:
  virtual ~Command() = default;
  // Says which options there are, and where their values go. Called once.
  virtual void Declare(Options& options) = 0;
  // Called when a line was parsed: text that has a unit or a name in it becomes a value. Throws UserError.
  virtual void Parse() {}
  // True if people read standard output, and not programs: control characters in names are then made visible.
  virtual bool ForReading() const { return true; }
  // Prints to the console alone. Throws UserError for whatever the user got wrong.
  virtual ExitCode Run(Console& console) const = 0;

  std::string line;  // as typed, for run.json
};

struct VerbExit {
  ExitCode code;
  const char* meaning;
};
// The descriptions of exit statuses that several verbs share.
inline constexpr VerbExit kDoneExit{kExitDone, "done"};
inline constexpr VerbExit kWrongExit{kExitWrongInput,
                                     "the input is wrong: every mistake is listed, and nothing is written"};
inline constexpr VerbExit kNothingFitsExit{kExitNothingFits,
                                           "at some point of the scenario no strategy fits into the memory"};
inline constexpr VerbExit kInterruptedExit{kExitInterrupted, "interrupted; what was done is kept"};
inline constexpr VerbExit kRowsKeptExit{kExitInterrupted,
                                        "interrupted; rows that are done are kept in the folder of --out"};

struct Verb {
  const char* name;
  const char* description;
  std::vector<const char*> examples;  // whole command lines
  std::vector<VerbExit> exits;        // but kExitInternalError, which all may have
  std::unique_ptr<Command> (*make)();
};
template <typename Made>
std::unique_ptr<Command> MakeCommand() {
  return std::make_unique<Made>();
}
const std::vector<Verb>& Verbs();  // in the order of table.inc

// The examples and exits, as they stand below the options in the verb's help.
std::string GuideText(const Verb& verb);

// Pages of keys that `spillway help` knows, in addition to verbs, by name: "scenario", "plan", "network", "machine". A
// name that is a verb's too (plan) asks for both.
std::vector<std::string> HelpPageNames();
std::string HelpPage(const std::string& name);  // "" when there is none

// Either a command, or what to print and the status to leave with (help, version, a mistake).
struct Arguments {
  std::unique_ptr<Command> command;
  ExitCode status = kExitDone;
  std::string text;
};
// Parses the words after the program's name. Throws nothing: a mistake becomes a text, with the nearest option or verb,
// and a status.
Arguments ParseArguments(const std::vector<std::string>& words);

// What may be typed behind each verb, for shells that complete it: from the tables that ParseArguments goes by.
struct OptionWords {
  std::vector<std::string> names;  // "--strategies", "--strategy"; of a word that is known by its place: "FILE"
  bool by_place = false;
  bool flag = false;                 // takes no value
  std::vector<std::string> offered;  // words for its value; empty: files, or whatever it is
};
struct VerbWords {
  std::string verb;
  std::vector<OptionWords> options;  // `--help` among them
};
std::vector<VerbWords> WordsOfVerbs();  // in the order of Verbs()

// Everything main() does: parses, runs the verb, turns exceptions into messages and exit codes. Output that could not be
// written is kExitWrongInput, whatever else there is to say. Names show their control characters (ConsoleBuffer).
ExitCode RunCommandLine(const std::vector<std::string>& words, Console& console);

// "0.1"; of the build, not of its sources: ProgramDigest (scenarios/run/run_identity.h) tells these apart.
const char* Version();
const char* Commit();  // that it was configured at, "82ac45c0f1d2"; "": not in a checkout

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_COMMAND_H_
