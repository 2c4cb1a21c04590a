// spillway report: the page of a folder that a run, a comparison or a validation left.
#include <fmt/format.h>

#include <filesystem>

#include "reports/html/page.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/options.h"
#include "scenarios/output/not_destroyed.h"
#include "scenarios/run/run.h"

namespace spillway {

namespace {

class ReportCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("DIR", name_, "folder that run, compare or validate wrote into").Required();
    options.Text("-o,--output", out_, "file to write (default: DIR/report.html)");
  }
  ExitCode Run(Console& console) const override;

 private:
  std::string name_, out_;
};

ExitCode ReportCommand::Run(Console& console) const {
  namespace fs = std::filesystem;
  const fs::path folder = name_;
  std::error_code none;
  if (!fs::is_directory(folder, none)) throw UserError(fmt::format("{}: error: no folder", name_));
  const std::string file = out_.empty() ? (folder / "report.html").string() : out_;
  MustNotDestroy(out_, Written::kPage, {});
  if (fs::exists(folder / "run.journal", none)) {
    console.err << fmt::format(
        "{}: warning: this run is not complete (run.journal): it writes its results at its end\n", name_);
  }
  WriteText(file, ReportPage(folder), console);
  if (file != "-") console.err << file << "\n";
  return kExitDone;
}

}  // namespace

Verb ReportVerb() {
  return {.name = "report",
          .description = "write report.html of a folder of results",
          .examples = {"spillway report out/default", "spillway report out/mine -o mine.html"},
          .exits = {kDoneExit, kWrongExit},
          .make = MakeCommand<ReportCommand>};
}

}  // namespace spillway
