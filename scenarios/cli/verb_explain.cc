// spillway explain: why a plan decided so about a map, what an op costs in it.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "hw/text/text_file.h"
#include "reports/html/packed.h"
#include "reports/trace/trace.h"
#include "scenarios/cli/command.h"
#include "scenarios/cli/options.h"

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
  if (files.empty())
    throw UserError(fmt::format(
        "{}: error: no timelines/*.trace.json in this folder; a run without --no-timelines writes them", folder));
  std::sort(files.begin(), files.end());
  const std::size_t more = files.size() - std::min(files.size(), kTimelinesTold);
  files.resize(files.size() - more);
  throw UserError(fmt::format("{}: error: which of its points? one of{}\n  {}", folder,
                              more > 0 ? fmt::format(" these and {} more:", more) : ":", fmt::join(files, "\n  ")));
}

class ExplainCommand : public Command {
 public:
  void Declare(Options& options) override {
    options.Text("RESULT", name_, "a point's timeline: timelines/POINT.trace.json of a run's folder").Required();
    options.Text("--op", op_, "the op to explain: its cost and waits");
    options.Text("--map", map_, "the feature map to explain: decision, reason and costs of alternatives");
  }
  ExitCode Run(Console& console) const override;

 private:
  std::string name_, op_, map_;  // op_ or map_
};

ExitCode ExplainCommand::Run(Console& console) const {
  if (op_.empty() == map_.empty()) throw UserError("explain: expected --op NAME or --map NAME, one of them");
  std::error_code none;
  if (fs::is_directory(name_, none)) AskWhich(name_);
  const std::string trace = Unpacked(ReadTextFile(name_, "a timeline", kLargestExplained), name_, kLargestExplained);
  console.out << (op_.empty() ? ExplainMap(trace, name_, map_) : ExplainOp(trace, name_, op_));
  return kExitDone;
}

}  // namespace

Verb ExplainVerb() {
  return {
      .name = "explain",
      .description = "explain a plan's decision about a feature map, or the cost of an op",
      .examples = {"spillway explain out/default/timelines/resnet50_b512_v100-x86-pcie3_pooch.trace.json --map conv1",
                   "spillway explain out/r/timelines/resnet50_b512_v100-x86-pcie3_pooch.trace.json --op conv1:forward"},
      .exits = {kDoneExit, kWrongExit},
      .make = MakeCommand<ExplainCommand>};
}

}  // namespace spillway
