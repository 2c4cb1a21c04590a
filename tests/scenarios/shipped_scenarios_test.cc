// What every shipped scenario prints, as golden texts, and what it plans and lowers to, as digests: a change of any
// figure, decision, instruction or address is seen and has to be approved. The folder is listed, so a new scenario
// needs golden texts too: run this test, then tests/approve.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "calibrate/validate/device_costs.h"
#include "reports/reports.h"
#include "reports/tables/expectation_table.h"
#include "scenarios/cli/command.h"
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

// With sanitizers, six times slower, the large scenarios are left out: they take the same paths as the others.
#ifdef SPILLWAY_SANITIZED
constexpr std::size_t kMostPoints = 50;
#else
constexpr std::size_t kMostPoints = std::numeric_limits<std::size_t>::max();
#endif

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
  RunPoints(run, 2, [&](const Point&, PointResult& result) {
    texts.digest += DigestLine(result, result.step->step);
    results.rows.push_back(std::move(result.row));
  });
  texts.table = ResultTable(results);
  const std::vector<Verdict> verdicts = Judge(results.rows, run.expectations);
  if (!verdicts.empty()) texts.table += "\n" + ExpectationTable(verdicts);
  return texts;
}

TEST_CASE("the tables, plans and programs of the shipped scenarios", "[threads]") {
  REQUIRE(ShippedScenarios().count("resnet50-pcie-vs-nvlink") == 1);
  for (const std::string& scenario : ShippedScenarios()) {
    const PreparedRun run = PreparedOf(scenario);
    if (run.points.size() > kMostPoints) continue;
    const Texts texts = TextsOf(run);
    CHECK_GOLDEN("table-" + scenario, texts.table);
    CHECK_GOLDEN("digest-" + scenario, texts.digest);
  }
}

TEST_CASE("every table and digest belongs to a shipped scenario") {
  const std::set<std::string> scenarios = ShippedScenarios();
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

// The tour shows two of the five batches.
TEST_CASE("the default table in the README is that of its results") {
  const auto text_of = [](const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  const std::string readme = text_of(kRoot / "README.md"), title = "ResNet-50 beyond 16 GB: ";
  const std::size_t begin = readme.find(title), end = readme.find("```", begin);
  REQUIRE(end != std::string::npos);
  std::istringstream golden(text_of(kRoot / "tests/golden/table-resnet50-pcie-vs-nvlink.txt"));
  std::string found;
  for (std::string line; std::getline(golden, line) && !line.starts_with("loss: ");) {
    const std::vector<std::string> words = WordsOf(line);
    const auto batch = std::find(words.begin(), words.end(), "batch");
    const bool beaten = line.starts_with("slower than less would be: ") && batch + 1 < words.end();
    const std::string of = beaten ? (batch + 1)->substr(0, 3) : words.empty() ? "" : words[0];
    if (of != "256" && of != "384" && of != "640") found += line + "\n";
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
