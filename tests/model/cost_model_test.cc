// The cost model on machines whose answers are mental arithmetic.
#include "model/cost/cost_model.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "model/profile/machine.h"
#include "tests/profile_text.h"
#include "tests/user_errors.h"

using namespace spillway;

namespace {

Source Published() { return {Source::Kind::kPublished, "test"}; }

CostLaw Law(OpKind op, Pass pass, const char* window, double flop_fraction, double bandwidth_fraction) {
  CostLaw law;
  law.op = op;
  law.pass = pass;
  law.window = window;
  law.flop_fraction = flop_fraction;
  law.bandwidth_fraction = bandwidth_fraction;
  law.error = 0.2;
  law.source = Published();
  return law;
}

// Like the unit profile: 1 flop and 1 byte per nanosecond, copies 1 byte per nanosecond.
Machine UnitMachine() {
  Machine machine;
  machine.devices.resize(1);
  machine.devices[0].peak_flops = 1;
  machine.devices[0].memory_bandwidth = 1;
  machine.hosts.resize(1);
  Link link;
  for (TransferCurve& curve : link.curves) {
    curve.points = {{1, 1}, {1000, 1000}};
    curve.error = 0;
  }
  machine.links = {link};
  return machine;
}

Launch Relu(std::int64_t elements) {
  Launch launch;
  launch.kind = OpKind::kRelu;
  launch.shape.in = launch.shape.out = Shape{1, 1, 1, 1, elements};
  return launch;
}

// n=1, c channels in and out, side x side, stride 1, padded so that the size stays.
Launch Convolution(std::int64_t channels, std::int64_t side, std::int64_t window) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.shape.in = launch.shape.out = Shape{1, channels, 1, side, side};
  launch.shape.window = {1, window, window};
  launch.shape.pad = {0, window / 2, window / 2};
  return launch;
}

Nanos TimeWith(const std::vector<CostLaw>& laws, const Launch& launch) {
  Machine machine = UnitMachine();
  machine.devices[0].laws = laws;
  return CostModel(machine).Kernel(launch).time;
}

}  // namespace

TEST_CASE("without laws a kernel takes the larger of flops and bytes on the unit machine") {
  const Machine machine = UnitMachine();
  const CostModel model(machine);

  // ReLU over 100 fp32 elements: reads 400 B, writes 400 B, computes less than that.
  const Cost relu = model.Kernel(Relu(100));
  CHECK(relu.time == 800);
  CHECK(relu.source == Source::Kind::kAssumed);
  CHECK(relu.error == 0.5);
  CHECK(std::string(relu.how) == "roofline");
  CHECK(relu.workspace == 0);
  CHECK(relu.copy_slowdown == 1.0);

  // 3x3 convolution, 10 -> 10 channels on 10x10: 2 * 10 * 10 * 9 * 100 = 180,000 flops against
  // 4 * (1000 in + 1000 out + 900 weights) = 11,600 bytes.
  CHECK(model.Kernel(Convolution(10, 10, 3)).time == 180000);
}

TEST_CASE("a law applies its fractions and adds its fixed time") {
  // 180,000 flops at half the peak = 360,000 ns; bytes at a quarter of the bandwidth = 46,400 ns.
  CostLaw law = Law(OpKind::kConvolution, Pass::kForward, "3x3", 0.5, 0.25);
  CHECK(TimeWith({law}, Convolution(10, 10, 3)) == 360000);
  law.fixed = 7;
  CHECK(TimeWith({law}, Convolution(10, 10, 3)) == 360007);
  // Twice the peak (fast algorithms): 90,000 ns.
  law.flop_fraction = 2;
  CHECK(TimeWith({law}, Convolution(10, 10, 3)) == 90007);
  // A fraction of 0 takes that resource out: only the bytes count, then nothing but the fixed time.
  law.flop_fraction = 0;
  CHECK(TimeWith({law}, Convolution(10, 10, 3)) == 46407);
  law.bandwidth_fraction = 0;
  CHECK(TimeWith({law}, Convolution(10, 10, 3)) == 7);
}

TEST_CASE("the answer carries what the law says about itself") {
  Machine machine = UnitMachine();
  CostLaw law = Law(OpKind::kConvolution, Pass::kForward, "3x3", 1, 1);
  law.workspace = 8 * kMiB;
  law.copy_slowdown = 1.25;
  machine.devices[0].laws = {law};
  const Cost cost = CostModel(machine).Kernel(Convolution(1, 4, 3));
  CHECK(cost.source == Source::Kind::kPublished);
  CHECK(cost.error == 0.2);
  CHECK(std::string(cost.how) == "law");
  CHECK(cost.workspace == 8 * kMiB);
  CHECK(cost.copy_slowdown == 1.25);
}

// It would never be found, and the roofline would answer in its place without a word.
TEST_CASE("a law of what nobody knows is refused, with its place and the nearest name") {
  const auto refused = [](const std::string& law) {
    const std::string text = ProfileText("    laws: [{" + law + ", flop_fraction: 1, bandwidth_fraction: 1,\n" +
                                         "            source: {assumed: test}}]\n");
    const std::vector<std::string> errors = ErrorsOfProfile(text);
    return errors.empty() ? "" : errors.front();
  };
  using Catch::StartsWith;
  const std::string owner = ": error: machine 'small', device 'gpu': laws: ";
  CHECK_THAT(refused("op: convolutoin, pass: forward"),
             StartsWith("small.yaml:12:17" + owner + "unknown op 'convolutoin'; did you mean 'convolution'?"));
  CHECK_THAT(refused("op: relu, pass: foward"),
             StartsWith("small.yaml:12:29" + owner + "unknown pass 'foward'; did you mean 'forward'?"));
  const auto window = [&](const std::string& name) {
    return refused("op: convolution, pass: forward, window: " + name);
  };
  const std::string expected = "small.yaml:12:53" + owner + "window '";
  CHECK_THAT(window("3*3"), StartsWith(expected + "3*3': expected grouped, or sizes such as 3x3 and 3x3x3"));
  CHECK_THAT(
      window("group"),
      StartsWith(expected + "group': expected grouped, or sizes such as 3x3 and 3x3x3; did you mean 'grouped'?"));
  CHECK_THAT(window("1x1x1"),
             StartsWith(expected + "1x1x1': expected grouped, or sizes such as 3x3 and 3x3x3; one of a single "
                                   "voxel is 1x1, with a depth too"));
  for (const char* name : {"3", "3x3x3x3", "03x3"}) CHECK_THAT(window(name), StartsWith(expected + name));
  for (const char* name : {"grouped", "11x11", "3x7x7"}) CHECK(window(name).empty());
  CHECK(refused("op: convolution, pass: forward").empty());
}

TEST_CASE("the closest law wins, wherever it stands in the list") {
  // Fixed times tell the laws apart; both resources are switched off.
  const auto named = [](OpKind op, Pass pass, const char* window, Nanos fixed) {
    CostLaw law = Law(op, pass, window, 0, 0);
    law.fixed = fixed;
    return law;
  };
  std::vector<CostLaw> laws = {
      named(OpKind::kConvolution, Pass::kForward, "", 1),
      named(OpKind::kConvolution, Pass::kForward, "3x3", 2),
      named(OpKind::kConvolution, Pass::kForward, "3x3x3", 3),
      named(OpKind::kConvolution, Pass::kForward, "grouped", 4),
      named(OpKind::kConvolution, Pass::kBackwardData, "3x3", 5),
      named(OpKind::kRelu, Pass::kForward, "", 6),
      named(OpKind::kConvolution, Pass::kForward, "1x1", 7),
  };
  Launch grouped = Convolution(4, 8, 3);
  grouped.shape.groups = 2;
  Launch volume = Convolution(4, 8, 3);
  volume.shape.in.d = volume.shape.out.d = 8;
  volume.shape.window = {3, 3, 3};
  Launch point_in_volume = Convolution(4, 8, 1);
  point_in_volume.shape.in.d = point_in_volume.shape.out.d = 8;
  Launch backward = Convolution(4, 8, 3);
  backward.pass = Pass::kBackwardData;
  Launch flat = Convolution(4, 8, 3);  // 1x3x3 over a volume is neither 3x3 nor 3x3x3
  flat.shape.in.d = flat.shape.out.d = 8;
  Launch oblong = Convolution(4, 8, 3);
  oblong.shape.window = {1, 1, 3};
  Launch grouped_volume = volume;
  grouped_volume.shape.groups = 2;

  for (int turn = 0; turn < 2; ++turn) {
    CHECK(TimeWith(laws, Convolution(4, 8, 3)) == 2);
    CHECK(TimeWith(laws, Convolution(4, 8, 1)) == 7);
    CHECK(TimeWith(laws, Convolution(4, 8, 5)) == 1);
    CHECK(TimeWith(laws, grouped) == 4);
    CHECK(TimeWith(laws, grouped_volume) == 4);
    CHECK(TimeWith(laws, volume) == 3);
    CHECK(TimeWith(laws, point_in_volume) == 7);
    CHECK(TimeWith(laws, flat) == 1);
    CHECK(TimeWith(laws, oblong) == 1);
    CHECK(TimeWith(laws, backward) == 5);
    CHECK(TimeWith(laws, Relu(100)) == 6);
    laws = {laws.rbegin(), laws.rend()};
  }
}

TEST_CASE("grouped convolution without a law of its own uses the one for any window") {
  CostLaw any = Law(OpKind::kConvolution, Pass::kForward, "", 0, 0);
  any.fixed = 1;
  CostLaw three = Law(OpKind::kConvolution, Pass::kForward, "3x3", 0, 0);
  three.fixed = 2;
  Launch grouped = Convolution(4, 8, 3);
  grouped.shape.groups = 2;
  CHECK(TimeWith({three, any}, grouped) == 1);

  // With nothing but a law for other launches it is a roofline: 180,000 / 2 flops against 10,000 bytes at most.
  Machine machine = UnitMachine();
  machine.devices[0].laws = {three};
  Launch large = Convolution(10, 10, 3);
  large.shape.groups = 2;
  const Cost cost = CostModel(machine).Kernel(large);
  CHECK(cost.time == 90000);
  CHECK(std::string(cost.how) == "roofline");
}

TEST_CASE("another number format halves the bytes, keeps the rates and is an assumption") {
  Machine machine = UnitMachine();
  machine.devices[0].laws = {Law(OpKind::kRelu, Pass::kForward, "", 0, 1)};
  const CostModel model(machine);
  Launch half = Relu(100);
  half.type = DataType::kFp16;
  CHECK(model.Kernel(Relu(100)).time == 800);
  CHECK(model.Kernel(Relu(100)).source == Source::Kind::kPublished);
  CHECK(model.Kernel(half).time == 400);
  CHECK(model.Kernel(half).source == Source::Kind::kAssumed);
  CHECK(model.Kernel(half).error == 0.5);

  Launch tensor_cores = Relu(100);
  tensor_cores.math = MathMode::kTf32;
  CHECK(model.Kernel(tensor_cores).time == 800);
  CHECK(model.Kernel(tensor_cores).source == Source::Kind::kAssumed);
}

TEST_CASE("times are rounded to whole nanoseconds") {
  Machine machine = UnitMachine();
  machine.devices[0].memory_bandwidth = 3;
  // 800 bytes at 3 B/ns = 266.67 ns, 400 bytes = 133.33 ns.
  CHECK(CostModel(machine).Kernel(Relu(100)).time == 267);
  CHECK(CostModel(machine).Kernel(Relu(50)).time == 133);
}

TEST_CASE("each device answers with its own figures") {
  Machine machine = UnitMachine();
  machine.devices.push_back(machine.devices[0]);
  machine.devices[1].memory_bandwidth = 2;
  const CostModel model(machine);
  CHECK(model.Kernel(Relu(100), 0).time == 800);
  CHECK(model.Kernel(Relu(100), 1).time == 400);
}

TEST_CASE("a copy follows the curve of its direction") {
  Machine machine = UnitMachine();
  TransferCurve& down = machine.links[0].curves[static_cast<std::size_t>(Direction::kDeviceToHost)];
  down.points = {{100, 50}, {200, 100}, {400, 400}};
  down.error = 0.07;
  down.source = Published();
  const CostModel model(machine);

  CHECK(model.Copy(500, Direction::kHostToDevice).time == 500);
  CHECK(model.Copy(100, Direction::kDeviceToHost).time == 50);
  CHECK(model.Copy(10, Direction::kDeviceToHost).time == 50);  // never faster than the first point
  CHECK(model.Copy(0, Direction::kDeviceToHost).time == 50);
  CHECK(model.Copy(150, Direction::kDeviceToHost).time == 75);  // half way
  CHECK(model.Copy(300, Direction::kDeviceToHost).time == 250);
  CHECK(model.Copy(600, Direction::kDeviceToHost).time == 700);  // 1.5 ns per byte as in the last interval

  const Cost cost = model.Copy(150, Direction::kDeviceToHost);
  CHECK(cost.error == 0.07);
  CHECK(cost.source == Source::Kind::kPublished);
  CHECK(std::string(cost.how) == "curve");
}

TEST_CASE("a copy uses the first link of its device") {
  Machine machine = UnitMachine();
  Link far = machine.links[0];
  far.host = 1;
  for (TransferCurve& curve : far.curves) curve.points = {{1, 10}, {1000, 10000}};
  machine.links.push_back(far);
  CHECK(CostModel(machine).Copy(500, Direction::kHostToDevice).time == 500);
}

TEST_CASE("rows of a pitched copy cost 10 ns each beyond the first and make it an assumption") {
  Machine machine = UnitMachine();
  for (TransferCurve& curve : machine.links[0].curves) curve.source = Published();
  const CostModel model(machine);
  CHECK(model.Copy(500, Direction::kHostToDevice, 0, 1).time == 500);
  CHECK(model.Copy(500, Direction::kHostToDevice, 0, 1).source == Source::Kind::kPublished);
  CHECK(model.Copy(500, Direction::kHostToDevice, 0, 5).time == 540);
  CHECK(model.Copy(500, Direction::kHostToDevice, 0, 5).source == Source::Kind::kAssumed);
  CHECK(model.Copy(500, Direction::kHostToDevice, 0, 5).error == 0.3);
}
