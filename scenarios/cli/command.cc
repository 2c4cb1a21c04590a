#include "scenarios/cli/command.h"

#include <algorithm>
#include <new>
#include <ostream>
#include <system_error>
#include <thread>

#include "hw/text/lists.h"
#include "scenarios/output/console_buffer.h"

namespace spillway {

const std::vector<Verb>& Verbs() {
  static const std::vector<Verb> table = {
      {"run", "run scenarios: predict every point with every strategy", RunVerb},
      {"compare", "run a scenario on two machines, or two plans, side by side", CompareVerb},
      {"plan", "write the best plan of one point as YAML", PlanVerb},
      {"certify", "check a plan and the bound beside it by other code than made them", CertifyVerb},
      {"list", "list machines, networks, layers, strategies or reports", ListVerb},
      {"show", "describe a network, machine or strategy, or what runs its convolutions", ShowVerb},
      {"dump", "write the step, program or plan of one point as JSON", DumpVerb},
      {"calibrate", "measure this machine and write its profile", CalibrateVerb},
      {"probe", "look at a GPU for a minute: clocks, holds, copies, a convolution by every algorithm", ProbeVerb},
      {"fit", "fit a machine profile's kernel models to samples", FitVerb},
      {"validate", "carry a scenario out on this machine: predicted against measured", ValidateVerb},
      {"claims", "what published systems claim, beside ours: one ledger", ClaimsVerb},
      {"explain", "why a plan decided so about a map, or what an op costs in it", ExplainVerb},
      {"report", "make report.html of a folder of results again", ReportVerb},
      {"estimate", "predict the cost of single operations: CSV in, CSV out", EstimateVerb},
      {"help", "help on a verb, or the keys of scenario, plan, network, graph and machine files", HelpVerb},
  };
  return table;
}

const char* Version() { return SPILLWAY_VERSION; }

PreparedRun PrepareCommand(const Command& command, bool keep_steps) {
  PreparedRun run;
  run.keep_steps = keep_steps;
  std::vector<std::string> messages;
  for (const std::string& file : command.files) {
    try {
      Scenario scenario = LoadScenario(file);
      ApplyOverrides(command.overrides, scenario);
      Prepare(scenario, command.overrides, run);
    } catch (const UserError& error) {
      for (const std::string& message : error.messages()) {
        // The same machine file may be named by several scenarios.
        AddOnce(messages, message);
      }
    }
  }
  if (!messages.empty()) throw UserError(std::move(messages));
  return run;
}

int JobsOf(const Command& command) {
  return command.jobs > 0 ? command.jobs : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

namespace {

// Plans, dumps and estimates are text for programs, without a --format.
bool IsForReading(const Command& command) {
  const bool for_programs = command.verb == "plan" || command.verb == "dump" || command.verb == "estimate";
  return command.format == "table" && !for_programs;
}

ExitCode CarryOut(const Arguments& arguments, Console& console) {
  if (!arguments.command) {
    (arguments.status == kExitDone ? console.out : console.err) << arguments.text;
    return arguments.status;
  }
  try {
    for (const Verb& verb : Verbs()) {
      if (verb.name == arguments.command->verb) return verb.run(*arguments.command, console);
    }
  } catch (const UserError& error) {
    for (const std::string& message : error.messages()) console.err << message << "\n";
    if (error.messages().size() > 1) console.err << error.messages().size() << " errors\n";
    return kExitWrongInput;
  } catch (const std::bad_alloc&) {
    console.err << "there is not enough memory for this\n";
  } catch (const std::exception& error) {
    console.err << "internal error: " << error.what() << "\n";
  }
  return kExitInternalError;
}

}  // namespace

ExitCode RunCommandLine(const std::vector<std::string>& words, Console& console) {
  const Arguments arguments = ParseArguments(words);
  const bool for_reading = !arguments.command || IsForReading(*arguments.command);
  ConsoleBuffer out_buffer(console.out, for_reading || console.out_terminal), err_buffer(console.err, true);
  std::ostream out(&out_buffer), err(&err_buffer);
  err.tie(&out);  // on one terminal they appear in the order in which they were written
  Console quoted{.out = out,
                 .err = err,
                 .terminal = console.terminal,
                 .out_terminal = console.out_terminal,
                 .screen = &console.Screen(),
                 .seconds = console.seconds};
  const ExitCode status = CarryOut(arguments, quoted);
  out.flush();
  if (out.good()) return status;
  const int error = out_buffer.error();
  err << "standard output cannot be written" << (error == 0 ? "" : ": " + std::system_category().message(error))
      << "\n";
  return kExitWrongInput;
}

}  // namespace spillway
