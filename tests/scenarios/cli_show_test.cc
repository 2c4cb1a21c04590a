// spillway list, show and compare.
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "model/cost/cost_model.h"
#include "model/kernels/kernel_form.h"
#include "model/network/network.h"
#include "model/profile/machine.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "scenarios/cli/show.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

// Two batches, two strategies, quick to run.
constexpr const char* kTwoBatches =
    "name: small\nnetwork: {zoo: cifar-resnet20, batch: [64, 128]}\nmachines: v100-x86-pcie3\n"
    "strategies: [in-core, swap-all]\n";

TEST_CASE("compare names the winner, and needs two machines") {
  TemporaryFolder folder("compare");
  const std::string file = folder.Write("s.yaml", kTwoBatches);
  const Outcome outcome = Spillway({"compare", file, "--machines", "v100-x86-pcie3,v100-power9-nvlink2"});
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  CHECK(Contains(outcome.out, "A = v100-x86-pcie3, B = v100-power9-nvlink2"));
  CHECK(Contains(outcome.out, "v100-power9-nvlink2 by "));
  CHECK(Spillway({"compare", file}).status == 2);
}

TEST_CASE("compare: rows that were said not to run are no error, others that do not are") {
  const TemporaryFolder folder("compare-infeasible");
  const auto compare = [&](const std::string& expect) {
    const std::string file =
        folder.Write("s.yaml", std::string(kTwoBatches) + "memory: [10 MB, 1 GB]\nexpect:\n" + expect);
    return Spillway({"compare", file, "--machines", "v100-x86-pcie3,v100-power9-nvlink2"});
  };
  const Outcome expected = compare("  - {memory: 10 MB, feasible: false, required: true, source: p}\n");
  INFO(expected.err);
  CHECK(expected.status == kExitDone);
  CHECK(expected.err.empty());
  const Outcome some = compare("  - {memory: 10 MB, strategy: in-core, feasible: false, required: true, source: p}\n");
  CHECK(some.status == kExitNothingFits);
  CHECK(Contains(some.err, "no strategy fits cifar-resnet20 at batch 64"));
}

TEST_CASE("list and show") {
  CHECK(Contains(Spillway({"list", "machines"}).out, "v100-x86-pcie3"));
  CHECK(Contains(Spillway({"list", "networks"}).out, "resnet50"));
  CHECK(Contains(Spillway({"list", "strategies"}).out, "superneurons"));
  CHECK(Contains(Spillway({"list", "reports"}).out, "results.csv"));
  CHECK(Contains(Spillway({"list", "reports"}).out, "\n{} is the name of the point"));
  const Outcome network = Spillway({"show", "network", "resnet50", "--batch", "640"});
  CHECK(network.status == 0);
  CHECK(Contains(network.out, "640x3x224x224"));
  CHECK(Contains(network.out, "105 feature maps of 51.3 GB"));
  const Outcome machine = Spillway({"show", "machine", "v100-power9-nvlink2"});
  CHECK(machine.status == 0);
  CHECK(Contains(machine.out, "host to device"));
  CHECK(Contains(machine.out, "[assumed: "));
  CHECK(Contains(Spillway({"show", "strategy", "pooch"}).out, "paper: "));
  CHECK(Contains(Spillway({"show", "machine", "unit"}).out, "  1.00 GFLOP/s, 1.00 GB/s "));
  CHECK(Contains(machine.out, "  15.7 TFLOP/s, 900 GB/s "));
}

TEST_CASE("show floor: the least memory with whole ops, and less in parts") {
  const Outcome outcome = Spillway({"show", "floor", "vgg16", "--batch", "32"});
  REQUIRE(outcome.status == 0);
  INFO(outcome.out);
  std::vector<double> gigabytes;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(" GB");
    if (at == std::string::npos) continue;
    gigabytes.push_back(std::stod(line.substr(line.find_last_of(' ', at - 1) + 1)));
  }
  REQUIRE(gigabytes.size() >= 3);
  CHECK(gigabytes[0] > gigabytes[1]);
  CHECK(gigabytes[1] > gigabytes[2]);
  CHECK(Contains(outcome.out, "out_of_memory: "));
  const Outcome wrong = Spillway({"show", "floor", "vgg16x"});
  CHECK(wrong.status == kExitWrongInput);
  CHECK(Contains(wrong.err, "vgg16"));
}

TEST_CASE("show floor: where nothing will do there is no figure, and the reason") {
  const Outcome outcome =
      Spillway({"show", "floor", "cifar-resnet20", "--batch", "400000", "--machine", "p100-x86-pcie3"});
  INFO(outcome.out);
  REQUIRE(outcome.status == 0);
  CHECK(Contains(outcome.out, "ops streamed in parts                 -  out_of_memory: host_memory: "));
}

TEST_CASE("floors of several networks, a row each, as one by one") {
  const std::string text = ShowFloors({.name = "", .batch = 8, .machine = ""}, {"cifar-resnet20", "alexnet"});
  INFO(text);
  for (const std::string name : {"cifar-resnet20", "alexnet"}) {
    const std::size_t begin = text.find("\n" + name + " ") + 1;
    REQUIRE(begin > 0);
    const std::string row = text.substr(begin, text.find('\n', begin) - begin);
    const std::string one = Spillway({"show", "floor", name, "--batch", "8"}).out;
    std::istringstream words(row.substr(name.size()));
    std::string number, unit;
    for (int k = 0; k < 3; ++k) {
      REQUIRE(words >> number >> unit);
      CHECK(Contains(one, " " + number + " " + unit));
    }
  }
}

TEST_CASE("show shares: a batch among unlike devices, done sooner than by the fastest alone") {
  const auto shown = [](const char* machines) {
    return Spillway({"show", "shares", "cifar-resnet20", "--batch", "96", "--machine", machines});
  };
  const Outcome outcome = shown("v100-x86-pcie3,p100-x86-pcie3");
  INFO(outcome.out << outcome.err);
  REQUIRE(outcome.status == 0);
  CHECK(Contains(outcome.out, ": analytic\n"));
  CHECK(Contains(outcome.out, "\nv100-x86-pcie3 96 "));
  CHECK(Contains(outcome.out, " 1.00x "));
  // Two of a kind: half each, and no more than twice as fast.
  const Outcome twins = shown("v100-x86-pcie3,v100-x86-pcie3");
  CHECK(Contains(twins.out, "\nv100-x86-pcie3 48, v100-x86-pcie3 48 "));
  CHECK(Contains(shown("v100-x86-pcie3,p101").err, "p101"));
  CHECK(Contains(Spillway({"show", "shares", "resnet18"}).err, "--machine says whose"));
}

TEST_CASE("show menu marks what a run takes, once for each op and grant") {
  const Outcome outcome = Spillway({"show", "menu", "vgg16", "--batch", "64", "--machine", "v100-x86-pcie3"});
  REQUIRE(outcome.status == 0);
  const std::string& text = outcome.out;
  CHECK(Contains(text,
                 "\ntaken with: the workspace granted where no plan says otherwise, 8 MiB by options "
                 "plain, chainer; 1 GiB by options torch, torch-1.13, torch-2, mxnet, "
                 "vdnn, inference; 4 GiB by options tensorflow1\n"));
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("vgg16", {.batch = 64}));
  // By line: the op whose entries follow, the algorithm in its column, and what it is taken with.
  std::istringstream lines(text.substr(text.find("\n\n") + 2));
  std::string line, op;
  std::getline(lines, line);
  const std::size_t at = line.find("algorithm");
  int few = 0, many = 0, kinds = 0;
  while (std::getline(lines, line)) {
    if (line[0] != ' ') {
      op = line.substr(0, line.find(' '));
      ++kinds;
    }
    const bool with_few = Contains(line, "8 MiB"), with_many = Contains(line, "1 GiB");
    few += with_few ? 1 : 0;
    many += with_many ? 1 : 0;
    const auto found = std::find_if(step.ops.begin(), step.ops.end(), [&op](const Op& o) { return o.name == op; });
    REQUIRE(found != step.ops.end());
    const Launch launch = LaunchOf(*found);
    const std::string algorithm = line.substr(at, line.find(' ', at) - at);
    const std::int32_t taken = costs.Kernel(launch).algorithm;
    if (with_few) CHECK(algorithm == AlgorithmNames(launch.kind, launch.pass)[static_cast<std::size_t>(taken) - 1]);
  }
  CHECK(kinds > 10);
  CHECK(few == kinds);
  CHECK(many == kinds);
}

TEST_CASE("show tells what launches cost in one line, where they differ") {
  const TemporaryFolder folder("show-launches");
  Machine machine = LoadMachine("v100-x86-pcie3");
  HostCosts& costs = machine.devices[0].host_costs;
  costs.launches = {{.op = OpKind::kBatchNorm, .pass = Pass::kBackward, .time = 14'000},
                    {.op = OpKind::kRelu, .pass = Pass::kForward, .time = 4100},
                    {.op = OpKind::kConvolution, .pass = Pass::kForward, .time = 9200}};
  costs.launches_source = {Source::Kind::kMeasured, "made up"};
  const Outcome outcome = Spillway({"show", "machine", folder.Write("mine.yaml", MachineToYaml(machine))});
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(Contains(outcome.out,
                 "\n  launch by op and pass, 3 of them: 4.10 us (relu forward) to 14.0 us (batch_norm backward) "
                 "[measured: made up]\n"));
  CHECK_FALSE(Contains(Spillway({"show", "machine", "v100-x86-pcie3"}).out, "launch by op"));
}

TEST_CASE("show refuses a profile that no run would accept") {
  const TemporaryFolder folder("show-machine");
  Machine machine = LoadMachine("unit");
  KernelModel model;
  model.form = "elementwize";
  model.op = OpKind::kRelu;
  model.pass = Pass::kForward;
  model.source = {Source::Kind::kAssumed, "test"};
  machine.devices[0].models = {model};
  const std::string file = folder.Write("m.yaml", MachineToYaml(machine));
  const Outcome outcome = Spillway({"show", "machine", file});
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(Contains(outcome.err, file + ":"));
  CHECK(Contains(outcome.err, "unknown kernel form 'elementwize'; did you mean 'elementwise'?"));
}

}  // namespace
}  // namespace spillway
