// spillway validate for real, on this machine's processor: that plans keep to their memory and compute what in-core
// training computes. Times are measured and decide nothing here.
#include <catch2/catch.hpp>

#include "hw/machine.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// A processor of a flop and a byte per nanosecond, convolutions granted `workspace`.
std::string Profile(const std::string& workspace) {
  Machine machine = LoadMachine("unit");
  machine.name = "tiny";
  machine.devices[0].name = "cpu0";
  for (const char* pass : {"forward", "backward_data", "backward_filter"}) {
    CostLaw law;
    law.op = "convolution";
    law.pass = pass;
    law.flop_fraction = 1;
    law.workspace = *ParseBytes(workspace);
    law.source = {Source::Kind::kAssumed, "a test"};
    machine.devices[0].laws.push_back(law);
  }
  return MachineToYaml(machine);
}

class Folder {
 public:
  explicit Folder(const std::string& workspace) : folder_("validate-cpu") {
    folder_.Write("tiny.yaml", Profile(workspace));
  }
  Outcome Run(const std::string& network, const std::string& memory, const std::vector<std::string>& words = {}) const {
    const std::string scenario =
        folder_.Write("s.yaml", "name: real\nnetwork: {zoo: " + network + "}\nmachines: tiny.yaml\nmemory: " + memory +
                                    "\nlink: 4 GB/s\nstrategies: [in-core, swap-all, recompute-all]\n");
    std::vector<std::string> line = {"validate", scenario, "--device",          "cpu",      "--steps",
                                     "5",        "--out",  folder_.Path("out"), "--format", "csv"};
    line.insert(line.end(), words.begin(), words.end());
    return Spillway(line);
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

std::size_t CountOf(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST_CASE("a residual network out of core: bit for bit what in-core training computes, within its memory") {
  const Folder f("4 MiB");
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "11 MB", {"--random", "2"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);  // no byte beyond the highest address, nothing that differs
  CHECK(CountOf(outcome.out, ",bitwise,") == 2 + 2);
  CHECK(CountOf(outcome.out, "out_of_memory") == 1);  // in-core
  CHECK(f.folder().Read("out/validation.csv") == outcome.out);
}

TEST_CASE("dropout, pooling and normalisation across channels out of core") {
  const Folder f("4 MiB");
  const Outcome outcome = f.Run("cifar-vgg, batch: 4", "35 MB", {"--strategies", "swap-all,pooch"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(CountOf(outcome.out, ",bitwise,") == 2);
}

TEST_CASE("a workspace that no algorithm can do with: the op is named, nothing crashes") {
  const Folder f("512 B");
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "11 MB");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitWrongInput);
  CHECK_THAT(outcome.err, Catch::Contains("(refused)") && Catch::Contains(":forward"));
}

TEST_CASE("below the working set nothing runs") {
  const Folder f("4 MiB");
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "1 MB");
  CHECK(outcome.status == kExitNothingFits);
  CHECK_THAT(outcome.err, Catch::Contains("alone needs") && Catch::Contains("the smallest limit that would do is"));
}

}  // namespace
}  // namespace spillway
