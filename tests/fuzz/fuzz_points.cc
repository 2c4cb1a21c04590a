// Valid scenarios, drawn: each is run, and each of its rows has its step within its interval or says why it has none. The
// input is hashed to the draw's number, so that every text is a scenario; SPILLWAY_SEED draws others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "hw/text/document.h"
#include "hw/text/lists.h"
#include "model/samples/csv.h"
#include "model/util/hash.h"
#include "model/util/random.h"
#include "scenarios/file/scenario.h"
#include "sim/plan/plan_keys.h"
#include "sim/plan/runtime.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"
#include "tests/fuzz/command.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace spillway;

using Words = std::vector<std::string>;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  bool OneIn(std::uint32_t n) { return random_.Below(n) == 0; }
  std::string Of(const Words& words) { return words[random_.Below(static_cast<std::uint32_t>(words.size()))]; }
  // From 1 to `most`, small ones as often as large ones.
  std::int64_t Size(double most) {
    return static_cast<std::int64_t>(std::exp(std::log(most) * random_.Below(1001) / 1000));
  }
  std::int64_t Whole(std::int64_t least, std::int64_t most) {
    const auto range = static_cast<std::uint32_t>(std::min<std::int64_t>(most - least, 1000));
    return least + random_.Below(range + 1);
  }

 private:
  Random random_;
};

std::string NetworkText(Draw& draw) {
  const std::string root = SPILLWAY_SOURCE_DIR;
  if (draw.OneIn(8)) return fmt::format("{{graph: {}/model/recorded/example.json}}", root);
  const auto batch = draw.Size(64);
  if (draw.OneIn(3)) {
    const std::string file = draw.Of({"residual", "cifar-caffenet", "cifar-vgg-narrow"});
    return fmt::format("{{file: {}/model/networks/{}.yaml, batch: {}}}", root, file, batch);
  }
  const std::string image = draw.OneIn(3) ? fmt::format(", image: {}", 32 + 8 * draw.Whole(0, 4)) : "";
  return fmt::format("{{zoo: {}, batch: {}{}}}", draw.Of({"cifar-resnet20", "cifar-vgg", "cifar-alexnet"}), batch,
                     image);
}

std::string ParametersText(const Strategy& strategy, Draw& draw) {
  std::string text;
  for (const ParameterRow& row : strategy.parameters) {
    if (!draw.OneIn(2)) continue;
    std::string value = draw.Of({"true", "false"});
    if (row.words != nullptr) value = draw.Of(row.words());
    if (row.words == nullptr && !row.IsFlag()) value = std::to_string(draw.Whole(row.least, row.most));
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", row.name, value);
  }
  return text;
}

std::string StrategyText(const std::string& machine, Draw& draw) {
  const Words names = StrategyNames();
  std::string name = draw.Of(names);
  if (name == "best" && !draw.OneIn(4)) name = "pooch";  // takes its time
  const std::string parameters = ParametersText(*FindStrategy(name), draw);
  std::string text = fmt::format("{{strategy: {}", name);
  if (!parameters.empty()) text += fmt::format(", parameters: {{{}}}", parameters);
  if (draw.OneIn(12) && machine != "v100-power9-nvlink2") text += ", planned_on: v100-power9-nvlink2";
  return text + "}";
}

std::string RuntimeText(Draw& draw) {
  const std::string from = draw.Of(RuntimeNames());
  if (draw.OneIn(2)) return from;
  std::string text = fmt::format("{{name: drawn, from: {}", from);
  for (const char* key : {"barrier", "host_syncs", "blocking_copies", "swap_in_waits", "backward_units", "part_waits",
                          "workspaces", "memory"}) {
    if (draw.OneIn(4)) text += fmt::format(", {}: {}", key, draw.Of(RuntimeWords(key)));
  }
  if (draw.OneIn(3)) text += fmt::format(", framework_time: {} us", draw.Size(1000));
  if (draw.OneIn(4)) text += fmt::format(", collection_time: {} us", draw.Size(1000));
  if (draw.OneIn(4)) text += fmt::format(", copy_chunk: {} KiB", 64 * draw.Size(64));
  return text + "}";
}

std::string ScenarioText(Draw& draw) {
  const Words machines{"unit",
                       "v100-x86-pcie3",
                       "p100-power8-nvlink1",
                       "titanx-maxwell-x86-pcie3",
                       "a100-pcie4",
                       "v100-power9-nvlink2",
                       "h100-sxm"};
  const std::string machine = draw.Of(machines);
  std::string text = "name: drawn\nnetwork: " + NetworkText(draw) + "\nmachines: " + machine + "\n";
  text += "strategies: [" + StrategyText(machine, draw) + "]\n";
  if (draw.OneIn(2)) text += "options: " + draw.Of(OptionNames()) + "\n";
  if (draw.OneIn(3)) text += "runtime: " + RuntimeText(draw) + "\n";
  if (!draw.OneIn(4)) text += fmt::format("memory: {} KiB\n", 64 + draw.Size(400e3));
  if (draw.OneIn(8)) text += fmt::format("usable_memory: {} MiB\n", draw.Size(1000));
  if (draw.OneIn(6)) text += fmt::format("workspace: {} KiB\n", draw.Size(1e6));
  if (draw.OneIn(6)) text += fmt::format("link: {} MB/s\n", draw.Size(100e3));
  if (draw.OneIn(8)) text += fmt::format("emulate: {{compute_slowdown: {}}}\n", draw.Size(100));
  return text;
}

// The rows of results.csv, by column.
std::vector<std::map<std::string, std::string>> Rows(const std::string& text) {
  Document document;
  document.text = text;
  document.file = "results";
  Diagnostics diagnostics(document);
  CsvRows reader(document, diagnostics);
  CsvRow names, cells;
  reader.Next(names);
  std::vector<std::map<std::string, std::string>> rows;
  while (reader.Next(cells)) {
    auto& row = rows.emplace_back();
    for (std::size_t c = 0; c < names.size(); ++c) row[names[c].text] = cells.at(c).text;
  }
  diagnostics.ThrowIfAny();
  return rows;
}

void CheckRow(std::map<std::string, std::string>& row) {
  if (row["feasible"] != "1") {
    if (row["reason"].empty()) fuzz::Fail("a row without a plan and without a reason");
    return;
  }
  const auto number = [&row](const char* name) { return std::strtod(row[name].c_str(), nullptr); };
  const double step = number("step_time_s");
  if (!(step > 0 && number("step_time_low_s") <= step && step <= number("step_time_high_s"))) {
    fuzz::Fail(fmt::format("a step of {} s outside its interval, {} to {} s", row["step_time_s"],
                           row["step_time_low_s"], row["step_time_high_s"]));
  }
  if (number("peak_bytes") > number("memory_limit_bytes")) fuzz::Fail("a peak above the limit");
  if (number("lower_bound_s") > step) fuzz::Fail("a step below its lower bound");
}

std::uint64_t Seed() {
  const char* seed = std::getenv("SPILLWAY_SEED");
  return seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10);
}

}  // namespace

std::vector<std::string> spillway::fuzz::Seeds() {
  return {"a text long enough that hardly any two of its mutations are alike: abcdefghijklmnopqrstuvwxyz 0123456789"};
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Draw draw(Hasher().Add(fuzz::Text(data, size)).Add(Seed()).Value());
  const std::string text = ScenarioText(draw);
  const std::string file = fuzz::Folder().Write("drawn.yaml", text);
  const fuzz::Outcome outcome = fuzz::Command({"run", file, "--jobs", "1", "--format", "csv"});
  if (outcome.status != 0 && outcome.status != 3) {
    // Some draws contradict themselves, as parts that the batch has no divisor for: then every message has a place.
    if (outcome.status != 2 || outcome.err.find(": error: ") == std::string::npos) fuzz::Fail(text + outcome.err);
    return 0;
  }
  auto rows = Rows(outcome.out);
  if (rows.size() != 1) fuzz::Fail(text + "no row");
  CheckRow(rows[0]);
  return 0;
}
