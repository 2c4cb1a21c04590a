// Costs of what a device says it offers: which algorithm is chosen, and with whose workspace.
#include "calibrate/validate/device_costs.h"

#include <catch2/catch.hpp>
#include <string>

#include "hw/text/document.h"
#include "model/cost/op_tiles.h"
#include "model/kernels/kernel_form.h"
#include "model/profile/launch_text.h"

namespace spillway {
namespace {

Op Convolution(std::int64_t channels = 16) {
  Op op;
  op.name = "conv" + std::to_string(channels) + ":forward";
  op.kind = OpKind::kConvolution;
  op.shape.in = op.shape.out = Shape{8, channels, 1, 12, 12};
  op.shape.window = {1, 3, 3};
  op.shape.pad = {0, 1, 1};
  return op;
}

Launch Granted(Bytes workspace, std::int32_t algorithm = 0) {
  Launch launch = LaunchOf(Convolution());
  launch.workspace = workspace;
  launch.algorithm = algorithm;
  return launch;
}

std::int32_t Algorithm(const char* name) { return AlgorithmByName(OpKind::kConvolution, Pass::kForward, name); }

MeasuredOp Measured(const char* algorithm, Nanos time, Bytes workspace) {
  MeasuredOp op = MeasuredOpOf(Granted(kUsualWorkspace, Algorithm(algorithm)));
  op.time = time;
  op.workspace = workspace;
  op.error = 0.03;
  return op;
}

// Launches take `fixed` and next to nothing beside it. Believed to need no workspace.
KernelModel ImplicitGemm(double fixed) {
  KernelModel model;
  model.form = model.algorithm = "implicit_gemm";
  model.op = OpKind::kConvolution;
  model.pass = Pass::kForward;
  for (const FormParameter& p : FindKernelForm("implicit_gemm")->parameters) {
    model.parameters.push_back({p.name, std::string(p.name) == "fixed" ? fixed : p.start});
  }
  model.source = {Source::Kind::kPublished, "test"};
  return model;
}

// gemm measured in 5 ms and 100 B, direct in 3 ms and 1000 B, implicit_gemm modelled in a millisecond and 0 B.
Machine Known() {
  Machine machine = LoadMachine("unit");
  Device& device = machine.devices[0];
  device.peak_flops = 10000;
  device.memory_bandwidth = 500;
  device.measured = {Measured("gemm", 5'000'000, 100), Measured("direct", 3'000'000, 1000)};
  device.models = {ImplicitGemm(1e6)};
  return machine;
}

TrainingStep StepOf(std::vector<Op> ops) {
  TrainingStep step;
  step.ops = std::move(ops);
  return step;
}

// A device that offers the same for every convolution.
struct Asked {
  explicit Asked(const std::vector<OfferedAlgorithm>& offered, Machine known = Known(), CostOptions options = {})
      : machine(std::move(known)), costs(machine, options, Offers(offered)) {}
  static DeviceOffers Offers(const std::vector<OfferedAlgorithm>& offered) {
    DeviceOffers offers;
    offers.Ask(StepOf({Convolution()}), [&](const Launch&) { return offered; });
    return offers;
  }
  Machine machine;
  DeviceCosts costs;
};

TEST_CASE("where device and profile agree nothing changes") {
  const Asked asked({{Algorithm("gemm"), 100}, {Algorithm("direct"), 1000}});
  const CostModel plain(asked.machine);
  for (const Bytes granted : {kUsualWorkspace, Bytes{1000}, Bytes{999}, Bytes{100}, Bytes{99}}) {
    INFO(granted);
    const Cost cost = asked.costs.Kernel(Granted(granted));
    const bool fits = granted == kUsualWorkspace || granted >= 100;
    if (fits) CHECK(cost.time == plain.Kernel(Granted(granted)).time);
    if (fits) CHECK(cost.algorithm == plain.Kernel(Granted(granted)).algorithm);
    CHECK(std::string(cost.how) == "measured");
    CHECK(cost.source == Source::Kind::kMeasured);
    CHECK(cost.error == 0.03);
    CHECK(cost.workspace == (cost.algorithm == Algorithm("direct") ? 1000 : 100));
  }
  CHECK(asked.costs.Difference().Text() == "a workspace other than modelled for 0 of 1 convolutions");
}

TEST_CASE("the device's workspace is the plan's, and decides what fits") {
  const Asked asked({{Algorithm("gemm"), 128}, {Algorithm("direct"), 4096}});
  CHECK(asked.costs.Kernel(Granted(kUsualWorkspace)).workspace == 4096);
  CHECK(asked.costs.Kernel(Granted(kUsualWorkspace)).time == 3'000'000);
  CHECK(asked.costs.Kernel(Granted(4096)).algorithm == Algorithm("direct"));
  CHECK(asked.costs.Kernel(Granted(4095)).algorithm == Algorithm("gemm"));  // 1000 would do, says the profile
  CHECK(asked.costs.Kernel(Granted(4095)).workspace == 128);
  CHECK(asked.costs.Kernel(Granted(0, Algorithm("direct"))).workspace == 4096);  // asked for by name
  const OfferDifference difference = asked.costs.Difference();
  CHECK(difference.launches == 1);
  CHECK(difference.other == 1);
  CHECK(difference.largest == 4096 - 1000);
  CHECK(difference.not_offered == 0);
  CHECK(difference.Text() == "a workspace other than modelled for 1 of 1 convolutions, by at most 3.10 kB");
}

TEST_CASE("less than modelled fits where the model says that it does not") {
  const Asked asked({{Algorithm("gemm"), 100}, {Algorithm("direct"), 50}});
  CHECK(asked.costs.Kernel(Granted(50)).algorithm == Algorithm("direct"));
  CHECK(asked.costs.Kernel(Granted(50)).workspace == 50);
}

TEST_CASE("only what is offered is chosen: measured before modelled, modelled before the law") {
  CHECK(Asked({{Algorithm("implicit_gemm"), 0}, {Algorithm("gemm"), 100}}).costs.Kernel(Granted(200)).algorithm ==
        Algorithm("gemm"));
  const Asked unmeasured({{Algorithm("winograd"), 10}, {Algorithm("implicit_gemm"), 30}});
  const Cost modelled = unmeasured.costs.Kernel(Granted(200));
  CHECK(modelled.algorithm == Algorithm("implicit_gemm"));
  CHECK(std::string(modelled.how) == "model");
  CHECK(modelled.source == Source::Kind::kPublished);
  CHECK(modelled.workspace == 30);
  CHECK(unmeasured.costs.Difference().not_offered == 1);  // direct
  // Nobody knows the others: the first one that fits, in the roofline's time.
  const Asked unknown({{Algorithm("fft"), 500}, {Algorithm("winograd"), 100}, {Algorithm("winograd_nonfused"), 50}});
  const Cost law = unknown.costs.Kernel(Granted(200));
  CHECK(std::string(law.how) == "roofline");
  CHECK(law.source == Source::Kind::kAssumed);
  CHECK(law.algorithm == Algorithm("winograd"));
  CHECK(law.workspace == 100);
  CHECK(unknown.costs.Kernel(Granted(500)).algorithm == Algorithm("fft"));
}

TEST_CASE("where none fits, the one that wants least says what it wants") {
  const Asked asked({{Algorithm("direct"), 4096}, {Algorithm("gemm"), 2048}});
  const Cost cost = asked.costs.Kernel(Granted(100));
  CHECK(cost.algorithm == Algorithm("gemm"));
  CHECK(cost.workspace == 2048);
  const Asked limited({{Algorithm("direct"), 4096}, {Algorithm("gemm"), 2048}}, Known(), {.workspace_limit = 3000});
  CHECK(limited.costs.Kernel(Granted(kUsualWorkspace)).algorithm == Algorithm("gemm"));
}

TEST_CASE("an op for which nothing is offered, and an algorithm that is not, are named") {
  DeviceOffers offers;
  const auto nothing = [](const Launch&) { return std::vector<OfferedAlgorithm>{}; };
  CHECK_THROWS_WITH(
      offers.Ask(StepOf({Convolution()}), nothing),
      Catch::StartsWith(
          "conv16:forward (convolution forward 8x16x12x12 window 3x3 pad 1x1): the device offers no algorithm"));
  const auto refuses = [](const Launch&) -> std::vector<OfferedAlgorithm> { throw UserError("status 3000"); };
  CHECK_THROWS_WITH(offers.Ask(StepOf({Convolution()}), refuses),
                    Catch::StartsWith("conv16:forward (") && Catch::EndsWith(": status 3000"));
  const Asked asked({{Algorithm("gemm"), 100}});
  CHECK_THROWS_WITH(asked.costs.Kernel(Granted(1000, Algorithm("direct"))),
                    Catch::Contains("the device does not offer direct") && Catch::Contains("it offers gemm"));
}

TEST_CASE("each distinct convolution is asked about once, nothing else at all") {
  Op relu;
  relu.kind = OpKind::kRelu;
  relu.shape.in = relu.shape.out = Shape{1, 1, 1, 1, 1000};
  std::vector<std::int64_t> channels;
  const auto ask = [&](const Launch& launch) {
    CHECK(launch.algorithm == 0);
    channels.push_back(launch.shape.in.c);
    return std::vector<OfferedAlgorithm>{{Algorithm("direct"), 64}};
  };
  DeviceOffers offers;
  offers.Ask(StepOf({Convolution(16), relu, Convolution(32), Convolution(16)}), ask);
  offers.Ask(StepOf({Convolution(32), Convolution(64)}), ask);
  CHECK(channels == std::vector<std::int64_t>{16, 32, 64});

  const Machine machine = Known();
  const DeviceCosts costs(machine, {}, offers);
  const CostModel plain(machine);
  CHECK(costs.Kernel(LaunchOf(relu)).time == plain.Kernel(LaunchOf(relu)).time);
  const Launch unasked = LaunchOf(Convolution(8));
  CHECK(costs.Kernel(unasked).time == plain.Kernel(unasked).time);
  CHECK(costs.Kernel(unasked).workspace == plain.Kernel(unasked).workspace);
}

TEST_CASE("parts are asked about with the sizes that plans may give them, the first of a sum and later ones") {
  Op filter = Convolution(16);
  filter.pass = Pass::kBackwardFilter;
  const std::int64_t batch = filter.shape.in.n;
  REQUIRE(batch > 2);
  std::vector<std::pair<std::int64_t, bool>> asked;
  const auto ask = [&](const Launch& launch) {
    asked.emplace_back(launch.shape.in.n, launch.accumulate);
    return std::vector<OfferedAlgorithm>{{Algorithm("direct"), 64 * launch.shape.in.n}};
  };
  DeviceOffers offers;
  const std::vector<std::int64_t> sizes{1, 2, batch, batch + 1};
  offers.Ask(StepOf({filter}), ask, sizes);
  offers.Ask(StepOf({filter}), ask, sizes);
  CHECK(asked ==
        std::vector<std::pair<std::int64_t, bool>>{{batch, false}, {1, false}, {1, true}, {2, false}, {2, true}});
  const Machine machine = Known();
  const DeviceCosts costs(machine, {}, offers);
  CHECK(costs.Kernel(PartOf(LaunchOf(filter), 2, false)).workspace == 128);
}

TEST_CASE("a slowed device is slow with every algorithm that it offers") {
  const Asked asked({{Algorithm("gemm"), 128}}, Known(), {.compute_slowdown = 3});
  CHECK(asked.costs.Kernel(Granted(kUsualWorkspace)).time == 15'000'000);
}

}  // namespace
}  // namespace spillway
