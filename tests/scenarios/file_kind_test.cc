#include "hw/text/file_kind.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/network/network_keys.h"
#include "model/profile/profile_text.h"
#include "model/recorded/recorded_step.h"
#include "scenarios/file/scenario_reader.h"
#include "sim/plan/plan_keys.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

constexpr FileKind kAll[] = {FileKind::kScenario, FileKind::kPlan, FileKind::kNetwork, FileKind::kGraph,
                             FileKind::kMachine};

std::vector<const KeyTable*> TablesAtRoot(FileKind kind) {
  if (kind == FileKind::kScenario) return {&ScenarioKeys()};
  if (kind == FileKind::kPlan) return {&PlanKeys()};
  if (kind == FileKind::kNetwork) return {&NetworkKeys()};
  if (kind == FileKind::kGraph) return {&GraphKeys()};
  return {&MachineKeys(), &SecondNameKeys()};
}

TEST_CASE("the keys that tell a kind of file are its readers', and no other kind's") {
  for (const FileKind kind : kAll) {
    for (const std::string& key : KeysOfKind(kind)) {
      for (const FileKind other : kAll) {
        INFO(FileKindName(kind) << " " << key << " " << FileKindName(other));
        const auto tables = TablesAtRoot(other);
        const bool known = std::any_of(tables.begin(), tables.end(),
                                       [&key](const KeyTable* table) { return table->Find(key) != nullptr; });
        CHECK(known == (kind == other));
      }
    }
  }
}

TEST_CASE("no kind of input has the keys that tell files which only this program writes") {
  for (const std::string& key : KeysOfWritten()) {
    for (const FileKind kind : kAll) {
      for (const KeyTable* table : TablesAtRoot(kind)) CHECK(table->Find(key) == nullptr);
    }
  }
}

TEST_CASE("a file that this program wrote is called by its name where another is expected") {
  const TemporaryFolder folder("written-kinds");
  const std::string scenario = folder.Write(
      "s.yaml", "name: s\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\nstrategies: in-core\n");
  REQUIRE(Spillway({"plan", scenario, "-o", folder.Path("p.yaml")}).status == 0);
  REQUIRE(Spillway({"run", scenario, "--out", folder.Path("out"), "--no-timelines"}).status == 0);
  const std::string carried =
      folder.Write("carry.json", "{\"format\": \"spillway-carry\", \"before\": {}, \"values\": []}");
  const auto expect = [&](const std::string& file, const char* name) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"run", file},
                                                  {"run", scenario, "--plan", file},

                                                  {"plan", file}}) {
      const Outcome outcome = Spillway(words);
      INFO(outcome.err);
      CHECK(outcome.status == kExitWrongInput);
      CHECK(Contains(outcome.err, std::string("found a ") + name + ", of which "));
    }
  };
  expect(folder.Path("p.yaml.certificate"), "certificate");
  expect(folder.Path("out/results.json"), "file of results");
  expect(carried, "plan for PyTorch");
}

TEST_CASE("one kind of file in the place of another is one mistake") {
  const TemporaryFolder folder("file-kinds");
  const std::string scenario = folder.Write(
      "scenario.yaml", "name: s\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: unit\nstrategies: in-core\n");
  const std::string plan = folder.Write("plan.yaml", "network: cifar-resnet20\nbatch: 1\ngaps: []\n");
  const std::string network = folder.Write("network.yaml", "name: n\nlayers: []\n");
  const std::string machine = folder.Write("machine.yaml", "name: m\nsoftware: none\n");
  const auto error = [](const std::vector<std::string>& words) {
    const Outcome outcome = Spillway(words);
    CHECK(outcome.status == kExitWrongInput);
    CHECK(outcome.out.empty());
    return outcome.err;
  };
  CHECK(error({"run", plan}) ==
        plan +
            ":3:1: error: expected a scenario (spillway help scenario), found a plan, of which 'gaps' is a key; plans "
            "are given by --plan\n    3 | gaps: []\n      | ^\n");
  CHECK(Contains(error({"run", network}),
                 "found a network, of which 'layers' is a key; networks are named in scenarios"));
  CHECK(Contains(error({"run", machine}), "found a machine profile, of which 'software' is a key"));
  CHECK(
      Contains(error({"run", scenario, "--plan", scenario}),
               scenario + ":3:1: error: expected a plan (spillway help plan), found a scenario, of which 'machines'"));
  CHECK(Contains(error({"run", scenario, "--machine", plan}),
                 "expected a machine profile (spillway help machine), found "
                 "a plan"));
  CHECK(Contains(error({"show", "network", scenario}), "expected a network (spillway help network), found a scenario"));
  const std::string nested = folder.Write(
      "nested.yaml", "name: s\nnetwork: {file: plan.yaml, batch: 1}\nmachines: unit\nstrategies: in-core\n");
  CHECK(Contains(error({"run", nested}), plan + ":3:1: error: expected a network"));
}

TEST_CASE("what has keys of its own kind is left to its reader, and so is what is of no kind") {
  const TemporaryFolder folder("file-kind-own");
  const Outcome own = Spillway({"run", folder.Write("a.yaml", "machines: unit\nlayers: 1\n")});
  CHECK(Contains(own.err, "unknown key 'layers'"));
  CHECK(Contains(Spillway({"run", folder.Write("b.yaml", "nmae: x\n")}).err, "missing key 'machines'"));
}

}  // namespace
}  // namespace spillway
