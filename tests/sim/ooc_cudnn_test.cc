// ooc_cuDNN's model by hand, and what its placement makes of a step.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "sim/strategies/ooc_cudnn/fused_functions.h"
#include "sim/strategies/ooc_cudnn/ooc_cudnn_model.h"
#include "sim/strategies/strategies.h"
#include "tests/random_groups.h"
#include "tests/sim/parts_place.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

using ooc_cudnn::Call;
using ooc_cudnn::ExhaustiveSteps;
using ooc_cudnn::GreedySteps;
using ooc_cudnn::LinearLaw;
using ooc_cudnn::Steps;
using ooc_cudnn::TimeOf;

// One input channel, one output channel, 8 rows of 5 floats, a 1x1 window: a sample is 160 bytes in, 160 out, and, channels
// rounded up to 32, 5120 units of work.
Call Convolution(Pass pass = Pass::kForward) {
  Call call{.input_on_host = true, .output_on_host = true};
  call.whole.kind = OpKind::kConvolution;
  call.whole.pass = pass;
  call.whole.shape.in = call.whole.shape.out = {.n = 12, .c = 1, .h = 8, .w = 5};
  return call;
}

// The unit machine, but a copy takes a microsecond to begin: where that is free, a tile is a row and a step 100,000 copies.
Machine MachineWithLatency() {
  Machine machine = LoadMachine("unit");
  for (TransferCurve& curve : machine.links[0].curves) curve.points = {{1, 1000}, {1'000'000, 1'001'000}};
  return machine;
}

// Elementwise over the same.
Call Elementwise() {
  Call call{.sample_in = 160, .sample_out = 160, .copies_in = 1, .copies_out = 1};
  call.whole = Convolution().whole;
  call.whole.kind = OpKind::kRelu;
  return call;
}

}  // namespace

TEST_CASE("ooc_cuDNN: a law through two points") {
  const LinearLaw law = ooc_cudnn::Through(100, 30, 50, 20);
  CHECK(law.weight == Approx(0.2));
  CHECK(law.bias == Approx(10));
  CHECK(law.At(10) == Approx(12));
}

TEST_CASE("ooc_cuDNN: three bottlenecks") {
  const Call call = Convolution();
  const Steps four{.samples = 4};  // of 3 samples: 480 bytes in, 480 out, 15360 units of work
  // Compute: in, four kernels, out behind the last one.
  CHECK(TimeOf(call, {1, 0}, {1, 0}, four) == Approx(480 + 4 * 15360 + 480));
  // The way in, then the last kernel and the way out.
  CHECK(TimeOf(call, {100, 0}, {0.1, 0}, four) == Approx(4 * 48000 + 1536 + 48000));
  // The way out, where nothing comes in.
  Call out = call;
  out.input_on_host = false;
  CHECK(TimeOf(out, {100, 0}, {0.1, 0}, four) == Approx(1536 + 4 * 48000));
  // Biases are paid once a tile and operand.
  CHECK(TimeOf(call, {1, 7}, {1, 5}, four) == Approx(487 + 4 * 15365 + 487));
  // Data the other way round; the gradient of the weights stays on the device.
  CHECK(TimeOf(Convolution(Pass::kBackwardData), {1, 0}, {1, 0}, four) == Approx(480 + 4 * 15360 + 480));
  CHECK(TimeOf(Convolution(Pass::kBackwardFilter), {1, 0}, {1, 0}, four) == Approx(480 + 480 + 4 * 15360));
  CHECK(TimeOf(Convolution(Pass::kBackwardFilter), {100, 0}, {1, 0}, four) == Approx(4 * (48000 + 48000) + 15360));
  // Whatever is no convolution: the longest stage, and the other two once.
  CHECK(TimeOf(Elementwise(), {1, 0}, {0, 300}, four) == Approx(480 + 300 + 480 + 3 * 480));
}

TEST_CASE("ooc_cuDNN: rows, channels and what is summed") {
  // Two rows a tile: 40 bytes a sample out; a 3x3 window reads four.
  Call call = Convolution();
  call.whole.shape.window = {1, 3, 3};
  call.whole.shape.in.n = call.whole.shape.out.n = 1;
  const Steps rows{.tiles = {.rows = 4}};
  const double work = 9 * 32 * 4.0 * 2 * 5;
  CHECK(TimeOf(call, {1, 0}, {1, 0}, rows) == Approx(80 + 4 * work + 40));
  // Two ranges of input channels are added up before anything goes out.
  Call sums = Convolution();
  sums.whole.shape.in.n = sums.whole.shape.out.n = 1;
  sums.whole.shape.in.c = 2;
  const Steps halves{.tiles = {.in_channels = 2}};
  CHECK(TimeOf(sums, {1, 0}, {0.001, 0}, halves) == Approx(2 * 160 + 5.12 + 160));
  // Half of 33 output channels is 17, which cost as 32.
  Call wide = Convolution();
  wide.whole.shape.in.n = wide.whole.shape.out.n = 1;
  wide.whole.shape.out.c = 33;
  CHECK(TimeOf(wide, {0, 0}, {1, 0}, {.tiles = {.out_channels = 2}}) == Approx(2 * 5120));
  CHECK(TimeOf(wide, {0, 0}, {1, 0}, {}) == Approx(2 * 5120));
}

TEST_CASE("ooc_cuDNN: the fastest tiles within a third of what is free") {
  Call call = Convolution();
  call.whole.shape.in.h = call.whole.shape.out.h = 1;  // 20 bytes a sample in, 20 out
  CHECK(GreedySteps(call, {1, 0}, {1, 0}, 1'000'000).samples == 12);
  // A bias for each tile makes few of them best; memory asks for more.
  CHECK(GreedySteps(call, {0.01, 0}, {0.001, 1000}, 1'000'000).samples == 1);
  CHECK(GreedySteps(call, {0.01, 0}, {0.001, 1000}, 3 * 40 * 4 + 3).samples == 3);
  CHECK(GreedySteps(call, {0.01, 0}, {0.001, 1000}, 10).samples == 12);
  // One sample that does not fit is cut into rows.
  const Steps rows = GreedySteps(Convolution(), {0.01, 0}, {0.001, 1000}, 3 * 40 * 4 + 3);
  CHECK(rows.samples == 12);
  CHECK(rows.tiles.rows > 1);
  CHECK(ooc_cudnn::Fits(Convolution(), rows, 3 * 40 * 4 + 3));
}

// One axis after the other is not the best of all: how far it stays behind is counted, not asserted away.
TEST_CASE("ooc_cuDNN: the greedy search against all tiles of small convolutions") {
  Random random(3);
  int cases = 0, best = 0, fits = 0;
  double worst = 1;
  for (; cases < 2000; ++cases) {
    Call call = Convolution(static_cast<Pass>(random.Between(0, 2)));  // forward, data, filter
    const std::int64_t window = random.Between(0, 1) * 2 + 1, n = random.Between(1, 6), side = random.Between(1, 8);
    call.whole.shape.in = {.n = n, .c = random.Between(1, 6), .h = side, .w = side};
    call.whole.shape.out = {.n = n, .c = random.Between(1, 6), .h = side, .w = side};
    call.whole.shape.window = {1, window, window};
    call.whole.shape.pad[1] = call.whole.shape.pad[2] = window / 2;
    call.input_on_host = random.Below(4) > 0;
    call.output_on_host = !call.input_on_host || random.Below(4) > 0;
    const LinearLaw copy{0.1 * random.Between(1, 20), 10.0 * random.Between(0, 20)};
    const LinearLaw kernel{0.001 * random.Between(1, 50), 10.0 * random.Between(0, 20)};
    const Bytes free = 64 * random.Between(1, 300);
    const Steps greedy = GreedySteps(call, copy, kernel, free), all = ExhaustiveSteps(call, copy, kernel, free);
    const bool fit = ooc_cudnn::Fits(call, greedy, free);
    CHECK(fit == ooc_cudnn::Fits(call, all, free));
    if (!fit) continue;
    ++fits;
    const double ratio = TimeOf(call, copy, kernel, greedy) / TimeOf(call, copy, kernel, all);
    CHECK(ratio >= 1 - 1e-12);
    best += ratio < 1 + 1e-12 ? 1 : 0;
    worst = std::max(worst, ratio);
  }
  UNSCOPED_INFO(best << " of " << fits << " as fast as the best, the worst " << worst << " times as slow");
  CHECK(fits > 1000);
  CHECK(best > fits / 4);
  CHECK(best < fits);
}

TEST_CASE("ooc-cudnn: what comes first stays, what does not fit is streamed, and verify agrees", "[plain]") {
  const Machine machine = MachineWithLatency();
  const CostModel costs(machine);
  for (const SmallNetwork& network : kNetworks) {
    const PartsPlace p(network.build(), network.options);
    INFO(network.name);
    Bytes all = 0;
    for (const Bytes bytes : p.tables.bytes) all += bytes;
    int streaming = 0;
    for (const int percent : {200, 120, 90, 70}) {
      const Problem problem{.step = &p.step, .costs = &costs, .capacity = all * percent / 100, .runtime = {}};
      const Planned planned = StrategyByName("ooc-cudnn").plan(problem);
      CHECK(planned.feasible == planned.reason.empty());
      REQUIRE(CheckPlan(planned.plan, p.step).empty());
      CHECK(planned.plan.runtime.barrier == Barrier::kOp);
      const Program program = p.Lowered(planned.plan);
      REQUIRE(ViolationsOf(program, p.step) == "");
      const Evaluation e = Evaluate(planned.plan, problem);
      if (e.feasible) CHECK(e.bounds.Best() <= e.step_time);
      const auto ops = static_cast<int>(planned.plan.ops.size());
      CHECK(ops >= streaming);
      streaming = ops;
      if (percent == 200) CHECK(ops == 0);
    }
    CHECK(streaming > 0);
  }
}

TEST_CASE("ooc_cuDNN: a fused function's three bottlenecks") {
  // Two samples a part: 10 bytes in, 20 out of each; the convolution 100, the others 6.
  ooc_cudnn::FusedCall call{.batch = 8, .sample_in = 10, .sample_out = 20, .sample_held = 30};
  call.copies_in = call.copies_out = 1;
  call.convolutions = {{.sample_work = 50, .law = {1, 0}}};
  call.others = {{.sample_work = 1, .law = {1, 1}}, {.sample_work = 1, .law = {1, 1}}};
  // In, four convolutions, the small ops and the copy out behind the last one.
  CHECK(ooc_cudnn::TimeOf(call, {1, 0}, 4) == Approx(20 + 4 * 100 + 40 + 6));
  // The way out, the small ops on it.
  CHECK(ooc_cudnn::TimeOf(call, {10, 0}, 4) == Approx(200 + 100 + 4 * (400 + 6)));
  call.sample_out = 5;
  CHECK(ooc_cudnn::TimeOf(call, {10, 3}, 4) == Approx(4 * 203 + 100 + 103 + 6));
  // Backward they come before the convolution.
  call.backward = true;
  CHECK(ooc_cudnn::TimeOf(call, {1, 0}, 4) == Approx(20 + 4 * 106 + 10));
  CHECK(ooc_cudnn::TimeOf(call, {10, 0}, 4) == Approx(4 * 200 + 106 + 100));
  CHECK(ooc_cudnn::FusedParts(call, {1, 0}, 1'000'000) == 8);
  CHECK(ooc_cudnn::FusedParts(call, {1, 1000}, 1'000'000) == 1);
  CHECK(ooc_cudnn::FusedParts(call, {1, 1000}, 3 * 30 * 2 + 1) == 4);
  CHECK(ooc_cudnn::FusedParts(call, {1, 0}, 90) == 0);
}

TEST_CASE("ooc-cudnn-fused: the same placement, layers in groups, less on the link, never below its bound", "[plain]") {
  const Machine machine = MachineWithLatency();
  const CostModel costs(machine);
  const PartsPlace p(Vgg());
  Bytes all = 0;
  for (const Bytes bytes : p.tables.bytes) all += bytes;
  int fused = 0;
  for (const int percent : {200, 70, 50, 40}) {
    const Problem problem{.step = &p.step, .costs = &costs, .capacity = all * percent / 100, .runtime = {}};
    const Plan plan = StrategyByName("ooc-cudnn-fused").plan(problem).plan;
    const Plan apart = StrategyByName("ooc-cudnn").plan(problem).plan;
    REQUIRE(CheckPlan(plan, p.step).empty());
    REQUIRE(plan.gaps == apart.gaps);
    const Program program = p.Lowered(plan);
    REQUIRE(ViolationsOf(program, p.step) == "");
    const Evaluation e = Evaluate(plan, problem), other = Evaluate(apart, problem);
    if (!e.feasible || !other.feasible) continue;
    CHECK(e.bounds.Best() <= e.step_time);
    CHECK((FusedOps(plan) == 0 || e.bytes_in < other.bytes_in));
    fused += FusedOps(plan);
  }
  INFO(fused << " fused ops");
  CHECK(fused > 20);
}

TEST_CASE("ooc-cudnn: where more memory does not fit and less does, the placement is said to be why") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-vgg", {.batch = 8}));
  const auto planned = [&](const char* name, Bytes capacity) {
    return StrategyByName(name).plan({.step = &step, .costs = &costs, .capacity = capacity, .runtime = {}});
  };
  for (const char* name : {"ooc-cudnn", "ooc-cudnn-released", "ooc-cudnn-fused"}) {
    INFO(name);
    int turns = 0;  // from what fits to what does not
    bool fits = false;
    for (Bytes capacity = 30 * kMB; capacity <= 42 * kMB; capacity += 100 * kKB) {
      const Planned now = planned(name, capacity);
      if (!now.feasible) {
        CHECK_THAT(now.reason, Catch::StartsWith("out_of_memory: the plan needs ") &&
                                   Catch::Contains("are placed on the device first"));
        turns += fits ? 1 : 0;
      }
      fits = now.feasible;
    }
    if (name != std::string("ooc-cudnn-fused")) CHECK(turns > 0);  // whose groups need less
    CHECK(fits);
  }
}

}  // namespace spillway
