// ooc_cuDNN's model by hand, and what its placement makes of a step.
#include <catch2/catch.hpp>

#include "sim/evaluate.h"
#include "sim/strategies/ooc_cudnn/ooc_cudnn_model.h"
#include "tests/sim/parts_place.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

using ooc_cudnn::BestSteps;
using ooc_cudnn::Call;
using ooc_cudnn::LinearLaw;
using ooc_cudnn::TimeOf;

// 12 samples of 10 bytes in, 10 out, 100 units of work.
Call Convolution() {
  return {.samples = 12,
          .sample_in = 10,
          .sample_out = 10,
          .copies_in = 1,
          .copies_out = 1,
          .sample_work = 100,
          .sample_tile = 20,
          .bottlenecks = true};
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
  // Tiles of 3 samples. Compute: in 30, run 4 x 300, out 30 behind the last one.
  CHECK(TimeOf(call, {1, 0}, {1, 0}, 4) == Approx(30 + 4 * 300 + 30));
  // The way in: 4 x 300, then the last kernel and the way out.
  CHECK(TimeOf(call, {10, 0}, {0.1, 0}, 4) == Approx(4 * 300 + 30 + 300));
  // The way out, where nothing comes in.
  Call out = call;
  out.sample_in = 0;
  out.copies_in = 0;
  CHECK(TimeOf(out, {10, 0}, {0.1, 0}, 4) == Approx(30 + 4 * 300));
  // Biases are paid once a tile and operand.
  CHECK(TimeOf(call, {1, 7}, {1, 5}, 4) == Approx(37 + 4 * 305 + 37));
  // A filter's gradient stays on the device.
  Call sums = out;
  sums.sums = true;
  sums.sample_in = 20;
  CHECK(TimeOf(sums, {1, 0}, {1, 0}, 4) == Approx(60 + 4 * 300));
  // Whatever is no convolution: the longest stage, and the other two once.
  Call plain = call;
  plain.bottlenecks = false;
  CHECK(TimeOf(plain, {1, 0}, {1, 0}, 4) == Approx(30 + 300 + 30 + 3 * 300));
}

TEST_CASE("ooc_cuDNN: the fastest number of tiles within a third of what is free") {
  const Call call = Convolution();
  // Without biases more tiles are faster, to the last one.
  CHECK(BestSteps(call, {1, 0}, {1, 0}, 1'000'000) == 12);
  // A bias for each tile makes few of them best; memory asks for more.
  CHECK(BestSteps(call, {0.01, 0}, {1, 1000}, 1'000'000) == 1);
  CHECK(BestSteps(call, {0.01, 0}, {1, 1000}, 3 * 20 * 4 + 3) == 3);
  CHECK(BestSteps(call, {0.01, 0}, {1, 1000}, 10) == 12);
  for (std::int64_t steps = 1; steps <= 12; ++steps) {
    CHECK(TimeOf(call, {2, 30}, {0.3, 20}, BestSteps(call, {2, 30}, {0.3, 20}, 1'000'000)) <=
          TimeOf(call, {2, 30}, {0.3, 20}, steps));
  }
}

TEST_CASE("ooc-cudnn: what comes first stays, what does not fit is streamed, and verify agrees") {
  for (const SmallNetwork& network : kNetworks) {
    const PartsPlace p(network.build(), network.options);
    INFO(network.name);
    Bytes all = 0;
    for (const Bytes bytes : p.tables.bytes) all += bytes;
    int streaming = 0;
    for (const int percent : {200, 100, 70, 50}) {
      const Problem problem{.step = &p.step, .costs = &p.costs, .capacity = all * percent / 100, .runtime = {}};
      const Planned planned = StrategyByName("ooc-cudnn").plan(problem);
      REQUIRE(planned.feasible);
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

}  // namespace spillway
