#include "scenarios/cli/command.h"

#include <fmt/format.h>

#include <new>
#include <ostream>
#include <system_error>

#include "hw/text/document.h"
#include "scenarios/output/console_buffer.h"

namespace spillway {

const char* Version() { return SPILLWAY_VERSION; }

#define VERB(FUNCTION) Verb FUNCTION();
#include "scenarios/cli/table.inc"
#undef VERB

const std::vector<Verb>& Verbs() {
#define VERB(FUNCTION) FUNCTION(),
  static const std::vector<Verb> kTable = {
#include "scenarios/cli/table.inc"
  };
#undef VERB
  return kTable;
}

std::string GuideText(const Verb& verb) {
  std::string text = "\nExamples:\n";
  for (const char* example : verb.examples) text += fmt::format("  {}\n", example);
  text += "\nExit status:\n";
  for (const VerbExit& exit : verb.exits)
    text += fmt::format("  {:<3} {}\n", static_cast<int>(exit.code), exit.meaning);
  return text + fmt::format("  {:<3} an internal error: a bug of Spillway\n", static_cast<int>(kExitInternalError));
}

namespace {

ExitCode CarryOut(const Arguments& arguments, Console& console) {
  if (!arguments.command) {
    (arguments.status == kExitDone ? console.out : console.err) << arguments.text;
    return arguments.status;
  }
  try {
    return arguments.command->Run(console);
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
  const bool for_reading = !arguments.command || arguments.command->ForReading();
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
