// Networks of today's layers under random plans, with ops whole and in parts: they train as in core.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "model/unroll/unroll.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/in_parts.h"
#include "tests/random_plan.h"
#include "tests/random_streams.h"
#include "tests/small_networks_today.h"

namespace spillway {
namespace {

constexpr int kIterations = 2;

// But for rounding, which is all that a bias in front of a norm gets for a gradient.
bool IsClose(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 1e-3f, difference = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    most = std::max(most, std::abs(a[k]));
    difference = std::max(difference, std::abs(a[k] - b[k]));
  }
  return a.size() == b.size() && difference <= 1e-4f * most;
}

}  // namespace

TEST_CASE("networks of today's layers train under random plans as in core") {
  Random random(61);
  std::size_t streamed = 0;
  for (const SmallNetwork& network : kNetworksToday) {
    const CpuCase c(network.build(), StepOptionsByName(network.options));
    INFO(network.name << " " << network.options);
    const Trained expected = Train(c, c.InCore().program, {.iterations = kIterations});
    REQUIRE(Says(expected) == "");
    for (int k = 0; k < Cases(3, 50); ++k) {
      Plan plan = RandomPlan(c.step, {}, 25 * random.Below(4), random);
      if (k % 3 != 0) AddRandomStreams(c.step, 50, random, plan, ExactInParts);
      streamed += plan.ops.size();
      INFO("plan " << k);
      const Trained trained = Train(c, ProvenProgram(c, plan), {.iterations = kIterations, .debug = k % 2 == 0});
      REQUIRE(Says(trained) == "");
      CHECK(Difference(expected, trained) == "");
    }
  }
  INFO(streamed << " ops in parts");
  CHECK(streamed > Cases(100u, 1000u));
}

TEST_CASE("a batch of today's layers in parts trains as the whole one does") {
  for (const SmallNetwork& entry : kNetworksToday) {
    const Network network = entry.build();
    const StepOptions& options = StepOptionsByName(entry.options);
    if (NumbersOf(InParts(network, options, 2)) == AccumulatedNumbers::kChanged) continue;  // batch norm
    INFO(entry.name << " " << entry.options);
    const CpuCase whole(network, options);
    const Trained expected = Train(whole, whole.InCore().program, {.iterations = kIterations});
    for (const std::int64_t parts : {2, 3}) {
      const CpuCase c(network, InParts(network, options, parts));
      Trained trained = Train(c, c.InCore().program, {.iterations = kIterations});
      REQUIRE(Says(trained) == "");
      for (const Tensor& tensor : whole.step.tensors) {
        if (tensor.use != TensorClass::kParameter) continue;
        INFO(tensor.name);
        CHECK(IsClose(FloatsOf(expected.tensors.at(tensor.name)), FloatsOf(trained.tensors.at(tensor.name))));
      }
    }
  }
}

TEST_CASE("the backward pass of a norm, which sums over samples, runs whole") {
  const CpuCase c(Normed(), StepOptionsByName("torch-2"));
  Random random(67);
  int norms = 0;
  for (OpId op = 0; op < static_cast<OpId>(c.step.ops.size()); ++op) {
    const Op& o = c.step.ops[Index(op)];
    if (o.kind != OpKind::kGroupNorm && o.kind != OpKind::kLayerNorm) continue;
    CHECK(HasSampleParts(o) == (o.pass == Pass::kForward));
    if (o.pass == Pass::kForward) continue;
    Plan plan = RandomPlan(c.step, {}, 0, random);
    plan.ops.push_back({.op = op, .parts = RandomParts(o.shape.in.n, random), .streamed = {o.reads[0]}});
    const std::vector<std::string> mistakes = CheckPlan(plan, c.step);
    REQUIRE_FALSE(mistakes.empty());
    CHECK_THAT(mistakes[0], Catch::Contains("runs whole only"));
    ++norms;
  }
  CHECK(norms == 6);
}

TEST_CASE("networks of today's layers learn") {
  const CpuCase c(Normed(), StepOptionsByName("torch-2"));
  const Trained trained = Train(c, c.InCore().program, {.iterations = 20});
  REQUIRE(Says(trained) == "");
  const std::vector<double>& losses = trained.losses;
  REQUIRE(losses.size() == 20);
  const double first = (losses[0] + losses[1] + losses[2]) / 3, last = (losses[17] + losses[18] + losses[19]) / 3;
  INFO(first << " to " << last);
  CHECK(last < 0.9 * first);
}

}  // namespace spillway
