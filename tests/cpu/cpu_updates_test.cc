// Updates on the CPU device: Adam by hand, updates by lists, clipping; and that every optimizer trains.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>

#include "model/network/optimizer.h"
#include "tests/cpu_reference.h"
#include "tests/cpu_training.h"
#include "tests/small_networks_today.h"

namespace spillway {
namespace {

OpCall ListCall(ListPass pass, const std::vector<std::int64_t>& list, double weight_decay = 0) {
  OpCall call = Call(OpKind::kForeach, Pass::kUpdate, {.in = {.c = 3}, .out = {.c = 3}});
  call.details.list_pass = pass;
  call.details.list = list;
  call.details.weight_decay = weight_decay;
  return call;
}

Network With(Network network, const char* optimizer, bool clips) {
  network.optimizer = &OptimizerByName(optimizer);
  network.clips_gradients = clips;
  return network;
}

Trained InCore(const Network& network, int iterations, float rate) {
  const CpuCase c(network);
  const Trained trained = Train(c, c.InCore().program, {.iterations = iterations}, {.learning_rate = rate});
  REQUIRE(Says(trained) == "");
  return trained;
}

}  // namespace

// The first two steps by the paper's formulas, with a gradient of 2 and then of -1, a rate of 0.1 and decay of 0.5.
TEST_CASE("update: Adam, whose first step is the rate, with decay of the weight") {
  CpuKernels kernels;
  OpCall call = Call(OpKind::kUpdate, Pass::kUpdate, {.in = {.n = 1}, .out = {.n = 1}, .operands = 4});
  call.details.weight_decay = 0.5;
  Values gradient{2}, parameter{1}, mean{0}, square{0};
  const std::array<void*, 4> reads{gradient.data(), parameter.data(), mean.data(), square.data()};
  CpuArguments arguments{.reads = reads, .writes = {reads.data() + 1, 3}, .learning_rate = 0.1f};
  kernels.Prepare(call).Run(arguments);
  CHECK(parameter[0] == Approx(0.95 - 0.1));
  gradient[0] = -1, arguments.iteration = 1;
  kernels.Prepare(call).Run(arguments);
  const double m = 0.9 * 0.2 - 0.1, v = 0.999 * 0.004 + 0.001;
  CHECK(mean[0] == Approx(m));
  CHECK(square[0] == Approx(v));
  CHECK(parameter[0] == Approx(0.95 * 0.85 - 0.1 * (m / 0.19) / std::sqrt(v / 0.001999)));
}

TEST_CASE("clipping: gradients of a norm of 5 become those of a norm of 1, smaller ones stay") {
  CpuKernels kernels;
  const std::vector<std::int64_t> list{2, 1};
  const Values norm = Result(kernels, ListCall(ListPass::kNorm, list), {{3, 0}, {4}}, {0});
  CHECK(norm == Values{5});
  for (const float scale : {1.0f, 0.125f}) {
    std::vector<Values> gradients{{3 * scale, 0}, {4 * scale}};
    Values length{5 * scale};
    const std::array<void*, 3> all{gradients[0].data(), gradients[1].data(), length.data()};
    kernels.Prepare(ListCall(ListPass::kClip, list)).Run({.reads = all, .writes = {all.data(), 2}});
    const float expected = scale == 1 ? 0.2f : scale;
    CHECK(gradients[0][0] == Approx(3 * expected));
    CHECK(gradients[1][0] == Approx(4 * expected));
  }
}

TEST_CASE("update by lists: AdamW's is the one of a kernel each, momentum's decays the weight by its gradient") {
  const Trained fused = InCore(With(TinyGpt(), "adamw-fused", true), 3, 0.01f),
                lists = InCore(With(TinyGpt(), "adamw-foreach", true), 3, 0.01f);
  CHECK(Difference(fused, lists) == "");
  CpuKernels kernels;
  Values gradient{1}, parameter{4}, velocity{2}, temporary{0};
  const std::array<void*, 3> reads{gradient.data(), parameter.data(), velocity.data()};
  const std::array<void*, 2> before{velocity.data(), temporary.data()};
  kernels.Prepare(ListCall(ListPass::kBefore, {1}, 0.25)).Run({.reads = reads, .writes = before, .momentum = 0.5f});
  CHECK(velocity[0] == 3);  // 0.5 x 2 + 1 + 0.25 x 4
  const std::array<void*, 4> last{gradient.data(), parameter.data(), velocity.data(), temporary.data()};
  kernels.Prepare(ListCall(ListPass::kLast, {1}, 0.25))
      .Run({.reads = last, .writes = {last.data() + 1, 1}, .learning_rate = 0.5f});
  CHECK(parameter[0] == 2.5f);
}

TEST_CASE("every optimizer trains, and each in its own way") {
  std::vector<Trained> all;
  for (const Optimizer& optimizer : OptimizerTable()) {
    for (const bool clips : {false, true}) {
      INFO(optimizer.name << " " << clips);
      Trained trained = InCore(With(Normed(), optimizer.name, clips), 20, 0.01f);
      const std::vector<double>& losses = trained.losses;
      const double first = losses[0] + losses[1] + losses[2], last = losses[17] + losses[18] + losses[19];
      INFO(first << " to " << last);
      CHECK(last < 0.95 * first);
      if (clips) CHECK(Difference(trained, all.back()) != "");
      all.push_back(std::move(trained));
    }
  }
}

}  // namespace spillway
