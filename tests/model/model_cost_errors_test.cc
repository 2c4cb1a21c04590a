// Costs by kernel models: where an answer comes from and how sure it is.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/kernel_models.h"

using namespace spillway;

TEST_CASE("beyond its data a model says so and is the less sure") {
  KernelModel model = ReluModel();
  model.shared_error = 0.1;
  model.own_error = 0.2;
  model.least_work = 8000;
  model.most_work = 16000;
  const Machine machine = UnitWith({model});
  const CostModel costs(machine);
  // 8000 B, 16,000 B: both ends are within.
  for (const std::int64_t elements : {1000, 2000}) {
    CHECK(std::string(costs.Kernel(Relu(elements)).how) == "model");
    CHECK(costs.Kernel(Relu(elements)).error == Approx(std::sqrt(0.01 + 0.04)));
  }
  // 128,000 B, 8 times the most: ln 8 = 2.079, 0.05 of that = 0.104 beside the model's own 0.2.
  const Cost above = costs.Kernel(Relu(16000));
  CHECK(std::string(above.how) == "model beyond its data");
  CHECK(above.error == Approx(std::sqrt(0.01 + 0.04 + 0.104 * 0.104)).epsilon(1e-3));
  CHECK(above.shared_error == 0.1);
  // 1000 B, an eighth of the least: as far on the other side.
  CHECK(costs.Kernel(Relu(125)).error == Approx(above.error));
  CHECK(std::string(costs.Kernel(Relu(125)).how) == "model beyond its data");
  CHECK(costs.Kernel(Relu(160000)).error > above.error);
  // Not known: never beyond.
  model.least_work = model.most_work = 0;
  const Machine silent = UnitWith({model});
  CHECK(std::string(CostModel(silent).Kernel(Relu(16000)).how) == "model");
}

TEST_CASE("other arithmetic than the models': their times as an assumption") {
  const Machine machine = UnitWith({ReluModel()});
  const CostModel costs(machine);
  for (const MathMode math : {MathMode::kTf32, MathMode::kFp16, MathMode::kBf16}) {
    Launch launch = Relu(1000);
    launch.math = math;
    CHECK(costs.Kernel(launch).time == 17000);
    CHECK(costs.Kernel(launch).source == Source::Kind::kAssumed);
    CHECK(costs.Kernel(launch).error >= 0.5);
  }
  Launch half = Relu(1000);
  half.type = DataType::kFp16;
  CHECK(costs.Kernel(half).time == 1000 + 8000);  // half the bytes
  CHECK(costs.Kernel(half).source == Source::Kind::kAssumed);
  CHECK(costs.Kernel(half).error >= 0.5);
}

TEST_CASE("models for the launch's own arithmetic go first and are no assumption") {
  KernelModel tensor = ReluModel(), half = ReluModel();
  tensor.math = "tf32";
  tensor.parameters[0].value = 5000;
  half.math = "fp16";
  half.parameters[0].value = 200;
  const Machine machine = UnitWith({ReluModel(), tensor, half});
  const CostModel costs(machine);
  Launch launch = Relu(1000);
  CHECK(costs.Kernel(launch).time == 17000);
  launch.math = MathMode::kTf32;  // slower, and still the one that was asked for
  CHECK(costs.Kernel(launch).time == 21000);
  CHECK(costs.Kernel(launch).source == Source::Kind::kPublished);
  CHECK(costs.Kernel(launch).error < 0.5);
  launch.math = MathMode::kFp16;  // of fp32 data: not what it was fitted to
  CHECK(costs.Kernel(launch).source == Source::Kind::kAssumed);
  launch.type = DataType::kFp16;
  CHECK(costs.Kernel(launch).time == 200 + 8000);
  CHECK(costs.Kernel(launch).source == Source::Kind::kPublished);
  CHECK(costs.Kernel(launch).error < 0.5);
  launch.math = MathMode::kFp32;  // half-precision data in fp32 arithmetic
  CHECK(costs.Kernel(launch).source == Source::Kind::kAssumed);
}

TEST_CASE("grouped and 3-D convolutions are assumptions, wrong together") {
  const Machine machine = FastWith({ConvolutionModel("implicit_gemm", 1e6)});
  const CostModel costs(machine);
  Launch grouped = Convolution(3), volume = Convolution(3);
  grouped.shape.groups = 2;
  volume.shape.in.d = volume.shape.out.d = 4;
  for (const Launch& launch : {grouped, volume}) {
    const Cost cost = costs.Kernel(launch);
    CHECK(cost.time == TimeOf(machine, 0, launch));
    CHECK(cost.source == Source::Kind::kAssumed);
    CHECK(cost.error >= 0.6);
    CHECK(cost.shared_error == cost.error);
    CHECK(std::string(cost.how) == "model beyond its data");
  }
  CHECK(costs.Kernel(Convolution(3)).source == Source::Kind::kPublished);
  CHECK(costs.Kernel(Convolution(3)).error < 0.6);
}

TEST_CASE("what a copy takes from a kernel follows from its share of the memory and the link") {
  KernelModel model = ReluModel();
  Machine machine = UnitWith({model});
  // 8000 B in 17,000 ns at 1 B/ns: 8/17 of the memory's rate. The link moves 1 B/ns, all of it.
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 8.0 / 17));
  // Copies at 0.25 and 0.5 B/ns: the faster direction counts, at large sizes.
  machine.links[0].curves[0].points = {{1, 10}, {1000, 1009}, {2000, 5009}};
  machine.links[0].curves[1].points = {{1, 10}, {1000, 1009}, {2000, 3009}};
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 8.0 / 17 / 2));
  std::swap(machine.links[0].curves[0], machine.links[0].curves[1]);
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 8.0 / 17 / 2));
  // A memory four times as fast: 8000 B in 5000 ns are 0.4 of it, and the link an eighth.
  machine.devices[0].memory_bandwidth = 4;
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 0.4 / 8));
  // Only the first link of the device counts.
  machine.links.push_back(LoadMachine("unit").links[0]);
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(1 + 0.4 / 8));
}

TEST_CASE("a kernel cannot use more than the memory has") {
  KernelModel model = ReluModel();
  model.parameters[0].value = 1e-9;
  model.parameters[1].value = 2;  // twice the sheet's bandwidth
  const Machine machine = UnitWith({model});
  CHECK(CostModel(machine).Kernel(Relu(1000)).time == 4000);
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == Approx(2));
}

TEST_CASE("a measured slowdown is kept") {
  KernelModel model = ReluModel();
  model.copy_slowdown = 1.3;
  const Machine machine = UnitWith({model});
  CHECK(CostModel(machine).Kernel(Relu(1000)).copy_slowdown == 1.3);
}

TEST_CASE("equal models are wrong together on whatever machine, different ones apart") {
  const Machine one = UnitWith({ReluModel()});
  Machine other = FastWith({ConvolutionModel("implicit_gemm", 1e6), ReluModel()});
  other.name = "other";
  other.devices[0].models[1].own_error = 0.4;
  other.devices[0].models[1].source.text = "another place";
  const std::uint64_t group = CostModel(one).Kernel(Relu(1000)).group;
  CHECK(group == CostModel(one).Kernel(Relu(77)).group);
  CHECK(group == CostModel(other).Kernel(Relu(1000)).group);
  CHECK(group != CostModel(other).Kernel(Convolution(3)).group);
  other.devices[0].models[1].parameters[0].value += 1;
  CHECK(group != CostModel(other).Kernel(Relu(1000)).group);
}
