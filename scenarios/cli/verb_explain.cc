// spillway explain: why a plan decided so about a map, what an op costs in it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "hw/text/text_file.h"
#include "reports/html/packed.h"
#include "reports/trace/explain.h"
#include "scenarios/cli/command.h"

namespace spillway {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestExplained = std::size_t{1} << 30;
constexpr std::size_t kTimelinesTold = 5;

// A folder has many timelines: some of them, for the user to choose.
[[noreturn]] void AskWhich(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(folder) / "timelines", none)) {
    if (entry.path().string().ends_with(".trace.json")) files.push_back(entry.path().string());
  }
  if (files.empty()) throw UserError(fmt::format("{}: error: no timelines/*.trace.json in this folder", folder));
  std::sort(files.begin(), files.end());
  const std::size_t more = files.size() - std::min(files.size(), kTimelinesTold);
  files.resize(files.size() - more);
  throw UserError(fmt::format("{}: error: which of its points? one of{}\n  {}", folder,
                              more > 0 ? fmt::format(" these and {} more:", more) : ":", fmt::join(files, "\n  ")));
}

}  // namespace

ExitCode ExplainVerb(const Command& command, Console& console) {
  if (command.op.empty() == command.map.empty())
    throw UserError("explain: expected --op NAME or --map NAME, one of them");
  std::error_code none;
  if (fs::is_directory(command.name, none)) AskWhich(command.name);
  const std::string trace =
      Unpacked(ReadTextFile(command.name, "a timeline", kLargestExplained), command.name, kLargestExplained);
  console.out << (command.op.empty() ? ExplainMap(trace, command.name, command.map)
                                     : ExplainOp(trace, command.name, command.op));
  return kExitDone;
}

}  // namespace spillway
