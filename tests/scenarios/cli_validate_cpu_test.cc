// spillway validate for real, on this machine's processor: that plans keep to their memory and compute what in-core
// training computes. Times are measured and decide nothing here.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <thread>

#include "calibrate/host/pin.h"
#include "model/kernels/kernel_form.h"
#include "model/network/network.h"
#include "model/profile/launch_text.h"
#include "model/profile/machine.h"
#include "model/profile/profile_text.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

// A processor of a flop and a byte per nanosecond, convolutions granted `workspace`.
std::string Profile(const std::string& workspace, int threads) {
  Machine machine = LoadMachine("unit");
  machine.name = "tiny";
  machine.devices[0].name = "cpu0";
  machine.devices[0].multiprocessors = threads;
  machine.devices[0].total_memory = Bytes{1} << 50;  // no limit of a scenario is above it
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    CostLaw law;
    law.op = OpKind::kConvolution;
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
  explicit Folder(const std::string& workspace, int threads = 1) : folder_("validate-cpu") {
    folder_.Write("tiny.yaml", Profile(workspace, threads));
  }
  Outcome Run(const std::string& network, const std::string& memory, const std::vector<std::string>& words = {},
              const std::string& out = "out") const {
    const std::string scenario =
        folder_.Write("s.yaml", "name: real\nnetwork: {zoo: " + network + "}\nmachines: tiny.yaml\nmemory: " + memory +
                                    "\nlink: 4 GB/s\nstrategies: [in-core, swap-all, recompute-all]\n");
    std::vector<std::string> line = {"validate", scenario, "--device", "cpu",
                                     "--steps",  "5",      "--out",    folder_.Path(out)};
    line.insert(line.end(), words.begin(), words.end());
    return Spillway(line);
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

// Its launches are timed, by algorithms that oneDNN has for some of them, with workspaces that are not its own.
Machine MeasuredMachine(const Network& network, int threads) {
  Machine machine = LoadMachine("unit");
  machine.name = "tiny";
  machine.devices[0].name = "cpu0";
  machine.devices[0].multiprocessors = threads;
  for (const Op& op : BuildTrainingStep(network).ops) {
    if (op.kind != OpKind::kConvolution) continue;
    Launch launch = LaunchOf(op);
    const bool strided = launch.shape.stride[1] > 1;  // oneDNN has no Winograd for these
    launch.algorithm = AlgorithmByName(op.kind, op.pass, strided ? "winograd" : "direct");
    MeasuredOp measured = MeasuredOpOf(launch);
    measured.time = 100'000;
    measured.workspace = 64;
    const auto same = [&](const MeasuredOp& other) { return MeasuredKey(other) == MeasuredKey(measured); };
    auto& all = machine.devices[0].measured;
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(measured);
  }
  machine.devices[0].measured_source = {Source::Kind::kMeasured, "a test"};
  return machine;
}

std::size_t CountOf(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST_CASE("a residual network out of core: bit for bit what in-core training computes, within its memory") {
  const Folder f("4 MiB");
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "8 MB", {"--random", "2", "--format", "csv"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);  // no byte beyond the highest address, nothing that differs
  CHECK(CountOf(outcome.out, ",bitwise,") == 2 + 2);
  CHECK(CountOf(outcome.out, "out_of_memory") == 1);  // in-core
  CHECK(f.folder().Read("out/validation.csv") == outcome.out);
}

TEST_CASE("dropout, pooling and normalisation across channels out of core") {
  const Folder f("4 MiB");
  const Outcome outcome = f.Run("cifar-vgg, batch: 4", "35 MB", {"--strategies", "swap-all,pooch", "--format", "csv"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK(CountOf(outcome.out, ",bitwise,") == 2);
}

TEST_CASE("a profile whose workspaces no algorithm can do with: plans grant what the library asks for") {
  const Folder f("512 B");
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "8 MB", {"--random", "2"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.out, Catch::Contains("note: tiny: the device wants a workspace other than modelled for "));
  CHECK(CountOf(outcome.out, "bitwise") == 2 + 2);
}

TEST_CASE("a measured algorithm and workspaces that are not the library's: it is asked and the plans run") {
  const Folder f("0 B");
  const Network network = BuildZooNetwork("cifar-resnet20", {.batch = 4});
  f.folder().Write("tiny.yaml", MachineToYaml(MeasuredMachine(network, 1)));
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "8 MB");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.out, Catch::Contains("others the device does not offer the modelled algorithm"));
  // Those that it has are timed again; the others are left out.
  CHECK_THAT(outcome.out, Catch::Contains("kernel times now / in the profile: products "));
}

// Idle threads that another thread's kernels left behind would take the device's own ones their turns on the cores.
TEST_CASE("measuring the pace leaves no threads behind", "[threads]") {
  constexpr int kThreads = 2;
  if (AllowedCores().size() < kThreads) return;  // refused
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const Folder f("0 B");
  const Network network = BuildZooNetwork("cifar-resnet20", {.batch = 4});
  f.folder().Write("tiny.yaml", MachineToYaml(MeasuredMachine(network, kThreads)));
  const auto before = threads();
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "11 MB", {"--strategies", "swap-all"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.out, Catch::Contains("launches timed again"));
  // Those of a thread that has ended go a moment later.
  for (int k = 0; k < 3000 && threads() != before; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(threads() == before);
}

TEST_CASE("kernels compute on as many threads as the profile was measured with", "[threads]") {
  const std::vector<int> cores = AllowedCores();
  const int all = static_cast<int>(cores.size());
  // All of them, so that copies and the host share them with kernels; with one core that is so anyway.
  const Folder f("4 MiB", all);
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "11 MB", {"--strategies", "swap-all"});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == kExitDone);
  CHECK_THAT(outcome.out, Catch::Contains("everything on " + CoresText(cores)));
}

TEST_CASE("a profile of more threads than there are cores is refused before anything runs") {
  const int cores = static_cast<int>(AllowedCores().size());
  const Folder f("4 MiB", cores + 1);
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "11 MB");
  CHECK(outcome.status == kExitWrongInput);
  CHECK_THAT(outcome.err, Catch::StartsWith("tiny: computes on " + std::to_string(cores + 1) + " threads, but"));
  CHECK(outcome.out.empty());
}

TEST_CASE("an arena larger than the machine is refused, and leaves no folder behind") {
  const Folder f("4 MiB");
  const auto refused = [&f](const std::string& out) {
    const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "900 TB", {}, out);
    CHECK(outcome.status == kExitWrongInput);
    CHECK_THAT(outcome.err, Catch::Contains("900 TB"));
  };
  const auto exists = [&f](const std::string& path) { return std::filesystem::exists(f.folder().Path(path)); };
  refused("out/a/b");
  CHECK_FALSE(exists("out"));
  // What somebody else made stays, and so does what is in it.
  std::filesystem::create_directories(f.folder().Path("out"));
  refused("out");
  CHECK(exists("out"));
  f.folder().Write("out/mine", "mine");
  refused("out/a");
  CHECK_FALSE(exists("out/a"));
  CHECK(f.folder().Read("out/mine") == "mine");
}

TEST_CASE("below the working set nothing runs") {
  const Folder f("4 MiB");
  const Outcome outcome = f.Run("cifar-resnet20, batch: 4", "1 MB");
  CHECK_FALSE(std::filesystem::exists(f.folder().Path("out")));
  CHECK(outcome.status == kExitNothingFits);
  CHECK_THAT(outcome.err,
             Catch::Contains("with everything else moved out") && Catch::Contains("swapping every map would do with"));
}

}  // namespace
}  // namespace spillway
