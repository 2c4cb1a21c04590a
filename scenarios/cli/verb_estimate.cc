// spillway estimate: the cost of many single operations at once.
#include <limits>

#include "calibrate/fit/estimate.h"
#include "model/samples/csv.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/options.h"
#include "scenarios/output/not_destroyed.h"
#include "scenarios/output/output_folder.h"

namespace spillway {

namespace {

// A library left alone takes what scratch its fastest algorithm wants.
Bytes WorkspaceLimit(const std::string& text) {
  if (text.empty()) return std::numeric_limits<Bytes>::max();
  const std::optional<Bytes> limit = ParseBytes(text);
  if (!limit) throw UserError("--workspace: expected a size with a unit such as 8MiB, got '" + text + "'");
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

class EstimateCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Texts("OPS", files_, "operations: CSV with the columns of a samples file").Required();
    options.Text("--machine", machine_, "machine profile, by name or file").Required().Offer(ListMachines);
    options.Text("--workspace", workspace_,
                 "workspace limit of a call, e.g. 8MiB (default: what its operands leave of the memory)");
    options.Text("-o,--output", out_, "file to write (default: standard output)");
  }
  bool ForReading() const override { return false; }
  ExitCode Run(Console& console) const override;

 private:
  std::vector<std::string> files_;
  std::string machine_, workspace_, out_;
};

ExitCode EstimateCommand::Run(Console& console) const {
  MustNotDestroy(out_, Written::kEstimate, files_);
  const Machine machine = LoadMachine(machine_);
  const CostModel costs(machine, {.workspace_limit = WorkspaceLimit(workspace_), .large_calls = LargeCalls::kTaken});
  std::string text;
  std::vector<std::string> warnings;
  for (const std::string& file : files_) {
    Append(EstimateCsv(LoadCsvText(file).text, file, costs, &warnings, true), file, files_.front(), text);
  }
  for (const std::string& warning : warnings) console.err << warning << "\n";
  if (out_.empty() || out_ == "-") {
    console.out << text;
  } else {
    WriteFile(out_, text);
  }
  return kExitDone;
}

}  // namespace

Verb EstimateVerb() {
  return {.name = "estimate",
          .description = "predict the cost of single operations: CSV in, CSV out",
          .examples = {"spillway estimate --machine v100-x86-pcie3 calibrate/example-ops.csv",
                       "spillway estimate --machine hw/mine.yaml --workspace 8MiB ops.csv -o times.csv"},
          .exits = {kDoneExit, kWrongExit},
          .make = MakeCommand<EstimateCommand>};
}

}  // namespace spillway
