#include "scenarios/file/scenario.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

constexpr const char* kHead = "name: demo\n";
constexpr const char* kNetwork = "network: {zoo: cifar-resnet20, batch: 4}\n";
constexpr const char* kRest = "machines: unit\nstrategies: in-core\n";

Scenario Parse(const std::string& text) { return ReadScenario(ParseDocument(text, "s.yaml")); }

std::string ErrorsOf(const std::string& text) {
  try {
    Parse(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("the least a scenario says") {
  const Scenario s = Parse(std::string(kHead) + kNetwork + kRest);
  CHECK(s.name == "demo");
  REQUIRE(s.networks.size() == 1);
  CHECK(s.networks[0].zoo == "cifar-resnet20");
  CHECK(s.networks[0].batch == std::vector<std::int64_t>{4});
  CHECK(s.machines == std::vector<MachineChoice>{{.from = "unit"}});
  CHECK(s.strategies.at(0).Label() == "in-core");
  CHECK(s.options == std::vector<std::string>{"plain"});
  CHECK(s.runtimes.at(0).name.empty());
  CHECK(s.memory == std::vector<Bytes>{0});
}

TEST_CASE("parameters of strategies are swept, and part of what a strategy is called") {
  const Scenario s =
      Parse(std::string(kHead) +
            "network: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\n"
            "strategies: [pooch, {strategy: pooch, parameters: {keep_passed: [true, false], rungs: [1, 2]}},\n"
            "  {strategy: pooch, planned_on: v100-x86-pcie3, parameters: {rungs: 3}}]\n");
  std::vector<std::string> labels;
  for (const StrategyChoice& choice : s.strategies) labels.push_back(choice.Label());
  CHECK(labels == std::vector<std::string>{"pooch", "pooch:rungs=1:keep_passed=true", "pooch:rungs=1:keep_passed=false",
                                           "pooch:rungs=2:keep_passed=true", "pooch:rungs=2:keep_passed=false",
                                           "pooch:rungs=3@v100-x86-pcie3"});
  CHECK(s.strategies[3].parameters.Number("rungs", 12) == 2);
  CHECK(s.strategies[3].parameters.Flag("keep_passed", false));
  CHECK(s.strategies[0].parameters.Number("rungs", 12) == 12);
  CHECK_THROWS_AS(s.strategies[3].parameters.Number("keep_passed", 0), std::logic_error);
}

TEST_CASE("lists are swept in the order given") {
  const Scenario s =
      Parse(std::string(kHead) +
            "network: {zoo: [resnet50, vgg16], image: [224, 448x224], batch: [8, 2]}\n"
            "machines: [unit, v100-x86-pcie3]\n"
            "strategies: [in-core, {strategy: pooch, planned_on: unit}]\n"
            "options: [plain, torch]\nmemory: [1 GB, 2 GiB]\nusable_memory: 3 GB\nlink: [8 GB/s, 1 TB/s]\n"
            "runtime: [arena, {name: one, from: pooch, copy_streams: 2}]\n");
  REQUIRE(s.networks.size() == 4);  // zoo x image
  CHECK(s.networks[1].zoo == "resnet50");
  CHECK(s.networks[1].image == 448);
  CHECK(s.networks[1].width == 224);
  CHECK(s.networks[2].batch == std::vector<std::int64_t>{8, 2});
  CHECK(s.strategies[1].Label() == "pooch@unit");
  CHECK(s.memory == std::vector<Bytes>{kGB, 2 * kGiB});
  CHECK(s.usable_memory == std::vector<Bytes>{3 * kGB});
  CHECK(s.link == std::vector<double>{8, 1000});
  REQUIRE(s.runtimes.size() == 2);
  CHECK(s.runtimes[1].name == "one");
  CHECK(s.runtimes[1].runtime.copy_streams == 2);
  CHECK(s.runtimes[1].runtime.memory == MemoryModel::kPool);  // from pooch
}

TEST_CASE("expectations") {
  const Scenario s = Parse(std::string(kHead) + kNetwork + kRest +
                           "expect:\n"
                           "  - {strategy: in-core, batch: [4, 8], samples_per_second: 195, within: 10 %, source: p}\n"
                           "  - {keep: 66, swap: 12, recompute: 27, source: p, why: w}\n"
                           "  - {below_in_core: [13 %, 38 %], source: p}\n"
                           "  - {below_in_core: {at_most: 6.1 %}, source: p}\n"
                           "  - {ratio: {strategy: pooch, at_least: 1.4}, source: p}\n"
                           "  - {step_time: 250 ms, source: p}\n"
                           "  - {memory: 2 GB, feasible: false, required: true, source: p}\n");
  const auto& e = s.expectations;
  REQUIRE(e.size() == 10);  // 2 batches, 3 classes, 5 others
  CHECK(e[1].where.batch == 8);
  CHECK(e[1].where.scenario == "demo");
  CHECK(*e[0].within == Approx(0.1));
  CHECK(e[0].value.half_digit == Approx(0.5));
  CHECK(e[3].measure == Measure::kSwap);
  CHECK(e[3].value.low == 12);
  CHECK(e[3].why == "w");
  CHECK(e[5].value.low == Approx(0.13));
  CHECK(e[5].value.high == Approx(0.38));
  CHECK(e[6].value.high == Approx(0.061));
  CHECK(std::isinf(e[6].value.low));
  CHECK(e[6].value.half_digit == 0);  // of a single value alone
  CHECK(e[7].other.strategy == "pooch");
  CHECK(std::isinf(e[7].value.high));
  CHECK(e[8].value.low == Approx(0.25));
  CHECK(e[8].value.half_digit == Approx(0.0005));
  CHECK(e[9].value.high == 0);
  CHECK(e[9].required);
  CHECK(e[9].where.memory_limit == 2 * kGB);
}

struct Bad {
  const char* text;
  const char* message;  // with its place
};

TEST_CASE("bad input is refused with its place, the expectation and the nearest name") {
  const Bad cases[] = {
      {"name: d\nnetwok: {}\n", "s.yaml:2:1: error: unknown key 'netwok'"},
      {"name: d\nname: e\n", "duplicate key 'name'"},
      {"", "s.yaml"},
      {"- a\n- b\n", "s.yaml:1:1"},
      {"name: d\n\tnetwork: x\n", "s.yaml:2:1: error: tab"},
      {"name: d\nnetwork: {zoo: resnet5, batch: 1}\n", "s.yaml:2:16: error: unknown network 'resnet5'; did you mean"},
      {"name: d\nnetwork: {zoo: vgg16, batch: 0}\n",
       "s.yaml:2:30: error: batch: expected a whole number from 1 to 1000000, found '0'"},
      {"name: d\nnetwork: {zoo: vgg16, batch: -3}\n", "found '-3'"},
      {"name: d\nnetwork: {zoo: vgg16, batch: 1000001}\n", "found '1000001'"},
      {"name: d\nnetwork: {zoo: vgg16, batch: 99999999999999999999}\n", "found '99999999999999999999'"},
      {"name: d\nnetwork: {zoo: vgg16, batch: [8, 8]}\n", "batch: '8' is listed twice"},
      {"name: d\nnetwork: {zoo: vgg16, batch: []}\n", "batch: the list is empty"},
      {"name: d\nnetwork: {zoo: vgg16}\n", "missing key 'batch'"},
      {"name: d\nnetwork: {batch: 1}\n", "exactly one of zoo"},
      {"name: d\nnetwork: {zoo: vgg16, file: a.yaml, batch: 1}\n", "exactly one of zoo"},
      {"name: d\nnetwork: {file: none.yaml, batch: 1}\n", "s.yaml:2:17: error: there is no file 'none.yaml'"},
      {"name: d\nnetwork: {zoo: vgg16, image: 4x, batch: 1}\n", "height x width"},
      {"name: d\nnetwork: {zoo: vgg16, image: 5, batch: 1}\n", "s.yaml:2:16: error:"},
      {"name: d\nnetwork: 7\n", "network: expected a map"},
      {"machines: v100-x86-pcie\n",
       "s.yaml:1:11: error: unknown machine 'v100-x86-pcie'; did you mean 'v100-x86-pcie3'?"},
      {"machines: [unit, {a: b}]\n", "s.yaml:1:18: error: missing key 'name' in machine"},
      {"machines: [unit, {a: b}]\n", "unknown key 'a' in machine"},
      {"machines: {name: m, from: units}\n", "s.yaml:1:27: error: unknown machine 'units'; did you mean 'unit'?"},
      {"machines: {name: m, from: gone.yaml}\n", "there is no file 'gone.yaml'"},
      {"machines: {name: unit, from: unit}\n", "s.yaml:1:18: error: name: 'unit' is a shipped machine"},
      {"machines: {name: m.yaml, from: unit}\n", "would be taken for a path"},
      {"machines: [{name: m, from: unit}, {name: m, from: unit}]\n", "a second machine is called 'm'"},
      {"machines: {name: m, from: unit, host: host1}\n",
       "s.yaml:1:39: error: host: no link of unit leads to 'host1'; did you mean 'host0'? (one of host0)"},
      {"machines: {name: m, from: unit, host_memory: pagable}\n", "did you mean 'pageable'?"},
      {"machines: {name: m, from: unit, host_memory: pageable}\n",
       "s.yaml:1:46: error: host_memory: unit has no curves for pageable memory on its link 'gpu0-host0'"},
      {"machines: {name: m, from: unit, hosts: host0}\n", "unknown key 'hosts' in machine; did you mean 'host'?"},
      {"machines: []\n", "machines: the list is empty"},
      {"machines: gone.yaml\n", "there is no file 'gone.yaml'"},
      {"strategies: [pouch]\n", "s.yaml:1:14: error: unknown strategy 'pouch'; did you mean 'pooch'?"},
      {"strategies: {planned_on: unit}\n", "missing key 'strategy'"},
      {"strategies: {strategy: pooch, parameter: {rungs: 4}}\n",
       "unknown key 'parameter' in strategy; did you mean 'parameters'?"},
      {"strategies: {strategy: pooch, parameters: {rung: 4}}\n",
       "s.yaml:1:44: error: unknown key 'rung' in parameters of pooch; did you mean 'rungs'?"},
      {"strategies: {strategy: pooch, parameters: {rungs: 0}}\n",
       "s.yaml:1:51: error: rungs: expected a whole number from 1 to 100, found '0'"},
      {"strategies: {strategy: pooch, parameters: {rungs: [4, 4]}}\n", "rungs: '4' is listed twice"},
      {"strategies: {strategy: pooch, parameters: {keep_passed: 1}}\n",
       "keep_passed: expected true or false, found '1'"},
      {"strategies: {strategy: pooch, parameters: 4}\n", "parameters of pooch: expected a map, found a single value"},
      {"strategies: {strategy: in-core, parameters: {rungs: 4}}\n",
       "s.yaml:1:45: error: parameters: in-core takes none"},
      {"strategies: [pooch, {strategy: pooch}]\n", "s.yaml:1:21: error: strategies: 'pooch' is listed twice"},
      {"memory: 16\n", "s.yaml:1:9: error: memory: '16' has no unit"},
      {"memory: 16 GIB\n", "did you mean 'GiB'?"},
      {"memory: 0 GB\n", "memory: must be more than zero"},
      {"memory: -1 GB\n", "s.yaml:1:9: error: memory"},
      {"link: 8 GB\n", "s.yaml:1:7: error: link"},
      {"link: 0 GB/s\n", "link: must be more than zero"},
      {"options: pytorch\n", "unknown options 'pytorch'; did you mean 'torch'?"},
      {"runtime: arenas\n", "did you mean 'arena'?"},
      {"runtime: {name: a, copy_streams: 3}\n", "from 1 to 2"},
      {"runtime: {name: a, copy_chunk: 1 kB}\n", "copy_chunk: expected 0 B (copies in one piece) or at least 64 KiB"},
      {"runtime: {name: a, framework_time: 2 s}\n", "framework_time: expected at most 1 s per op, found 2 s"},
      {"runtime: {name: a, framework: torch}\n", "framework: "},
      {"runtime: {name: a, framework: of-options, framework_time: 1 us}\n",
       "framework: of-options is in place of framework_time: give one of them"},
      {"machines: units\nmemory: 1\nmemory: 2\n", "s.yaml:3:1: error: duplicate key 'memory' (first at line 2)"},
      {"expect: {}\n", "expect: expected a list"},
      {"expect:\n  - {source: p}\n", "s.yaml:2:5: error: expectation: no figure"},
      {"expect:\n  - {keep: 3}\n", "missing key 'source'"},
      {"expect:\n  - {keep: few, source: p}\n", "keep: expected a number, found 'few'"},
      {"expect:\n  - {below_in_core: [38 %, 13 %], source: p}\n", "below_in_core: the range is empty"},
      {"expect:\n  - {below_in_core: [1 %], source: p}\n", "a range is [from, to]"},
      {"expect:\n  - {ratio: {value: 1}, source: p}\n", "name what to compare with"},
      {"expect:\n  - {ratio: {strategy: pooch}, source: p}\n", "expected value, or at_least and at_most"},
      {"expect:\n  - {keep: 3, required: true, source: p}\n", "required: only for feasible"},
      {"expect:\n  - {keep: 3, within: lots, source: p}\n", "a share such as 10 %"},
      {"expect:\n  - {step_time: 3, source: p}\n", "a duration such as 2.05 s"},
  };
  for (const Bad& bad : cases) {
    INFO(bad.text);
    const std::string errors = ErrorsOf(bad.text);
    INFO(errors);
    CHECK(Contains(errors, bad.message));
  }
}

TEST_CASE("all errors of a file at once, in the order of the file") {
  const std::string errors = ErrorsOf(
      "nane: demo\n"
      "network: {zoo: vgg17, batch: 0}\n"
      "machines: [unit, unitt]\n"
      "strategies: swap-al\n"
      "memory: 12\n");
  std::size_t previous = 0;
  for (const char* place : {"s.yaml:1:1: error: missing key 'name'", "s.yaml:1:1: error: unknown key 'nane'",
                            "s.yaml:2:16", "s.yaml:2:30", "s.yaml:3:18", "s.yaml:4:13", "s.yaml:5:9"}) {
    INFO(place << "\n" << errors);
    const std::size_t at = errors.find(place);
    REQUIRE(at != std::string::npos);
    CHECK(at >= previous);
    previous = at;
  }
}

TEST_CASE("deep nesting, folders and garbage are refused") {
  CHECK(ErrorsOf("name: " + std::string(20000, '[')) != "");
  TemporaryFolder folder("scenario");
  CHECK_THROWS_AS(LoadScenario(folder.Path("")), UserError);
  CHECK_THROWS_AS(LoadScenario(folder.Path("missing.yaml")), UserError);
  CHECK_THROWS_AS(LoadScenario(folder.Write("big.yaml", std::string(17 * kMiB, '{'))), UserError);
}

TEST_CASE("mistakes in the files a scenario names carry those files' places") {
  TemporaryFolder folder("named");
  folder.Write("net.yaml",
               "name: n\ninput: {channels: 3, image: 8}\nlayers:\n"
               "  - {name: a, kind: relu, from: b}\n  - {name: b, kind: relu, from: a}\n");
  folder.Write("box.yaml", "name: box\n");
  const std::string file =
      folder.Write("s.yaml", "name: d\nnetwork: {file: net.yaml, batch: 1}\nmachines: box.yaml\nstrategies: in-corn\n");
  try {
    LoadScenario(file);
    FAIL("nothing was wrong");
  } catch (const UserError& error) {
    const std::string what = error.what();
    INFO(what);
    CHECK(Contains(what, "s.yaml:4:13: error: unknown strategy 'in-corn'; did you mean 'in-core'?"));
    CHECK(Contains(what, "net.yaml"));
    CHECK(Contains(what, "cycle"));
    CHECK(Contains(what, "box.yaml"));
  }
}

TEST_CASE("lists that multiply beyond reason are refused") {
  std::string batches = "1";
  for (int i = 2; i <= 2000; ++i) batches += ", " + std::to_string(i);
  std::string memory = "1 GB";
  for (int i = 2; i <= 100; ++i) memory += ", " + std::to_string(i) + " GB";
  CHECK(Contains(ErrorsOf("name: d\nnetwork: {zoo: cifar-resnet20, batch: [" + batches +
                          "]}\nmachines: unit\nstrategies: in-core\nmemory: [" + memory + "]\n"),
                 "200000 points"));
}

TEST_CASE("lists of parameters that multiply beyond reason are refused before they are multiplied") {
  std::string list = "1";
  for (int i = 2; i <= 90; ++i) list += ", " + std::to_string(i);
  const std::string strategy = "{strategy: pooch, parameters: {rungs: [" + list + "], step1_simulations: [" + list +
                               "], step2_simulations: [" + list + "]}}";
  CHECK(Contains(ErrorsOf("name: d\nnetwork: {zoo: cifar-resnet20, batch: 8}\nmachines: unit\nstrategies: [" +
                          strategy + "]\nmemory: 1 GB\n"),
                 "the lists of parameters multiply to 729000; at most 100000 points are run"));
}

TEST_CASE("paths are relative to the scenario's folder") {
  CHECK(RelativeTo("a/b.yaml", "c.yaml") == "a/c.yaml");
  CHECK(RelativeTo("b.yaml", "../c.yaml") == "../c.yaml");
  CHECK(RelativeTo("a/b.yaml", "/c.yaml") == "/c.yaml");
}

}  // namespace
}  // namespace spillway
