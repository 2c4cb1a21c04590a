// The shipped machines: that they load, differ where they should, and give times within reason.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "hw/machine/chips.h"
#include "model/cost/cost_model.h"
#include "model/profile/machine.h"

using namespace spillway;

namespace {

const std::vector<std::string> kMachines = {"v100-x86-pcie3", "v100-power9-nvlink2-x2", "v100-power9-nvlink2-x3",
                                            "v100-power9-nvlink2"};

// Every machine that stands for a real one, with its chip.
const std::map<std::string, std::string> kChips = {{"v100-x86-pcie3", "V100-SXM2-16GB"},
                                                   {"v100-power9-nvlink2", "V100-SXM2-16GB"},
                                                   {"v100-power9-nvlink2-x2", "V100-SXM2-16GB"},
                                                   {"v100-power9-nvlink2-x3", "V100-SXM2-16GB"},
                                                   {"v100-pcie-x86-pcie3", "V100-PCIE-16GB"},
                                                   {"p100-x86-pcie3", "P100-PCIE-16GB"},
                                                   {"p100-power8-nvlink1", "P100-SXM2-16GB"},
                                                   {"a100-pcie4", "A100-PCIE-40GB"},
                                                   {"titanx-maxwell-x86-pcie3", "GTX-TitanX-Maxwell"},
                                                   {"h100-sxm", "H100-SXM-80GB"}};

// n x c x side x side in and out.
Launch Square(OpKind kind, Pass pass, std::int64_t n, std::int64_t c, std::int64_t side) {
  Launch launch;
  launch.kind = kind;
  launch.pass = pass;
  launch.shape.in = launch.shape.out = Shape{n, c, 1, side, side};
  return launch;
}

}  // namespace

TEST_CASE("every machine has the figures of its chip") {
  const std::vector<ChipFigures> chips = LoadChips();
  for (const auto& [name, chip_name] : kChips) {
    INFO(name);
    const ChipFigures* const chip = FindChip(chips, chip_name);
    REQUIRE(chip != nullptr);
    const Machine machine = LoadMachine(name);
    CHECK(machine.name == name);
    CHECK_FALSE(machine.notes.empty());
    REQUIRE(machine.devices.size() == 1);
    const Device& device = machine.devices[0];
    CHECK(device.peak_flops == chip->peak_flops);
    CHECK(device.math_peaks == chip->math_peaks);
    CHECK(device.math_source == chip->math_source);
    CHECK(device.memory_bandwidth == chip->memory_bandwidth);
    CHECK(device.multiprocessors == chip->multiprocessors);
    CHECK(device.l2_cache == chip->l2_cache);
    CHECK(device.total_memory < chip->memory);  // part of it serves error correction
    CHECK(static_cast<double>(device.UsableMemory()) > 0.9 * static_cast<double>(chip->memory));
  }
}

TEST_CASE("only the unit machine stands for no chip") {
  std::vector<std::string> names = ListMachines();
  for (const char* own : {"mine", "gpu"}) std::erase(names, own);  // of whoever calibrated in this tree
  CHECK(names.size() == kChips.size() + 1);
}

TEST_CASE("a machine without kernel times of its own has those of its sibling") {
  CHECK(LoadMachine("v100-power9-nvlink2").devices[0].models == LoadMachine("v100-x86-pcie3").devices[0].models);
  // A board with other clocks has the same laws, which nobody measured on it.
  for (const auto& [board, sibling] :
       {std::pair{"p100-power8-nvlink1", "p100-x86-pcie3"}, std::pair{"v100-pcie-x86-pcie3", "v100-x86-pcie3"}}) {
    const Device pupil = LoadMachine(board).devices[0], teacher = LoadMachine(sibling).devices[0];
    REQUIRE(pupil.models.size() == teacher.models.size());
    for (std::size_t i = 0; i < pupil.models.size(); ++i) {
      CHECK(pupil.models[i].parameters == teacher.models[i].parameters);
      CHECK(pupil.models[i].source.kind == Source::Kind::kAssumed);
    }
  }
}

TEST_CASE("the V100 with the PCIe card differs from the other one by its peak alone") {
  const Machine card = LoadMachine("v100-pcie-x86-pcie3");
  const Machine module = LoadMachine("v100-x86-pcie3");
  CHECK(card.devices[0].UsableMemory() == module.devices[0].UsableMemory());
  CHECK(card.devices[0].memory_bandwidth == module.devices[0].memory_bandwidth);
  CHECK(card.devices[0].peak_flops < module.devices[0].peak_flops);
  CHECK(card.hosts == module.hosts);
  REQUIRE(card.links.size() == module.links.size());
  for (std::size_t direction = 0; direction < 2; ++direction) {
    CHECK(card.links[0].curves[direction].points == module.links[0].curves[direction].points);
  }
  CHECK(card.links[0].other_memory == module.links[0].other_memory);
}

TEST_CASE("the machines hold the device constant") {
  const Device first = LoadMachine(kMachines[0]).devices[0];
  for (const std::string& name : kMachines) {
    INFO(name);
    const Device device = LoadMachine(name).devices[0];
    CHECK(device.peak_flops == first.peak_flops);
    CHECK(device.memory_bandwidth == first.memory_bandwidth);
    CHECK(device.UsableMemory() == first.UsableMemory());
    CHECK(device.host_costs.kernel_launch == first.host_costs.kernel_launch);
    REQUIRE(device.laws.size() == first.laws.size());
    for (std::size_t i = 0; i < first.laws.size(); ++i) {
      CHECK(device.laws[i].op == first.laws[i].op);
      CHECK(device.laws[i].window == first.laws[i].window);
      CHECK(device.laws[i].flop_fraction == first.laws[i].flop_fraction);
      CHECK(device.laws[i].bandwidth_fraction == first.laws[i].bandwidth_fraction);
      CHECK(device.laws[i].error == first.laws[i].error);
    }
  }
}

TEST_CASE("usable memory is 95 % of what the context leaves") {
  // 0.95 * (16160 - 512) MiB = 0.95 * 15648 MiB = 14865.6 MiB, rounded down to 512 bytes.
  const Device device = LoadMachine("v100-x86-pcie3").devices[0];
  CHECK(device.total_memory == 16160 * kMiB);
  CHECK(device.UsableMemory() <= 14866 * kMiB);
  CHECK(device.UsableMemory() > 14865 * kMiB);
  CHECK(device.UsableMemory() % 512 == 0);
}

TEST_CASE("the short name is the machine with three bricks") {
  const Machine machine = LoadMachine("v100-power9-nvlink2");
  const Machine three = LoadMachine("v100-power9-nvlink2-x3");
  REQUIRE(machine.links.size() == three.links.size());
  CHECK(CostModel(machine).Copy(kGB, Direction::kHostToDevice).time ==
        CostModel(three).Copy(kGB, Direction::kHostToDevice).time);
  CHECK(machine.notes.size() > three.notes.size());
}

TEST_CASE("host memory is what the paper gives") {
  const auto total = [](const std::string& name) {
    Bytes sum = 0;
    for (const HostNode& host : LoadMachine(name).hosts) sum += host.memory;
    return sum;
  };
  CHECK(total("v100-x86-pcie3") == 192 * kGB);
  CHECK(total("v100-power9-nvlink2-x3") == 1024 * kGB);
  CHECK(total("v100-power9-nvlink2-x2") == 1024 * kGB);
}

TEST_CASE("a large convolution takes the less time the newer the chip") {
  Launch launch = Square(OpKind::kConvolution, Pass::kForward, 128, 256, 56);
  launch.shape.window = {1, 3, 3};
  launch.shape.pad = {0, 1, 1};
  Nanos before = INT64_MAX;
  for (const char* name : {"titanx-maxwell-x86-pcie3", "p100-x86-pcie3", "p100-power8-nvlink1", "v100-pcie-x86-pcie3",
                           "a100-pcie4", "h100-sxm"}) {
    INFO(name);
    const Machine machine = LoadMachine(name);
    const Nanos time = CostModel(machine).Kernel(launch).time;
    CHECK(time < before);
    before = time;
  }
}

TEST_CASE("a convolution of ResNet-50 runs at a plausible rate") {
  // 3x3, 128 -> 128 channels, 28x28, batch 128: 2 * 128 * 128 * 128 * 9 * 784 = 29.6 GFLOP.
  Launch launch = Square(OpKind::kConvolution, Pass::kForward, 128, 128, 28);
  launch.shape.window = {1, 3, 3};
  launch.shape.pad = {0, 1, 1};
  const double flops = 2.0 * 128 * 128 * 128 * 9 * 784;
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel model(machine);
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    launch.pass = pass;
    const Cost cost = model.Kernel(launch);
    const double teraflops = flops / static_cast<double>(cost.time) / 1000;
    INFO(PassName(pass));
    CHECK(teraflops > 8);   // implicit GEMM at half the peak
    CHECK(teraflops < 25);  // fused Winograd saves a factor of 2.25 at most, and not at the full peak
    CHECK(std::string(cost.how).starts_with("model"));  // perhaps beyond its data
    CHECK(cost.workspace <= 8 * kMiB);
    CHECK(cost.error > 0.05);
  }
}

TEST_CASE("memory-bound kernels run at 60 to 95 % of the memory bandwidth") {
  // 128 x 256 x 56 x 56 in fp32: 411 MB a pass.
  const double tensor = 4.0 * 128 * 256 * 56 * 56;
  struct Case {
    OpKind kind;
    Pass pass;
    double passes;
  };
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel model(machine);
  for (const Case& c : {Case{OpKind::kBatchNorm, Pass::kForward, 3}, Case{OpKind::kBatchNorm, Pass::kBackward, 5},
                        Case{OpKind::kRelu, Pass::kForward, 2}, Case{OpKind::kRelu, Pass::kBackward, 3}}) {
    const Cost cost = model.Kernel(Square(c.kind, c.pass, 128, 256, 56));
    const double share = c.passes * tensor / static_cast<double>(cost.time) / 900;
    INFO(OpKindName(c.kind) << ' ' << PassName(c.pass));
    CHECK(share > 0.60);
    CHECK(share < 0.95);
    CHECK(cost.copy_slowdown > 1.0);
    CHECK(cost.copy_slowdown < 1.1);
  }
}

TEST_CASE("a copy slows memory-bound kernels the more the faster the link") {
  const Machine pcie = LoadMachine("v100-x86-pcie3");
  const Machine three = LoadMachine("v100-power9-nvlink2-x3");
  const Launch relu = Square(OpKind::kRelu, Pass::kForward, 128, 256, 56);
  CHECK(CostModel(pcie).Kernel(relu).copy_slowdown < CostModel(three).Kernel(relu).copy_slowdown);
  Launch convolution = Square(OpKind::kConvolution, Pass::kForward, 128, 256, 56);
  CHECK(CostModel(three).Kernel(convolution).copy_slowdown < CostModel(three).Kernel(relu).copy_slowdown);
}

TEST_CASE("every op and pass of a training step has a law or a model") {
  const Machine machine = LoadMachine("v100-power9-nvlink2");
  const CostModel model(machine);
  const auto known = [&](OpKind kind, Pass pass) {
    return std::string(model.Kernel(Square(kind, pass, 32, 64, 28)).how) != "roofline";
  };
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    CHECK(known(OpKind::kConvolution, pass));
    CHECK(known(OpKind::kLinear, pass));
  }
  for (const OpKind kind : {OpKind::kBatchNorm, OpKind::kRelu, OpKind::kMaxPool, OpKind::kAveragePool, OpKind::kLrn,
                            OpKind::kDropout, OpKind::kConcat, OpKind::kSoftmaxLoss}) {
    INFO(OpKindName(kind));
    CHECK(known(kind, Pass::kForward));
    CHECK(known(kind, Pass::kBackward));
  }
  for (const OpKind kind : {OpKind::kAdd, OpKind::kCopy}) {  // backward: gradients at a fork
    CHECK(known(kind, Pass::kForward));
    CHECK(known(kind, Pass::kBackward));
  }
  CHECK(known(OpKind::kBias, Pass::kForward));
  CHECK(known(OpKind::kBias, Pass::kBackwardBias));
  CHECK(known(OpKind::kUpdate, Pass::kUpdate));
}

TEST_CASE("no number of a profile is without a source") {
  for (const auto& [name, chip] : kChips) {
    const Machine machine = LoadMachine(name);
    INFO(name);
    CHECK_FALSE(machine.devices[0].source.text.empty());
    CHECK_FALSE(machine.devices[0].memory_source.text.empty());
    CHECK_FALSE(machine.devices[0].host_costs.source.text.empty());
    for (const CostLaw& law : machine.devices[0].laws) CHECK(law.source.text.size() > 20);
    for (const Link& link : machine.links) {
      CHECK(std::max(link.duplex_factor[0], link.duplex_factor[1]) < 1.0);
      CHECK_FALSE(link.duplex_source.text.empty());
      for (const TransferCurve& curve : link.curves) CHECK(curve.points.size() <= 12);
      for (const TransferCurve& curve : link.curves) CHECK_FALSE(curve.source.text.empty());
      for (const OtherMemory& memory : link.other_memory) {
        for (const TransferCurve& curve : memory.curves) CHECK(curve.points.size() <= 12);
        for (const TransferCurve& curve : memory.curves) CHECK(curve.source.text.size() > 20);
      }
    }
    // Nothing was measured by this project on these machines.
    for (const CostLaw& law : machine.devices[0].laws) CHECK(law.source.kind != Source::Kind::kMeasured);
  }
}
