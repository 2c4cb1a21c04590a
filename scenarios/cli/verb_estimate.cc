// spillway estimate: the cost of many single operations at once.
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

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

// Tables of the same columns make one table. REQUIRES: no mistakes in either.
void MustHaveColumnsOf(const Document& first, const Document& other) {
  const auto columns = [](const Document& table) {
    Diagnostics none(table);
    CsvRow header;
    CsvRows(table, none).Next(header);
    std::vector<std::string> names;
    for (const CsvCell& cell : header) names.push_back(cell.text);
    return names;
  };
  if (columns(first) == columns(other)) return;
  throw UserError(other.file + ": error: its columns are not those of " + first.file + ": estimate the two apart");
}

// To a file, which appears when all was added, or to the console.
class Pieces {
 public:
  Pieces(const std::string& out, Console& console) : console_(console) {
    if (!out.empty() && out != "-") file_.emplace(out);
  }
  void Add(std::string_view text) {
    held_ += text;
    if (held_.size() >= kPiece) Pass();
  }
  void Finish() {
    Pass();
    if (file_) file_->Finish();
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;
  void Pass() {
    if (file_) {
      file_->Add(held_);
    } else {
      console_.out << held_;
    }
    held_.clear();
  }
  Console& console_;
  std::optional<FileInPieces> file_;
  std::string held_;
};

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
  std::vector<Document> tables;
  std::vector<std::string> warnings;
  for (const std::string& file : files_) {
    tables.push_back(LoadCsvText(file));
    const std::vector<std::string> said = CheckOperations(tables.back(), costs);
    warnings.insert(warnings.end(), said.begin(), said.end());
    MustHaveColumnsOf(tables.front(), tables.back());
  }
  for (const std::string& warning : warnings) console.err << warning << "\n";
  Pieces pieces(out_, console);
  for (const Document& table : tables) {
    bool skip = &table != &tables.front();  // its header
    EstimateLines(table, costs, true, [&](std::string_view row) {
      if (!std::exchange(skip, false)) pieces.Add(row);
    });
  }
  pieces.Finish();
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
