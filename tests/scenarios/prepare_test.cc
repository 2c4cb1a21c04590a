// From a scenario to the points to run: which, in what order, on which machines, under what names.
#include "scenarios/run/prepare.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "model/unroll/unroll.h"
#include "scenarios/output/output_folder.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

PreparedRun PrepareText(const std::string& text, const Overrides& overrides = {}) {
  Scenario scenario = ReadScenario(ParseDocument(text, "s.yaml"));
  ApplyOverrides(overrides, scenario);
  PreparedRun run;
  Prepare(scenario, overrides, run);
  return run;
}

TEST_CASE("points come in order: machine, link, memory, batch, strategy") {
  const PreparedRun run = PrepareText(
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: [1, 2]}\nmachines: unit\nlink: [8 GB/s, 16 GB/s]\n"
      "strategies: [in-core, swap-all]\nmemory: [1 GB, 2 GB]\n");
  REQUIRE(run.points.size() == 16);
  CHECK(run.points[0].row.point == "cifar-resnet20_b1_unit-link-8GB-s_1-GB_in-core");
  CHECK(run.points[1].row.strategy == "swap-all");
  CHECK(run.points[2].row.batch == 2);
  CHECK(run.points[4].row.memory_limit == 2 * kGB);
  CHECK(run.points[8].row.machine == "unit+link=16GB/s");
  CHECK(run.points[8].row.grouping.machine == "unit");
  CHECK(run.steps.size() == 2);  // shared between all points of a batch
  CHECK(run.machines.size() == 2);
}

TEST_CASE("precisions and optimizers of a network are swept") {
  const PreparedRun run = PrepareText(
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1, precision: [fp32, amp-bf16], optimizer: [sgd, "
      "adamw-foreach]}\n"
      "machines: unit\nstrategies: in-core\n");
  REQUIRE(run.points.size() == 4);
  CHECK(run.points[0].row.network == "cifar-resnet20+fp32+sgd");
  CHECK(run.points[3].row.network == "cifar-resnet20+amp-bf16+adamw-foreach");
  CHECK(run.points[3].row.precision == "amp-bf16");
  CHECK(run.points[3].row.grouping.network == "cifar-resnet20");
  CHECK(run.steps[3]->step.BytesOf(TensorClass::kOptimizerState) ==
        2 * run.steps[3]->step.BytesOf(TensorClass::kParameter));
  CHECK(run.steps[2]->step.BytesOf(TensorClass::kOptimizerState) == 0);
}

TEST_CASE("a file that states a precision gets no other, a recorded step none") {
  const TemporaryFolder folder("precision");
  const std::string path = folder.Write("n.yaml",
                                        "name: n\ninput: {channels: 1, image: 4}\nprecision: bf16\nlayers:\n"
                                        "  - {name: fc, kind: linear, out: 3}\n  - {name: loss, kind: softmax_loss}\n");
  const auto read = [&](const std::string& more) {
    PrepareText("name: d\nnetwork: {file: " + path + ", batch: 1" + more + "}\nmachines: unit\nstrategies: in-core\n");
  };
  CHECK_NOTHROW(read(""));
  CHECK_THAT(ErrorOf([&] { read(", precision: fp32"); }), Catch::Contains("states its own, bf16"));
  CHECK_THAT(ErrorOf([&] { read(", precision: fp23"); }), Catch::Contains("did you mean 'fp32'?"));
}

TEST_CASE("a machine on other terms: another node of the host, other memory") {
  const std::string text =
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nstrategies: in-core\nmachines:\n"
      "  - v100-power9-nvlink2-x3\n"
      "  - {name: far, from: v100-power9-nvlink2-x3, host: socket1}\n"
      "  - {name: paged, from: v100-power9-nvlink2-x3, host_memory: pageable}\n"
      "  - {name: far-paged, from: v100-power9-nvlink2-x3, host: socket1, host_memory: pageable}\n";
  const PreparedRun run = PrepareText(text);
  REQUIRE(run.machines.size() == 4);
  const Machine shipped = LoadMachine("v100-power9-nvlink2-x3");
  CHECK(run.machines[0]->machine == shipped);
  const Link& near = shipped.links.at(0);
  const Link& far = shipped.links.at(1);
  const Link* const wanted[] = {&near, &far, &near, &far};
  for (std::size_t m = 0; m < 4; ++m) {
    INFO(m);
    const Machine& machine = run.machines[m]->machine;
    const Link& link = machine.LinkOf(0);
    CHECK(link.name == wanted[m]->name);
    CHECK(link.host == wanted[m]->host);
    CHECK(link.curves ==
          (m < 2 ? wanted[m]->curves : wanted[m]->FindOtherMemory(OtherMemory::Kind::kPageable)->curves));
    CHECK(machine.links.size() == 2);
    CHECK(machine.notes.size() == shipped.notes.size() + (m == 0 ? 0 : m == 3 ? 2 : 1));
    CHECK(run.machines[m]->costs->Copy(kGB, Direction::kDeviceToHost).time ==
          link.curves[static_cast<std::size_t>(Direction::kDeviceToHost)].Time(kGB));
  }
  CHECK(run.points.at(1).row.machine == "far");
  CHECK(run.points.at(1).row.grouping.machine == "v100-power9-nvlink2-x3");
  // By its name on the command line, too.
  const PreparedRun one = PrepareText(text, {.machines = {"far-paged"}});
  REQUIRE(one.machines.size() == 1);
  CHECK(one.machines[0]->machine == run.machines[3]->machine);
}

TEST_CASE("the cap is the smaller of what is asked for and what there is") {
  const Bytes usable = LoadMachine("v100-x86-pcie3").devices[0].UsableMemory();
  const std::string text =
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: v100-x86-pcie3\nstrategies: in-core\n";
  CHECK(PrepareText(text).points.at(0).row.memory_limit == usable);
  CHECK(PrepareText(text + "memory: 100 GB\n").points.at(0).row.memory_limit == usable);
  CHECK(PrepareText(text + "memory: 1 GB\n").points.at(0).row.memory_limit == kGB);
  CHECK(PrepareText(text + "usable_memory: 17 GB\n").points.at(0).row.memory_limit == 17 * kGB);
  CHECK(PrepareText(text + "usable_memory: 17 GB\nmemory: 16.5 GB\n").points.at(0).row.memory_limit == 16'500'000'000);
}

TEST_CASE("labels say what is unusual") {
  const PreparedRun run = PrepareText(
      "name: d\nnetwork: {zoo: resnet50, image: [224, 448x224], classes: 10, batch: 1}\nmachines: unit\n"
      "strategies: in-core\nruntime: arena\n");
  CHECK(run.points.at(0).row.network == "resnet50+classes=10");
  CHECK(run.points.at(1).row.network == "resnet50+448x224+classes=10");
  CHECK(run.points.at(1).row.grouping.network == "resnet50");
  CHECK(run.points.at(1).row.strategy == "in-core+arena");
  CHECK(run.points.at(0).row.precision == "fp32");
  CHECK(run.points.at(0).row.grouping.sample_elements == 3 * 224 * 224);
}

TEST_CASE("a runtime takes the framework's time of the options where it is asked to") {
  const std::string text =
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\nstrategies: in-core\n"
      "options: [chainer, torch]\nruntime: [arena, {name: host, from: arena, framework: of-options}]\n";
  const PreparedRun run = PrepareText(text);
  REQUIRE(run.points.size() == 4);
  for (const std::size_t unasked : {0, 2}) CHECK(run.points[unasked].runtime.framework_time == 0);
  CHECK(run.points[1].runtime.framework_time == StepOptionsByName("chainer").framework_time);
  CHECK(run.points[3].runtime.framework_time == 26 * kMicrosecond);
  CHECK(run.points[3].row.strategy == "in-core+host");
}

TEST_CASE("what is not known of a framework is refused, not taken for nothing") {
  const auto message = [](const std::string& options) {
    return "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\nstrategies: in-core\n" + options +
           "runtime: [arena, {name: host, from: arena, framework: of-options}]\n";
  };
  CHECK_THROWS_WITH(PrepareText(message("")),
                    Catch::Contains("s.yaml:5:55: error: framework: no framework_time is known of the options 'plain', "
                                    "of chainer, torch, torch-1.13, torch-2, mxnet, tensorflow1 it is; give other "
                                    "options, or framework_time in its place"));
  CHECK_THROWS_WITH(PrepareText(message("options: [torch, plain]\n")), Catch::Contains("of the options 'plain'"));
  CHECK_NOTHROW(PrepareText(message("options: torch\n")));
}

TEST_CASE("a framework alone sets the options, the waits and the host's time") {
  const std::string head = "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\nstrategies: in-core\n";
  const PreparedRun run = PrepareText(head + "framework: [torch, mxnet, tensorflow1]\n");
  REQUIRE(run.points.size() == 3);
  const char* const names[] = {"torch", "mxnet", "tensorflow1"};
  for (std::size_t i = 0; i < 3; ++i) {
    const Point& point = run.points[i];
    const StepOptions& options = StepOptionsByName(names[i]);
    CHECK(point.row.grouping.options == names[i]);
    CHECK(point.row.network == std::string("cifar-resnet20+") + names[i]);
    CHECK(point.row.strategy == "in-core+framework");
    CHECK(point.use_runtime);
    CHECK(point.runtime.framework_time == options.framework_time);
    CHECK(point.runtime.barrier == (i == 0 ? Barrier::kNone : Barrier::kCall));
    CHECK(run.machines[point.machine]->costs->options().workspace_limit == options.workspace_limit);
    const LargeCalls large = i == 0 ? LargeCalls::kDivided : LargeCalls::kRefused;
    CHECK(run.machines[point.machine]->costs->options().large_calls == large);
  }
  // What no source says is told; of torch it was measured.
  REQUIRE(run.warnings.size() == 2);
  CHECK(run.warnings[0] ==
        "s.yaml: warning: framework mxnet: assumed: the host's time is PyTorch's, and bulks of ops are left out (26 us "
        "per op)");
  CHECK_THAT(run.warnings[1], Catch::Contains("framework tensorflow1: assumed: that calls wait"));
  for (const char* other : {"options: torch\n", "runtime: arena\n"}) {
    CHECK_THROWS_WITH(PrepareText(head + "framework: torch\n" + other),
                      Catch::Contains("s.yaml:5:12: error: framework: sets options and runtime, and ") &&
                          Catch::Contains("is there too; give one of them"));
  }
  CHECK_THROWS_WITH(
      PrepareText(head + "framework: tensorflow\n"),
      Catch::Contains("unknown framework 'tensorflow', did you mean 'tensorflow1'?") || Catch::Contains("tensorflow1"));
  CHECK_THROWS_WITH(PrepareText(head + "framework: plain\n"), Catch::Contains("unknown framework 'plain'"));
}

TEST_CASE("rows of several options have references of their own, and selectors of the network find them all") {
  const PreparedRun run = PrepareText(
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\nstrategies: in-core\n"
      "options: [chainer, torch]\n");
  REQUIRE(run.points.size() == 2);
  CHECK(run.points[0].row.grouping.options == "chainer");
  CHECK(run.points[1].row.grouping.options == "torch");
  CHECK(run.points[1].row.network == "cifar-resnet20+torch");
  for (const Point& point : run.points) CHECK(RowSelector{.network = "cifar-resnet20"}.Matches(point.row));
}

TEST_CASE("how much a strategy decides is known of plans made for the machine that carries them out") {
  const PreparedRun run = PrepareText(
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: v100-x86-pcie3\n"
      "strategies: [pooch, {strategy: pooch, planned_on: unit}]\n");
  REQUIRE(run.points.size() == 2);
  CHECK(run.points[0].row.grouping.choices == 2);
  CHECK(run.points[1].row.grouping.choices == -1);
}

TEST_CASE("a plan made for another machine") {
  const PreparedRun run = PrepareText(
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: [unit, v100-x86-pcie3]\n"
      "strategies: {strategy: swap-all, planned_on: unit}\n");
  // On unit itself that is the plain strategy, which the scenario does not list.
  REQUIRE(run.points.size() == 1);
  CHECK(run.points[0].row.machine == "v100-x86-pcie3");
  CHECK(run.machines[run.points[0].planned_on]->base == "unit");
  CHECK(run.points[0].planned_capacity == run.machines[run.points[0].planned_on]->machine.devices[0].UsableMemory());
}

TEST_CASE("a scenario whose strategies are all planned on the machine itself has no point") {
  CHECK_THROWS_WITH(
      PrepareText("name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\n"
                  "strategies: {strategy: swap-all, planned_on: unit}\n"),
      Catch::Contains("s.yaml: scenario 'd' has no point: all its strategies are planned on the machine"));
}

TEST_CASE("an expectation that selects nothing is a mistake, unless the command line left its point out") {
  const std::string text =
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: [1, 2]}\nmachines: unit\nstrategies: in-core\nexpect:\n";
  CHECK_THROWS_WITH(
      PrepareText(text + "  - {batch: 3, keep: 1, source: p}\n"),
      Catch::EndsWith("s.yaml:6:5: error: this expectation selects no point of the scenario; no point has batch 3"));
  const auto why = [&](const std::string& keys) {
    return Catch::EndsWith("this expectation selects no point of the scenario; " + keys);
  };
  CHECK_THROWS_WITH(PrepareText(text + "  - {machine: unti, batch: 2, keep: 1, source: p}\n"),
                    why("no point has machine 'unti'; did you mean 'unit'? (unit)"));
  CHECK_THROWS_WITH(PrepareText(text + "  - {strategy: in-cor, batch: 2, keep: 1, source: p}\n"),
                    why("no point has strategy 'in-cor'; did you mean 'in-core'? (in-core)"));
  CHECK_THROWS_WITH(PrepareText(text + "  - {network: resnet20, batch: 2, keep: 1, source: p}\n"),
                    Catch::Contains("no point has network 'resnet20'"));
  CHECK_THROWS_WITH(PrepareText(text + "  - {batch: 1, memory: 3 GB, keep: 1, source: p}\n"),
                    why("no point has memory 3 GB"));
  CHECK_THROWS_AS(PrepareText(text + "  - {batch: 2, ratio: {strategy: pooch, value: 1}, source: p}\n"), UserError);
  Overrides overrides;
  overrides.batch = {1};
  CHECK(PrepareText(text + "  - {batch: 2, keep: 1, source: p}\n", overrides).expectations.empty());
}

TEST_CASE("overrides are checked") {
  const std::string text =
      "name: demo\nnetwork: {zoo: cifar-resnet20, batch: 4}\nmachines: unit\nstrategies: in-core\n";
  const auto message = [&](const Overrides& overrides) -> std::string {
    try {
      PrepareText(text, overrides);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(Contains(message({.machines = {"units"}}), "--machines: unknown name 'units'; did you mean 'unit'?"));
  CHECK(Contains(message({.strategies = {"poch"}}), "did you mean 'pooch'?"));
  CHECK(Contains(message({.batch = {0}}), "--batch: expected a whole number from 1"));
  CHECK(Contains(message({.memory = "12"}), "--memory: expected one size such as 12 GiB, in B, kB, "));
  CHECK(Contains(message({.runtime = "arenas"}), "did you mean 'arena'?"));
  CHECK(message({}).empty());
}

TEST_CASE("option --strategy keeps what the scenario makes of a strategy") {
  const std::string text =
      "name: demo\nnetwork: {zoo: cifar-resnet20, batch: 4}\nmachines: unit\nstrategies:\n"
      "  - {strategy: pooch, parameters: {rungs: [1, 2]}}\n  - in-core\n  - {strategy: accumulate, parameters: {parts: "
      "2}}\n"
      "  - {strategy: swap-all, planned_on: v100-x86-pcie3}\n";
  const auto labels = [&](const std::vector<std::string>& strategies) {
    std::vector<std::string> found;
    for (const Point& point : PrepareText(text, {.strategies = strategies}).points) found.push_back(point.row.strategy);
    return found;
  };
  using Labels = std::vector<std::string>;
  CHECK(labels({"pooch"}) == Labels{"pooch:rungs=1", "pooch:rungs=2"});
  CHECK(labels({"pooch:rungs=2"}) == Labels{"pooch:rungs=2"});
  CHECK(labels({"accumulate", "in-core"}) == Labels{"accumulate:parts=2", "in-core"});
  CHECK(labels({"swap-all"}) == Labels{"swap-all@v100-x86-pcie3"});
  CHECK(labels({"swap-opt"}) == Labels{"swap-opt"});  // which the scenario has not
}

TEST_CASE("two files with machines of one name are refused: no table could tell them apart") {
  TemporaryFolder folder("twice");
  const std::string copy = folder.Write("copy.yaml", MachineToYaml(LoadMachine("unit")));
  const Scenario scenario = ReadScenario(ParseDocument(
      "name: s\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: [unit, " + copy + "]\nstrategies: in-core\n",
      "s.yaml"));
  PreparedRun run;
  CHECK_THROWS_WITH(Prepare(scenario, {}, run),
                    Catch::Contains("are both called 'unit'") && Catch::Contains("name: ..."));
}

TEST_CASE("a profile is read once for all link rates and scenarios of a run") {
  const TemporaryFolder folder("profile-once");
  folder.Write("m.yaml", MachineToYaml(LoadMachine("v100-x86-pcie3")));
  const auto scenario = [&](const std::string& name, const std::string& rates) {
    return LoadScenario(folder.Write(name + ".yaml", "name: " + name +
                                                         "\nnetwork: {zoo: cifar-resnet20, batch: 1}\n"
                                                         "machines: m.yaml\nstrategies: in-core\nlink: " +
                                                         rates + "\n"));
  };
  const Scenario first = scenario("a", "[4 GB/s, 5 GB/s]"), second = scenario("b", "[5 GB/s, 6 GB/s]");
  PreparedRun run;
  Prepare(first, {}, run);
  std::filesystem::remove(folder.Path("m.yaml"));
  Prepare(second, {}, run);
  REQUIRE(run.machines.size() == 4);
  CHECK(run.profiles.size() == 1);
  CHECK(run.machines[1]->machine == run.machines[2]->machine);  // each with its own link
  CHECK(run.machines[2]->label != run.machines[3]->label);
  CHECK(run.machines[2]->machine.links != run.machines[3]->machine.links);
}

TEST_CASE("file names are safe") {
  CHECK(FileName("a/b c+d=8.5_x-Y") == "a-b-c-d-8.5_x-Y");
  CHECK(FileName("../..") == "..-..");
}

TEST_CASE("every shipped scenario can be read and prepared") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SPILLWAY_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    INFO(entry.path().string());
    PreparedRun run;
    CHECK_NOTHROW(Prepare(LoadScenario(entry.path().string()), {}, run));
    CHECK(!run.points.empty());
    ++count;
  }
  CHECK(count >= 8);
}

}  // namespace
}  // namespace spillway
