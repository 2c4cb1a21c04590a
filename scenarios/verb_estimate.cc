// spillway estimate: the cost of many single operations at once.
#include <limits>

#include "calibrate/csv.h"
#include "calibrate/estimate.h"
#include "scenarios/command.h"
#include "scenarios/output_folder.h"

namespace spillway {

namespace {

// A library left alone takes what scratch its fastest algorithm wants.
Bytes WorkspaceLimit(const Command& command) {
  if (command.workspace.empty()) return std::numeric_limits<Bytes>::max();
  const std::optional<Bytes> limit = ParseBytes(command.workspace);
  if (!limit) throw UserError("--workspace: expected a size with a unit such as 8MiB, got '" + command.workspace + "'");
  return *limit;
}

}  // namespace

ExitCode EstimateVerb(const Command& command, Console& console) {
  const Machine machine = LoadMachine(command.machine);
  const CostModel costs(machine, {.workspace_limit = WorkspaceLimit(command)});
  std::string text;
  for (const std::string& file : command.files) {
    text += EstimateCsv(LoadCsvText(file).text, file, costs);
  }
  if (command.out.empty() || command.out == "-") {
    console.out << text;
  } else {
    WriteFile(command.out, text);
  }
  return kExitDone;
}

}  // namespace spillway
