// The command line as data, and the verbs that carry it out.
#ifndef SPILLWAY_SCENARIOS_CLI_COMMAND_H_
#define SPILLWAY_SCENARIOS_CLI_COMMAND_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/output/console.h"
#include "scenarios/run/prepare.h"

namespace spillway {

struct HelpsAsked;  // scenarios/run/what_helps.h

// What the process leaves with. `spillway help VERB` says which of these a verb may give, and what it means there.
enum ExitCode {
  kExitDone = 0,
  kExitExpectationFailed = 1,
  kExitWrongInput = 2,  // or what was asked for cannot be written
  kExitNothingFits = 3,
  kExitInterrupted = 130,   // by Ctrl-C or SIGTERM: run, compare, calibrate, validate say what is kept
  kExitInternalError = 70,  // a bug of ours; sysexits.h, EX_SOFTWARE
};

// One struct for all verbs: each uses the fields that name it, or that name none, and leaves the others alone. Text that
// is kept as typed (files, units, device names) is read by the verb, which knows what to say when it is wrong; what is
// wrong about the options themselves is said by ParseArguments.
struct Command {
  std::string verb;
  std::string line;                // as typed, for run.json
  std::vector<std::string> files;  // run, compare, plan: scenarios; fit: samples; estimate: operations
  std::string topic;               // list, show, dump, help: "machines", "network"
  std::string name;                // show; report: the folder; explain: the timeline; claims: a system, "" for all
  std::vector<std::string> plans;  // compare: one or two plan files in place of two machines
  std::string op, map;             // explain: one of them
  std::string out;                 // run, compare: folder; plan, dump, report: file
  std::string format = "table";
  std::string dump_format = "json";
  int jobs = 0;  // 0 = all cores
  bool check = false;
  bool timeline = false;              // run: each point in characters
  std::int64_t batch = 1;             // show
  std::string machine;                // estimate
  std::string workspace;              // estimate: limit
  std::string base, carry, report;    // fit: profiles, and where the report goes, without ending
  std::vector<std::string> devices;   // fit
  std::string copies, duplex;         // fit: HOST or HOST@DEVICE whose copies make the links
  double copies_scale = 1;            // fit: factor on the rates of the near link
  bool links_only = false;            // fit
  std::string device = "cpu";         // calibrate
  std::string budget, link_rate;      // calibrate: as typed; "" = the usual
  std::string pinned_limit;           // calibrate: likewise; "" = all memory of the host
  std::string protocol;               // calibrate: in which state kernels find their operands; "" = "step"
  std::vector<std::string> networks;  // calibrate: whose launches come first
  std::vector<std::string> groups;    // calibrate: what is measured, as typed; empty = the usual
  int threads = 1;                    // calibrate: of kernels
  bool quick = false, resume = false, no_grid = false;  // calibrate; resume: run and validate, too
  int steps = 20, random_plans = 0;                     // validate
  std::uint64_t seed = 1;                               // validate
  Overrides overrides;
};

// Either a command, or what to print and the status to leave with (help, version, a mistake).
struct Arguments {
  std::optional<Command> command;
  ExitCode status = kExitDone;
  std::string text;
};
// The words behind the program's name. Throws nothing: mistakes are text and a status, with the nearest option or verb.
Arguments ParseArguments(const std::vector<std::string>& words);

// One file each, verb_NAME.cc, which may throw UserError for whatever the user got wrong; what it prints goes to the
// console alone.
struct Verb {
  const char* name;
  const char* description;
  ExitCode (*run)(const Command& command, Console& console);
};
const std::vector<Verb>& Verbs();

ExitCode RunVerb(const Command& command, Console& console);
// Likewise, with `stop` in place of the signals.
ExitCode RunUntil(const Command& command, Console& console, const std::function<bool()>& stop);
ExitCode CompareUntil(const Command& command, Console& console, const std::function<bool()>& stop);
// What run and compare share: carries the points out, asks what would help, writes the folder if the command has one, and
// shows what came out.
using ShowResults = std::function<void(const ResultSet& results, const std::vector<Verdict>& verdicts)>;
ExitCode RunPrepared(const Command& command, const PreparedRun& run, const HelpsAsked& asked, Console& console,
                     const std::function<bool()>& stop, const ShowResults& show);
ExitCode CompareVerb(const Command& command, Console& console);
ExitCode CertifyVerb(const Command& command, Console& console);
ExitCode PlanVerb(const Command& command, Console& console);
ExitCode ListVerb(const Command& command, Console& console);
ExitCode DumpVerb(const Command& command, Console& console);
ExitCode HelpVerb(const Command& command, Console& console);
ExitCode ShowVerb(const Command& command, Console& console);
ExitCode EstimateVerb(const Command& command, Console& console);
ExitCode FitVerb(const Command& command, Console& console);
ExitCode ValidateVerb(const Command& command, Console& console);
ExitCode CalibrateVerb(const Command& command, Console& console);
ExitCode ExplainVerb(const Command& command, Console& console);
ExitCode ReportVerb(const Command& command, Console& console);
ExitCode ProbeVerb(const Command& command, Console& console);
ExitCode ClaimsVerb(const Command& command, Console& console);

// Everything main() does: parses, runs the verb, turns exceptions into messages and exit codes. Output that could not be
// written is kExitWrongInput, whatever else there is to say. Names show their control characters (ConsoleBuffer).
ExitCode RunCommandLine(const std::vector<std::string>& words, Console& console);

// "0.1"; of the build, not of its sources: ProgramDigest (scenarios/run/run_identity.h) tells these apart.
const char* Version();

// What several verbs share: loads the command's files, all mistakes of all files at once. `keep_steps`: as in PreparedRun.
PreparedRun PrepareCommand(const Command& command, bool keep_steps = true);
// Threads to run points with: as many as were asked for, else as the machine has cores.
int JobsOf(const Command& command);

}  // namespace spillway

#endif  // SPILLWAY_SCENARIOS_CLI_COMMAND_H_
