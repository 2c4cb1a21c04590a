// spillway machine, and fit without samples: profiles of chips that nobody measured.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibrate/fit/carry.h"
#include "model/cost/cost_model.h"
#include "model/profile/machine.h"
#include "scenarios/cli/machine_chips.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

Outcome Made(const TemporaryFolder& folder, const std::string& chip, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"machine", "--chip", chip, "--host-memory", "64GB", "-o", folder.Path("mine.yaml")};
  words.insert(words.end(), more.begin(), more.end());
  return Spillway(words);
}

const KernelModel& ModelOf(const Machine& machine, const std::string& form) {
  for (const KernelModel& model : machine.devices.at(0).models) {
    if (model.form == form && model.pass == Pass::kForward) return model;
  }
  throw std::logic_error("no model " + form);
}

TEST_CASE("machine: a data sheet's figures, the laws of another chip, errors wider by what carrying cost") {
  const TemporaryFolder folder("machine1");
  const Outcome outcome = Made(folder, "rtx-4090", {"--link", "25 GB/s", "--like", "a100-pcie4"});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  const Machine machine = LoadMachine(folder.Path("mine.yaml")), teacher = LoadMachine("a100-pcie4");
  const Device& device = machine.devices.at(0);
  CHECK(device.peak_flops == Approx(82'600));
  CHECK(device.memory_bandwidth == Approx(1008));
  CHECK(device.total_memory == 24'564 * kMiB);
  CHECK(machine.hosts.at(0).memory == 64 * kGB);
  CHECK(machine.links.at(0).curves[0].Rate() == Approx(25).epsilon(1e-3));
  const CarryCost cost = CostOfCarrying(teacher);
  CHECK(cost.launches > 100);
  CHECK(cost.chips.size() >= 2);
  CHECK(Contains(outcome.err, CarryText(cost)));
  const KernelModel &ours = ModelOf(machine, "elementwise"), &there = ModelOf(teacher, "elementwise");
  CHECK(ours.parameters == there.parameters);
  CHECK(ours.shared_error == Approx(std::hypot(there.shared_error, cost.shared)).epsilon(1e-3));
  CHECK(ours.own_error == Approx(std::hypot(there.own_error, cost.own)).epsilon(1e-3));
  CHECK(ours.source.kind == Source::Kind::kAssumed);
  for (const CostLaw& law : device.laws) CHECK(law.source.kind == Source::Kind::kAssumed);
}

TEST_CASE("machine: no kernel of a carried profile is at full peak, all are of one without laws") {
  const TemporaryFolder folder("machine2");
  REQUIRE(Made(folder, "rtx-4090", {}).status == 0);
  const std::string scenario =
      folder.Write("s.yaml", "name: s\nnetwork: {zoo: alexnet, batch: 64}\nmachines: " + (folder.Path("mine.yaml")) +
                                 "\nstrategies: in-core\n");
  const Outcome bare = Spillway({"run", scenario});
  INFO(bare.out << bare.err);
  CHECK(Contains(bare.out, "P: full peak and bandwidth, for lack of laws (up to "));
  REQUIRE(Made(folder, "rtx-4090", {"--like", "v100-x86-pcie3"}).status == 0);
  const Outcome carried = Spillway({"run", scenario});
  CHECK_FALSE(Contains(carried.out, "full peak"));
  CHECK(Contains(carried.out, "A: assumed costs"));
}

TEST_CASE("machine: every chip has figures, memory and a link, each with its source") {
  const TemporaryFolder folder("machine3");
  for (const MachineChip& chip : MachineChips()) {
    INFO(chip.name);
    const Outcome outcome = Made(folder, chip.name, {});
    INFO(outcome.err);
    REQUIRE(outcome.status == 0);
    const Machine machine = LoadMachine(folder.Path("mine.yaml"));
    CHECK(machine.devices.at(0).peak_flops > 19'000);
    CHECK(machine.devices.at(0).UsableMemory() > 22 * kGB);
    CHECK(machine.devices.at(0).source.text.size() > 10);
    CHECK(machine.links.at(0).curves[1].source.text.size() > 10);
  }
  REQUIRE(Made(folder, "gh200", {}).status == 0);
  const Link both = LoadMachine(folder.Path("mine.yaml")).links.at(0);
  CHECK(both.curves[0].Rate() == Approx(377).epsilon(1e-3));
  CHECK(both.curves[1].Rate() == Approx(297).epsilon(1e-3));
  REQUIRE(Made(folder, "gh200", {"--link", "20 GB/s,10 GB/s"}).status == 0);
  CHECK(LoadMachine(folder.Path("mine.yaml")).links.at(0).curves[1].Rate() == Approx(10).epsilon(1e-3));
}

TEST_CASE("machine: mistakes are named, and nothing is written") {
  const TemporaryFolder folder("machine4");
  const auto refused = [&](const std::string& chip, const std::vector<std::string>& more, const std::string& message) {
    const Outcome outcome = Made(folder, chip, more);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err + outcome.out, Catch::Contains(message));
    CHECK_FALSE(std::filesystem::exists(folder.Path("mine.yaml")));
  };
  refused("RTX-4080", {}, "unknown chip 'RTX-4080'; did you mean 'rtx-4090'?");
  refused("GH2", {}, "did you mean 'gh200'?");
  refused("gh200", {"--link", "25"}, "--link: expected a bandwidth such as 25 GB/s, found '25'");
  refused("gh200", {"--link", "1 GB/s,2 GB/s,3 GB/s"}, "expected one rate, or two");
  refused("gh200", {"--like", "A100"}, "unknown machine 'A100'; did you mean 'a100-pcie4'?");
}

TEST_CASE(
    "fit --carry without samples: the base's figures, the other device's models, and no samples alone are refused") {
  const TemporaryFolder folder("machine5");
  REQUIRE(Made(folder, "h200-sxm", {}).status == 0);
  const std::string base = folder.Path("mine.yaml"), out = folder.Path("carried.yaml");
  const Outcome outcome = Spillway({"fit", "--carry", "a100-pcie4", "--base", base, "-o", out});
  INFO(outcome.err);
  REQUIRE(outcome.status == 0);
  const Machine machine = LoadMachine(out);
  CHECK(machine.devices.at(0).models.size() == LoadMachine("a100-pcie4").devices.at(0).models.size());
  CHECK(machine.devices.at(0).peak_flops == LoadMachine(base).devices.at(0).peak_flops);
  CHECK(Contains(Spillway({"fit", "--base", base, "-o", out}).err, "SAMPLES: expected samples files, or --carry"));
  const Outcome reported = Spillway({"fit", "--carry", "a100-pcie4", "--base", base, "-o", out, "--report", "r"});
  CHECK(Contains(reported.err, "--report are about samples, and there are none"));
}

TEST_CASE("the beginning of a machine's, network's or strategy's name finds it, whatever the case") {
  const TemporaryFolder folder("machine-names");
  const std::string scenario =
      folder.Write("s.yaml", "name: s\nnetwork: {zoo: alexnet, batch: 64}\nmachines: unit\nstrategies: in-core\n");
  const auto nearest = [&](const std::vector<std::string>& words, const std::string& name) {
    const Outcome outcome = Spillway(words);
    CHECK(outcome.status == 2);
    CHECK_THAT(outcome.err, Catch::Contains("did you mean '" + name + "'?"));
  };
  nearest({"run", scenario, "--machine", "A100"}, "a100-pcie4");
  nearest({"show", "machine", "H100"}, "h100-sxm");
  nearest({"show", "network", "RESNEXT"}, "resnext101-3d");
  nearest({"run", scenario, "--strategy", "SUPER"}, "superneurons");
}

TEST_CASE("what carrying costs is nothing to a chip with the same fractions, and e to the mean of one with others") {
  Machine teacher = LoadMachine("v100-x86-pcie3"), other = teacher;
  Device& device = other.devices.at(0);
  other.name = "twin";
  device.peak_flops *= 2;  // another chip with the same fractions
  device.memory_bandwidth *= 2;
  device.models_from.clear();
  const std::vector<Machine> twin = {other};
  const CarryCost none = CostOfCarrying(teacher, twin);
  CHECK(none.launches > 50);
  CHECK(none.shared < 1e-3);
  CHECK(none.own < 1e-3);
  CHECK(CostOfCarrying(teacher, std::vector<Machine>{teacher}).chips.empty());  // the same chip tells nothing
}

TEST_CASE("a chip's name leads to the nearest profile, whatever its case") {
  const TemporaryFolder folder("nearest-machine");
  const std::string file = folder.Write(
      "s.yaml", "name: s\nnetwork: {zoo: cifar-resnet20, batch: 8}\nmachines: unit\nstrategies: in-core\n");
  const std::string ops = folder.Write("ops.csv", "op,pass,n,c\nrelu,forward,1,1000\n");
  for (const auto& [name, nearest] : {std::pair{"A100", "a100-pcie4"},
                                      {"H100", "h100-sxm"},
                                      {"V100", "v100-x86-pcie3"},
                                      {"p100", "p100-x86-pcie3"}}) {
    const std::string wanted = fmt::format("did you mean '{}'?", nearest);
    CHECK(Contains(Spillway({"run", file, "--machine", name}).err, wanted));
    CHECK(Contains(Spillway({"estimate", ops, "--machine", name}).err, wanted));
  }
}

}  // namespace
}  // namespace spillway
