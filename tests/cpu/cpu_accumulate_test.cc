// Steps in batch parts, carried out: several parts and one update leave the weights that the whole batch does.
#include <catch2/catch.hpp>

#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/network_builder.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/in_parts.h"
#include "tests/random_programs.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

constexpr int kIterations = 3;

// What outlives a step, without its inputs: those of parts are called otherwise.
Trained Lasting(const CpuCase& c, const Program& program) {
  Trained trained = Train(c, program, {.iterations = kIterations, .debug = true});
  for (const Tensor& tensor : c.step.tensors) {
    const bool lasts = tensor.use == TensorClass::kParameter || tensor.use == TensorClass::kOptimizerState;
    if (!lasts) trained.tensors.erase(tensor.name);
  }
  return trained;
}

// Layers that leave samples alone, in any order.
Network RandomNetwork(std::uint64_t seed) {
  Random random(seed);
  NetworkBuilder b("random", {.n = 8, .c = random.Between(1, 4), .h = 12, .w = 12});
  LayerId x = kNetworkInput;
  for (int k = 0; k < 3; ++k) {
    const std::string name = "c" + std::to_string(k);
    const LayerId conv = b.ConvolutionRelu(name, x, Square(2 * random.Between(1, 4), 3, 1, 1));
    const LayerId beside = b.Convolution(name + "_side", x, Square(4, 1));
    x = random.Below(2) == 0 ? conv : b.Concat(name + "_both", {conv, beside, conv});
    if (x == conv) x = b.Concat(name + "_side_by", {conv, beside});
    if (random.Below(2) == 0) x = b.Lrn(name + "_lrn", x);
    if (random.Below(2) == 0) x = b.MaxPool(name + "_pool", x, Square(0, 2, 2));
    if (random.Below(2) == 0) x = b.Dropout(name + "_drop", x, 0.25);
  }
  return b.Loss(b.Linear("fc", x, 5));
}

void CheckAccumulated(const Network& network, const StepOptions& options, double tolerance) {
  const CpuCase whole(network, options);
  const Trained expected = Lasting(whole, whole.InCore().program);
  REQUIRE(Says(expected) == "");
  REQUIRE(expected.tensors.size() > 2);
  for (const std::int64_t parts : {2, 3, 5, 8}) {  // of 8 samples: 3 + 3 + 2, 2 + 2 + 2 + 1 + 1
    INFO(parts << " parts");
    const CpuCase c(network, InParts(network, options, parts));
    CheckClose(expected, Lasting(c, c.InCore().program), tolerance);
  }
}

// The samples of the batch behind the first `sample`, with the step of as many.
CpuCase From(const Network& network, std::int64_t sample) {
  TrainingStep step = BuildTrainingStep(network);
  for (Op& op : step.ops) op.first_sample = sample;
  step.tensors[0].first_sample = sample;
  return CpuCase(network, std::move(step));
}

}  // namespace

// The devices draw the masks of the whole batch, part by part, so that dropout hides no mistake.
TEST_CASE("a batch in parts trains as the whole one does") {
  for (const SmallNetwork& entry : kNetworks) {
    const Network network = entry.build();
    if (NumbersOf(InParts(network, {}, 2)) == AccumulatedNumbers::kChanged) continue;
    INFO(entry.name);
    CheckAccumulated(network, StepOptionsByName(entry.options), 1e-5);
  }
}

TEST_CASE("random networks in parts train as whole ones do") {
  const char* const options[] = {"plain", "chainer", "torch"};
  for (std::uint64_t seed = 1; seed <= Cases(10u, 30u); ++seed) {
    INFO("seed " << seed);
    CheckAccumulated(RandomNetwork(seed), StepOptionsByName(options[seed % 3]), 1e-5);
  }
}

TEST_CASE("batch norm sees a part at a time, and moves its running statistics with each") {
  const Network network = ResNet();
  const CpuCase whole(network, StepOptionsByName("chainer"));
  const CpuCase c(network, InParts(network, StepOptionsByName("chainer"), 2));
  CHECK(NumbersOf(c.step) == AccumulatedNumbers::kChanged);
  const Trained expected = Lasting(whole, whole.InCore().program), parts = Lasting(c, c.InCore().program);
  REQUIRE(Says(parts) == "");
  CHECK(parts.statistics.size() == expected.statistics.size());
  CHECK(parts.statistics != expected.statistics);
  CHECK(std::abs(parts.losses[0] - expected.losses[0]) > 1e-4);
  CHECK(parts.losses[0] == Approx(expected.losses[0]).epsilon(0.2));
}

// What swaps and recomputes within each part, gradients of parameters among it.
TEST_CASE("random plans of steps in parts train as in core, bit for bit") {
  Random random(29);
  int programs = 0;
  for (const SmallNetwork& entry : kNetworks) {
    const Network network = entry.build();
    const CpuCase c(network, InParts(network, StepOptionsByName(entry.options), 2));
    const Trained reference = Train(c, c.InCore().program, {.iterations = kIterations});
    REQUIRE(Says(reference) == "");
    ForEachRandomProgram(c.step, c.costs, random, [&](const Program& program) {
      INFO(entry.name);
      const Trained trained = Train(c, program, {.iterations = kIterations, .debug = true, .shuffle_seed = 5});
      REQUIRE(Says(trained) == "");
      CHECK(Difference(trained, reference) == "");
      ++programs;
    });
  }
  CHECK(programs > 10);
}

// After one step momenta are gradients, and those of a batch are the means of what its parts have by themselves.
TEST_CASE("gradients of batch norm add up, by ops of their own") {
  const Network network = Modules();
  const CpuCase one = From(network, 0), other = From(network, network.input.n);
  const CpuCase both(network, Accumulated(BuildTrainingStep(network), 2).step);
  const auto once = [](const CpuCase& c) { return Train(c, c.InCore().program, {.iterations = 1, .debug = true}); };
  const Trained a = once(one), b = once(other), sum = once(both);
  REQUIRE(Says(sum) == "");
  CHECK(sum.losses[0] == Approx((a.losses[0] + b.losses[0]) / 2).epsilon(1e-9));
  int norms = 0;
  for (const Tensor& tensor : both.step.tensors) {
    if (tensor.use != TensorClass::kOptimizerState) continue;
    INFO(tensor.name);
    const std::vector<float> x = FloatsOf(a.tensors.at(tensor.name)), y = FloatsOf(b.tensors.at(tensor.name));
    const std::vector<float> z = FloatsOf(sum.tensors.at(tensor.name));
    float most = 0, difference = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
      most = std::max(most, std::abs(z[k]));
      difference = std::max(difference, std::abs(z[k] - (x[k] + y[k]) / 2));
    }
    CHECK(difference <= 1e-5f * most);
    norms += tensor.name.starts_with("bn_") ? 1 : 0;
  }
  CHECK(norms > 4);
}

}  // namespace spillway
