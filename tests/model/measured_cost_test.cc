// Which of a profile's answers holds where launches were timed on the very machine.
#include "model/cost/measured_cost.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "hw/text/document.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

Launch Convolution(Bytes workspace = kUsualWorkspace) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.shape.in = launch.shape.out = Shape{8, 16, 1, 12, 12};
  launch.shape.window = {1, 3, 3};
  launch.shape.pad = {0, 1, 1};
  launch.workspace = workspace;
  return launch;
}

Launch Relu() {
  Launch launch;
  launch.kind = OpKind::kRelu;
  launch.shape.in = launch.shape.out = Shape{1, 1, 1, 1, 1000};
  return launch;
}

std::int32_t Algorithm(const char* name) { return AlgorithmByName(OpKind::kConvolution, Pass::kForward, name); }

MeasuredOp Measured(Launch launch, const char* algorithm, Nanos time, Bytes workspace) {
  launch.algorithm = Algorithm(algorithm);
  MeasuredOp op = MeasuredOpOf(launch);
  op.time = time;
  op.workspace = workspace;
  op.error = 0.03;
  return op;
}

// A model of an algorithm whose launches take `fixed` and next to nothing beside it; implicit_gemm wants no workspace.
KernelModel Model(const std::string& form, double fixed) {
  KernelModel model;
  model.form = form;
  model.algorithm = form == "explicit_gemm" ? "gemm" : form;
  model.op = OpKind::kConvolution;
  model.pass = Pass::kForward;
  for (const FormParameter& p : FindKernelForm(form)->parameters) {
    model.parameters.push_back({p.name, std::string(p.name) == "fixed" ? fixed : p.start});
  }
  model.source = {Source::Kind::kPublished, "test"};
  return model;
}

Machine With(const std::vector<MeasuredOp>& measured, const std::vector<KernelModel>& models = {}) {
  Machine machine = LoadMachine("unit");
  Device& device = machine.devices[0];
  device.peak_flops = 10000;  // small convolutions take microseconds, milliseconds count
  device.memory_bandwidth = 500;
  device.measured = measured;
  device.models = models;
  return machine;
}

Cost Answer(const Machine& machine, const Launch& launch) { return CostModel(machine).Kernel(launch); }

// direct: 3 ms in 1000 B, gemm: 5 ms in 100 B.
std::vector<MeasuredOp> TwoAlgorithms() {
  return {Measured(Convolution(), "gemm", 5'000'000, 100), Measured(Convolution(), "direct", 3'000'000, 1000)};
}

std::string Refusal(const MeasuredOp& op) {
  const Machine machine = With({op});
  try {
    const CostModel costs(machine);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a launch that was timed costs what was measured, exactly") {
  const Machine machine = With(TwoAlgorithms());
  const Cost cost = Answer(machine, Convolution());
  CHECK(cost.time == 3'000'000);
  CHECK(std::string(cost.how) == "measured");
  CHECK(cost.source == Source::Kind::kMeasured);
  CHECK(cost.algorithm == Algorithm("direct"));
  CHECK(cost.workspace == 1000);
  CHECK(cost.error == 0.03);
  CHECK(cost.shared_error == 0);
}

TEST_CASE("the fastest measured algorithm within the workspace, at its very bound") {
  const Machine machine = With(TwoAlgorithms());
  CHECK(Answer(machine, Convolution(1000)).algorithm == Algorithm("direct"));
  CHECK(Answer(machine, Convolution(999)).algorithm == Algorithm("gemm"));
  CHECK(Answer(machine, Convolution(999)).time == 5'000'000);
  CHECK(Answer(machine, Convolution(100)).time == 5'000'000);
}

TEST_CASE("what was measured decides, however fast other algorithms are modelled") {
  const Machine machine = With(TwoAlgorithms(), {Model("implicit_gemm", 1000)});
  CHECK(Answer(machine, Convolution()).algorithm == Algorithm("direct"));
  CHECK(Answer(machine, Convolution()).time == 3'000'000);
}

TEST_CASE("an algorithm that is asked for by name is looked up by it") {
  const Machine machine = With(TwoAlgorithms(), {Model("implicit_gemm", 1e6)});
  Launch launch = Convolution();
  launch.algorithm = Algorithm("gemm");
  CHECK(Answer(machine, launch).time == 5'000'000);
  launch.algorithm = Algorithm("implicit_gemm");  // not measured
  const Cost model = Answer(machine, launch);
  CHECK(std::string(model.how) == "model");
  CHECK(model.algorithm == Algorithm("implicit_gemm"));
}

TEST_CASE("models answer where no measured algorithm fits, but not for those algorithms") {
  // The explicit GEMM's model says 16 x 9 x 8 x 12 x 12 x 4 B = 663,552 B. Measured it took 700,000.
  const Launch within = Convolution(663'552), above = Convolution(700'000);
  const std::vector<KernelModel> models = {Model("implicit_gemm", 4e6), Model("explicit_gemm", 1e6)};
  const Machine machine = With({Measured(Convolution(), "gemm", 5'000'000, 700'000)}, models);
  CHECK(Answer(machine, above).time == 5'000'000);
  CHECK(std::string(Answer(machine, within).how) == "model");
  CHECK(Answer(machine, within).algorithm == Algorithm("implicit_gemm"));
  // Without the measurement, gemm's model would have answered.
  CHECK(Answer(With({}, models), within).algorithm == Algorithm("gemm"));
}

TEST_CASE("where nothing fits, the one that wants least is named") {
  const Machine machine = With(TwoAlgorithms());
  const Cost least = Answer(machine, Convolution(99));
  CHECK(least.algorithm == Algorithm("gemm"));
  CHECK(least.workspace == 100);
  // A model that wants more than that is no better, one that fits is.
  CHECK(Answer(With(TwoAlgorithms(), {Model("winograd_nonfused", 1000)}), Convolution(99)).workspace == 100);
  CHECK(std::string(Answer(With(TwoAlgorithms(), {Model("implicit_gemm", 1e6)}), Convolution(99)).how) == "model");
}

TEST_CASE("everything of a launch but algorithm and workspace must agree") {
  const Machine machine = With(TwoAlgorithms());
  std::vector<Launch> others(8, Convolution());
  others[0].shape.in.n = 9;
  others[1].shape.pad = {0, 0, 0};
  others[2].pass = Pass::kBackwardData;
  others[3].type = DataType::kFp16;
  others[4].math = MathMode::kTf32;
  others[5].layout = Layout::kNhwc;
  others[6].accumulate = true;
  others[7].shape.groups = 2;
  for (const Launch& other : others) CHECK(std::string(Answer(machine, other).how).starts_with("roofline"));
}

TEST_CASE("an op without algorithms: its scratch is not granted and does not count") {
  MeasuredOp op = MeasuredOpOf(Relu());
  op.time = 4321;
  op.workspace = 5000;
  Launch launch = Relu();
  launch.workspace = 0;
  const Cost cost = Answer(With({op}), launch);
  CHECK(cost.time == 4321);
  CHECK(cost.algorithm == 0);
}

TEST_CASE("slower beside copies: as measured, as the model says, or by the share of the memory") {
  MeasuredOp op = MeasuredOpOf(Relu());
  op.time = 32;  // 8000 B at 500 B/ns are 16 ns: half of the memory's rate, of which the link takes 1/500
  KernelModel model;
  model.form = "elementwise";
  model.op = OpKind::kRelu;
  model.pass = Pass::kForward;
  model.parameters = {{"latency", 1000}, {"bandwidth_fraction", 0.5}, {"cache_gain", 1}};
  model.source = {Source::Kind::kPublished, "test"};
  model.copy_slowdown = 1.3;
  CHECK(Answer(With({op}), Relu()).copy_slowdown == Approx(1 + 0.5 / 500));
  CHECK(Answer(With({op}, {model}), Relu()).copy_slowdown == 1.3);
  op.copy_slowdown = 1.2;
  CHECK(Answer(With({op}, {model}), Relu()).copy_slowdown == 1.2);
}

TEST_CASE("measured launches are wrong each for itself") {
  const Machine machine = With(TwoAlgorithms());
  CHECK(Answer(machine, Convolution(1000)).group != Answer(machine, Convolution(100)).group);
  CHECK(Answer(machine, Convolution(1000)).group == Answer(machine, Convolution(5000)).group);
}

TEST_CASE("each device has its own measurements") {
  Machine machine = With(TwoAlgorithms());
  machine.devices.push_back(With({}).devices[0]);
  machine.links.push_back(machine.links[0]);
  machine.links[1].device = 1;
  const CostModel costs(machine);
  CHECK(std::string(costs.Kernel(Convolution(), 0).how) == "measured");
  CHECK(std::string(costs.Kernel(Convolution(), 1).how) == "roofline");
}

TEST_CASE("a measured launch that this program cannot read is refused with machine, device and text") {
  MeasuredOp op = TwoAlgorithms()[0];
  op.algorithm = "gem";
  CHECK_THAT(Refusal(op), Catch::Contains("machine 'unit', device 'gpu0': measured 'convolution forward 8x16x12x12 "
                                          "window 3x3 pad 1x1, algorithm gem': unknown algorithm 'gem'") &&
                              Catch::Contains("did you mean 'gemm'?"));
  op.algorithm = "gemm";
  op.shape = "8x16";
  CHECK_THAT(Refusal(op), Catch::Contains("wrong shape '8x16'"));
}

TEST_CASE("all measured launches that this program cannot read are told, not the first one only") {
  std::vector<MeasuredOp> ops = TwoAlgorithms();
  ops[0].algorithm = "gem";
  ops[1].shape = "8x16";
  ops.push_back(Measured(Convolution(), "winograd", 1, 0));
  const Machine machine = With(ops);
  try {
    const CostModel costs(machine);
    FAIL("nothing was thrown");
  } catch (const UserError& error) {
    REQUIRE(error.messages().size() == 2);
    CHECK_THAT(error.messages()[0], Catch::Contains("unknown algorithm 'gem'"));
    CHECK_THAT(error.messages()[1], Catch::Contains("wrong shape '8x16'"));
  }
}

TEST_CASE("measured launches of a file are refused with file, line and column of each") {
  std::vector<MeasuredOp> ops = TwoAlgorithms();
  ops[0].algorithm = "gem";
  ops[1].shape = "8x16";
  ops.push_back(Measured(Convolution(), "winograd", 1, 0));
  Machine machine = With({});
  machine.devices[0].name = "first";
  machine.devices.push_back(With(ops).devices[0]);
  machine.links.push_back(machine.links[0]);
  machine.links[1].device = 1;
  machine.links[1].name = "second";
  const TemporaryFolder folder("measured");
  const std::string text = MachineToYaml(machine);
  const std::string path = folder.Write("mine.yaml", text);
  const auto line_of = [&](const std::string& part) {
    return std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<long>(text.find(part)), '\n'));
  };
  try {
    LoadMachine(path);
    FAIL("nothing was thrown");
  } catch (const UserError& error) {
    REQUIRE(error.messages().size() == 2);
    CHECK_THAT(error.messages()[0], Catch::StartsWith(path + ":" + line_of("algorithm gem,") +
                                                      ":11: error: measured 'convolution forward") &&
                                        Catch::Contains("did you mean 'gemm'?"));
    CHECK_THAT(error.messages()[1], Catch::StartsWith(path + ":" + line_of("forward 8x16,") + ":11: error: measured"));
  }
  // A file that only names another one says where that one is wrong.
  const std::string second = folder.Write("second.yaml", "name: second\nsame_as: mine\n");
  CHECK_THROWS_WITH(LoadMachine(second), Catch::Contains("mine.yaml:" + line_of("algorithm gem,") + ":11: error: "));
}

TEST_CASE("a printed and loaded profile answers the same") {
  const Machine machine = With(TwoAlgorithms());
  const Machine again = ParseMachine(MachineToYaml(machine), "again.yaml");
  CHECK(again == machine);
  for (const Bytes workspace : {99, 100, 1000}) {
    CHECK(Answer(again, Convolution(workspace)).time == Answer(machine, Convolution(workspace)).time);
  }
}

}  // namespace spillway
