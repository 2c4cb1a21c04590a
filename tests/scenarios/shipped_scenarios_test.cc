// What every shipped scenario prints, as golden texts, and what it plans and lowers to, as digests: a change of any
// figure, decision, instruction or address is seen and has to be approved. The folder is listed, so a new scenario
// needs golden texts too: run this test, then tests/approve.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "calibrate/validate/device_costs.h"
#include "reports/reports.h"
#include "reports/tables/tables.h"
#include "scenarios/cli/command.h"
#include "tests/deep.h"
#include "tests/golden.h"
#include "tests/scenarios/row_digest.h"
#include "tests/text.h"

namespace spillway {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = SPILLWAY_SOURCE_DIR;

std::set<std::string> ShippedScenarios() {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / "scenarios")) {
    if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
  }
  return names;
}

std::string FileOf(const std::string& scenario) { return (kRoot / "scenarios" / (scenario + ".yaml")).string(); }

// Of a sweep of more than five values the first, the middle and the last. The grid of 7 x 7 machines, 17 s of
// computing, becomes one of 3 x 3; nothing else that is shipped changes.
template <typename Value>
void Thin(std::vector<Value>& sweep) {
  if (sweep.size() > 5) sweep = {sweep.front(), sweep[sweep.size() / 2], sweep.back()};
}

// Of a scenario that takes seconds the quick tier runs a sixth of the points, and compares their lines of the digest alone.
bool TakesSeconds(const PreparedRun& run) {
  std::ptrdiff_t cost = 0;  // in points of most strategies; `best` searches as long as some of those together
  for (const Point& point : run.points) cost += point.row.strategy.starts_with("best") ? 12 : 1;
  return cost > 60;
}

struct Texts {
  std::string table, digest;
};

PreparedRun PreparedOf(const std::string& name) {
  Scenario scenario = LoadScenario(FileOf(name));
  Thin(scenario.usable_memory);
  Thin(scenario.link);
  PreparedRun run;
  Prepare(scenario, {}, run);
  return run;
}

Texts TextsOf(const PreparedRun& run) {
  Texts texts{.table = "", .digest = DigestHeader()};
  ResultSet results;
  RunPoints(run, 1, [&](const Point&, PointResult& result) {
    texts.digest += DigestLine(result, result.step->step);
    results.rows.push_back(std::move(result.row));
  });
  texts.table = ResultTable(results);
  const std::vector<Verdict> verdicts = Judge(results.rows, run.expectations);
  if (!verdicts.empty()) texts.table += "\n" + ExpectationTable(verdicts);
  return texts;
}

std::string TextOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void CheckDrawnLines(const std::string& scenario, PreparedRun& run) {
  const std::vector<Point> all = std::move(run.points);
  run.points.clear();
  for (const Point& point : Drawn(all, 6)) run.points.push_back(point);
  const std::string golden = TextOf(kRoot / "tests/golden" / ("digest-" + scenario + ".txt"));
  RunPoints(run, 1, [&](const Point&, PointResult& result) {
    const std::string line = DigestLine(result, result.step->step);
    INFO("not in tests/golden/digest-" << scenario << ".txt; to compare all and approve: ./test --deep\n" << line);
    CHECK(golden.find("\n" + line) != std::string::npos);
  });
}

// The case of one scenario. Each is a test of its own, so that processors share them.
class ShippedScenario : public Catch::ITestInvoker {
 public:
  explicit ShippedScenario(std::string name) : name_(std::move(name)) {}
  void invoke() const override {
    PreparedRun run = PreparedOf(name_);
    if (!Deep() && TakesSeconds(run)) return CheckDrawnLines(name_, run);
    const Texts texts = TextsOf(run);
    CHECK_GOLDEN("table-" + name_, texts.table);
    CHECK_GOLDEN("digest-" + name_, texts.digest);
  }

 private:
  std::string name_;
};

const bool kRegistered = [] {
  for (const std::string& name : ShippedScenarios()) {
    const std::string title = "the table, plans and programs of " + name;
    // Catch owns what it invokes.
    Catch::AutoReg(new ShippedScenario(name), CATCH_INTERNAL_LINEINFO, "", {title, "[shipped]"});
  }
  return true;
}();

TEST_CASE("every table and digest belongs to a shipped scenario, and each has both") {
  const std::set<std::string> scenarios = ShippedScenarios();
  REQUIRE(scenarios.count("resnet50-pcie-vs-nvlink") == 1);
  for (const std::string& scenario : scenarios) {
    INFO("there is no golden text of " << scenario << ": build its test again, run it, then tests/approve");
    CHECK(fs::exists(kRoot / "tests/golden" / ("table-" + scenario + ".txt")));
    CHECK(fs::exists(kRoot / "tests/golden" / ("digest-" + scenario + ".txt")));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(kRoot / "tests/golden")) {
    const std::string name = entry.path().stem().string(), kind = name.substr(0, name.find('-'));
    INFO(entry.path().filename() << " is of no scenario; remove it");
    if (kind == "table" || kind == "digest") CHECK(scenarios.count(name.substr(kind.size() + 1)) == 1);
  }
}

// The comment's figures are nobody's input: they are held against what the scenario prints.
TEST_CASE("the table in the head of the ablation is that of its results") {
  using Losses = std::map<std::string, std::vector<std::string>>;  // by rung, of each machine: per cent at batch 640
  Losses told, found;
  std::ifstream head(FileOf("ablation-power9")), table(kRoot / "tests/golden/table-ablation-power9.txt");
  for (std::string line; std::getline(head, line);) {
    const std::vector<std::string> words = WordsOf(line);
    if (!line.starts_with("#   ") || !line.ends_with(" %")) continue;
    told[words.at(1)] = std::vector<std::string>(words.end() - 6, words.end() - 1);
  }
  for (std::string line; std::getline(table, line);) {
    const std::vector<std::string> words = WordsOf(line);
    if (words.size() < 5 || words[0] != "640" || !words[1].starts_with("pooch+") || words[4] != "%") continue;
    found[words[1].substr(std::string("pooch+").size())].push_back(words[3]);
  }
  CHECK(told.size() == 9);
  CHECK(told == found);
}

// README shows one of the five batches.
TEST_CASE("the default table in the README is that of its results") {
  const std::string readme = TextOf(kRoot / "README.md"), title = "ResNet-50 beyond 16 GB: ";
  const std::size_t begin = readme.find(title), end = readme.find("```", begin);
  REQUIRE(end != std::string::npos);
  std::istringstream golden(TextOf(kRoot / "tests/golden/table-resnet50-pcie-vs-nvlink.txt"));
  std::string found;
  for (std::string line; std::getline(golden, line) && !line.starts_with("loss: ");) {
    const std::vector<std::string> words = WordsOf(line);
    const auto batch = std::find(words.begin(), words.end(), "batch");
    const bool beaten = line.starts_with("unexpectedly slow: ") && batch + 1 < words.end();
    const std::string of = beaten ? (batch + 1)->substr(0, 3) : words.empty() ? "" : words[0];
    if (of != "128" && of != "256" && of != "384" && of != "640") found += line + "\n";
  }
  CHECK(readme.substr(begin, end - begin) + "\n" == found);
}

TEST_CASE("the command line prints what is compared here") {
  std::ostringstream out, err;
  Console console{out, err};
  CHECK(RunCommandLine({"run", FileOf("pooch-fig19")}, console) == kExitDone);
  const std::string table = TextsOf(PreparedOf("pooch-fig19")).table;
  REQUIRE(out.str().starts_with(table));
  CHECK(out.str().substr(table.size()).starts_with("\nwithin?: yes or NO "));  // the one line that is no table's
}

TEST_CASE("a digest sees a decision, an instruction and an address") {
  PreparedRun run = PreparedOf("pooch-fig19");
  run.points.resize(1);
  const TrainingStep& step = run.steps[run.points.front().step]->step;
  PointResult result;
  RunPoints(run, 1, [&](const Point&, PointResult& first) { result = std::move(first); });
  REQUIRE(result.row.feasible);
  const auto changes = [&](void (*change)(PointResult&)) {
    PointResult changed = result;
    change(changed);
    return DigestLine(changed, step) != DigestLine(result, step);
  };
  CHECK_FALSE(changes([](PointResult&) {}));
  CHECK(changes([](PointResult& r) { r.plan.ops.push_back({.op = 0, .algorithm = 0, .workspace = 512}); }));
  CHECK(changes([](PointResult& r) { std::swap(r.evaluation.program.code[0], r.evaluation.program.code[1]); }));
  CHECK(changes([](PointResult& r) { r.evaluation.program.buffers.front().offset += 512; }));
}

// cuDNN's need for grouped convolutions with depth is not known: what no algorithm does without, plans grant beyond the
// scenario's limit of workspace, and have that much less for maps.
TEST_CASE("plans of the video network have room for half a GiB of workspace in every convolution") {
  const PreparedRun run = PreparedOf("validate-cuda-resnext101-3d");
  PreparedMachine& machine = *run.machines.front();
  DeviceOffers offers;
  offers.Ask(run.steps.front()->step, [](const Launch&) { return std::vector<OfferedAlgorithm>{{1, 512 * kMiB}}; });
  machine.costs = std::make_unique<DeviceCosts>(machine.machine, machine.costs->options(), offers);
  int fitting = 0;
  RunPoints(run, 2, [&](const Point&, PointResult& result) {
    INFO(result.row.strategy << ": " << result.row.reason);
    CHECK(result.row.feasible == (result.row.strategy != "in-core+arena"));
    fitting += result.row.feasible ? 1 : 0;
  });
  CHECK(fitting == 5);
}

TEST_CASE("FNV-1a") {  // test vectors of draft-eastlake-fnv, appendix C
  CHECK(Fnv1a("") == 0xcbf29ce484222325U);
  CHECK(Fnv1a("a") == 0xaf63dc4c8601ec8cU);
  CHECK(Fnv1a("foobar") == 0x85944171f73967e8U);
}

}  // namespace
}  // namespace spillway
