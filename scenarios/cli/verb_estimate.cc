// spillway estimate: the cost of many single operations at once.
#include <limits>

#include "calibrate/fit/estimate.h"
#include "model/cost/measured_cost.h"
#include "model/samples/csv.h"
#include "scenarios/cli/command.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

// A library left alone takes what scratch its fastest algorithm wants.
Bytes WorkspaceLimit(const Command& command) {
  if (command.workspace.empty()) return std::numeric_limits<Bytes>::max();
  const std::optional<Bytes> limit = ParseBytes(command.workspace);
  if (!limit) throw UserError("--workspace: expected a size with a unit such as 8MiB, got '" + command.workspace + "'");
  return *limit;
}

// Tables of the same columns make one table.
void Append(const std::string& table, const std::string& file, const std::string& first, std::string& all) {
  const std::size_t header = table.find('\n') + 1;
  if (all.empty()) {
    all = table;
  } else if (all.compare(0, header, table, 0, header) == 0) {
    all += table.substr(header);
  } else {
    throw UserError(file + ": error: its columns are not those of " + first + ": estimate the two apart");
  }
}

}  // namespace

ExitCode EstimateVerb(const Command& command, Console& console) {
  const Machine machine = LoadMachine(command.machine);
  CheckMeasured(machine, command.machine);
  const CostModel costs(machine, {.workspace_limit = WorkspaceLimit(command)});
  std::string text;
  std::vector<std::string> warnings;
  for (const std::string& file : command.files) {
    Append(EstimateCsv(LoadCsvText(file).text, file, costs, &warnings), file, command.files.front(), text);
  }
  for (const std::string& warning : warnings) console.err << warning << "\n";
  if (command.out.empty() || command.out == "-") {
    console.out << text;
  } else {
    WriteFile(command.out, text);
  }
  return kExitDone;
}

}  // namespace spillway
