// Numbers to train with: what they are, number by number, and that keeping them changes none.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/ops/training_state.h"
#include "calibrate/ops/values.h"
#include "model/network/network.h"
#include "model/step/accumulate.h"
#include "model/step/training_step.h"
#include "model/unroll/unroll.h"
#include "model/util/hash.h"
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"

namespace spillway {
namespace {

constexpr std::uint64_t kSeed = 7;

std::uint64_t Pair(std::uint64_t a, std::uint64_t b) { return Hasher().Add(a).Add(b).Value(); }
float Uniform(std::uint64_t sequence, std::uint64_t index) {
  return static_cast<float>(Hasher(sequence).Add(index).Value() >> 40) / 8388608.0f - 1.0f;
}

std::vector<float> Filled(TrainingValues& values, const TrainingStep& step, int iteration, TensorId tensor) {
  std::vector<float> numbers(static_cast<std::size_t>(step.tensors[static_cast<std::size_t>(tensor)].bytes) / 4, 5.0f);
  values.Fill(iteration, tensor, std::as_writable_bytes(std::span(numbers)));
  return numbers;
}
TensorId Find(const TrainingStep& step, const std::function<bool(const Tensor&)>& is) {
  return static_cast<TensorId>(std::find_if(step.tensors.begin(), step.tensors.end(), is) - step.tensors.begin());
}

struct Values {
  TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 3}));
  TensorId input = Find(step, [](const Tensor& t) { return t.use == TensorClass::kInput; });
  TensorId weight = Find(step, [](const Tensor& t) { return t.name.ends_with(":weight"); });
  TensorId momentum = Find(step, [](const Tensor& t) { return t.use == TensorClass::kOptimizerState; });
};

TEST_CASE("every pixel is half noise of the iteration, half the picture of its sample's class") {
  const Values v;
  TrainingValues values(v.step, kSeed);
  const std::size_t pixels = 3 * 32 * 32;
  for (const int iteration : {0, 4}) {
    const auto k = static_cast<std::uint64_t>(iteration);
    const std::vector<float> numbers = Filled(values, v.step, iteration, v.input);
    REQUIRE(numbers.size() == 3 * pixels);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int32_t label = LabelOf(kSeed, k, i / pixels, 10);
      const std::uint64_t picture = Pair(Pair(kSeed, 3), static_cast<std::uint64_t>(label));
      const float expected = 0.5f * Uniform(Pair(Pair(kSeed, 2), k), i) + 0.5f * Uniform(picture, i % pixels);
      wrong += numbers[i] == expected ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

// A network of three inputs of one shape: `a` and `target`, which binary cross-entropy compares with, beside its own.
Network ThreeInputs(std::int64_t batch) {
  NetworkBuilder b("three", {.n = batch, .c = 3, .h = 2, .w = 2});
  LayerAttributes given;
  given.out_channels = 3, given.image = {1, 2, 2};
  const LayerId a = b.Add("a", "input", {}, given), target = b.Add("target", "input", {}, given);
  b.Add("loss", "bce_loss", {b.Pointwise("sum", b.AddUp("both", {kNetworkInput, a}), 3), target});
  return b.Finish();
}

TEST_CASE("further inputs have numbers of their own, and targets of binary cross-entropy are shares") {
  const TrainingStep step = BuildTrainingStep(ThreeInputs(2));
  TrainingValues values(step, kSeed);
  const auto of = [&](const std::string& name) {
    return Filled(values, step, 0, Find(step, [&](const Tensor& t) { return t.name == name; }));
  };
  const auto range = [](const std::vector<float>& numbers) {
    return std::minmax_element(numbers.begin(), numbers.end());
  };
  const std::vector<float> input = of("input"), a = of("a"), target = of("target");
  REQUIRE(input.size() == 24);
  std::size_t alike = 0;
  for (std::size_t i = 0; i < input.size(); ++i) alike += input[i] == a[i] || a[i] == 2 * target[i] - 1 ? 1 : 0;
  CHECK(alike == 0);
  CHECK(*range(a).first < 0);
  CHECK(*range(target).first >= 0);
  CHECK(*range(target).second < 1);
  CHECK(*range(target).second > *range(target).first + 0.1f);
}

TEST_CASE("parts of a batch hold what the whole batch holds, of further inputs too") {
  const TrainingStep whole = BuildTrainingStep(ThreeInputs(2)), half = BuildTrainingStep(ThreeInputs(1));
  const TrainingStep parts = Accumulated(half, 2).step;
  TrainingValues of_whole(whole, kSeed), of_parts(parts, kSeed);
  for (const std::string& name : std::vector<std::string>{"input", "a", "target"}) {
    const auto filled = [&](TrainingValues& values, const TrainingStep& step, const std::string& called) {
      return Filled(values, step, 3, Find(step, [&](const Tensor& t) { return t.name == called; }));
    };
    std::vector<float> both = filled(of_parts, parts, name);
    const std::vector<float> second = filled(of_parts, parts, name + ":part2");
    both.insert(both.end(), second.begin(), second.end());
    CHECK(both == filled(of_whole, whole, name));
  }
}

TEST_CASE("values that are only timed are the same ones, kept as far as they may be, and nobody wants results") {
  const Values v;
  const Bytes input = v.step.tensors[static_cast<std::size_t>(v.input)].bytes;
  const Bytes weight = v.step.tensors[static_cast<std::size_t>(v.weight)].bytes;
  for (const Bytes most : {TrainingValues::kMostKept, input + weight, Bytes{0}}) {
    TrainingValues fresh(v.step, kSeed), kept(v.step, kSeed, TrainingValues::Purpose::kTimes, most);
    for (int session = 0; session < 2; ++session) {
      for (const int iteration : {0, 1, 2}) {
        CHECK(Filled(kept, v.step, iteration, v.input) == Filled(fresh, v.step, iteration, v.input));
      }
      CHECK(Filled(kept, v.step, 0, v.weight) == Filled(fresh, v.step, 0, v.weight));
      CHECK(Filled(kept, v.step, 0, v.momentum) == Filled(fresh, v.step, 0, v.momentum));
    }
    CHECK(fresh.kept_bytes() == 0);
    CHECK(kept.kept_bytes() == std::min(most, most == TrainingValues::kMostKept ? 3 * input + weight : input + weight));
    CHECK(fresh.Wants(v.weight));
    CHECK_FALSE(kept.Wants(v.weight));
  }
}

}  // namespace
}  // namespace spillway
