// spillway report: the page of a folder that a run, a comparison or a validation left.
#include <fmt/format.h>

#include <filesystem>

#include "reports/html/page.h"
#include "scenarios/cli/command.h"
#include "scenarios/run/run.h"

namespace spillway {

ExitCode ReportVerb(const Command& command, Console& console) {
  namespace fs = std::filesystem;
  const fs::path folder = command.name;
  std::error_code none;
  if (!fs::is_directory(folder, none)) throw UserError(fmt::format("{}: error: no folder", command.name));
  const std::string file = command.out.empty() ? (folder / "report.html").string() : command.out;
  if (fs::exists(folder / "run.journal", none)) {
    console.err << fmt::format(
        "{}: warning: this run is not complete (run.journal): it writes its results at its end\n", command.name);
  }
  WriteText(file, ReportPage(folder), console);
  if (file != "-") console.err << file << "\n";
  return kExitDone;
}

}  // namespace spillway
