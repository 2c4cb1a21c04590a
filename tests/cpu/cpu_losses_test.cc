// Losses on the CPU device: values by hand, gradients by finite differences, training, and what backward saves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "tests/cpu_step_runner.h"
#include "tests/cpu_training.h"
#include "tests/random_plan.h"

namespace spillway {
namespace {

const Shape kShape{.n = 2, .c = 3, .h = 2, .w = 2};
const std::vector<std::int32_t> kLabels{0, 1, 2, 0, 1, 2, 0, 1};

OpCall LossCall(OpKind kind, Pass pass, const LossRule& rule, double weight = 1) {
  OpCall call = Call(kind, pass, {.in = kShape, .out = LossShape(kind, kShape), .operands = 2});
  call.details.loss = rule;
  call.details.loss_weight = weight;
  return call;
}

// The gradient that `backward` makes of `saved` against differences of the loss, and that accumulation adds.
template <typename Loss>
void CheckSlopes(CpuKernels& kernels, OpCall backward, const std::vector<Values>& saved, Loss loss, const Values& x) {
  const CpuArguments arguments{.labels = kLabels};
  const auto one = [&](const Values& at) { return Values{static_cast<float>(loss(at))}; };
  const Values got = Result(kernels, backward, saved, Values(x.size(), NAN), arguments);
  CHECK(Difference(got, NumericGradient(one, x, {1}, 0.02f)) < 3e-3);
  backward.launch.accumulate = true;
  Values sum = RandomValues(x.size(), 9);
  const Values before = sum;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += got[i];
  CHECK(Difference(Result(kernels, backward, saved, before, arguments), sum) < 1e-6);
}

double PairLossAt(CpuKernels& kernels, const LossRule& rule, const Values& x, const Values& t) {
  const Values each = Result(kernels, LossCall(OpKind::kPairLoss, Pass::kForward, rule), {x, t}, Values(2, NAN));
  return LossOf(OpKind::kPairLoss, rule, LossShape(OpKind::kPairLoss, kShape), each, {});
}

// An encoder and a decoder; `loss` compares the result with the batch.
Network Autoencoder(const char* loss) {
  NetworkBuilder b("autoencoder", {.n = 6, .c = 3, .h = 8, .w = 8});
  LayerId x = b.Convolution("narrow", kNetworkInput, WithBias(Square(6, 3, 2, 1)));
  x = b.Convolution("narrower", b.Relu("relu", x), WithBias(Square(8, 3, 1, 1)));
  LayerAttributes twice;
  twice.scale = {1, 2, 2};
  x = b.Convolution("wide", b.Add("up", "resize", {b.Relu("relu2", x)}, twice), WithBias(Square(3, 3, 1, 1)));
  b.Add("loss", loss, {x, kNetworkInput});
  return b.Finish();
}

// Segmentation: Dice and cross-entropy of one head, as nnU-Net and MONAI add them up.
Network DiceAndCrossEntropy(bool independent, double smoothing) {
  NetworkBuilder b("segmentation", {.n = 6, .c = 3, .h = 8, .w = 8});
  const LayerId x = b.Convolution("conv", kNetworkInput, WithBias(Square(8, 3, 1, 1)));
  const LayerId head = b.Convolution("head", b.Relu("relu", x), WithBias(Square(4, 1)));
  LayerAttributes dice, entropy;
  dice.weight = 2;
  dice.independent = independent;
  entropy.weight = 0.5;
  entropy.smoothing = smoothing;
  b.Add("dice", "dice_loss", {head}, dice);
  b.Add("entropy", "softmax_loss", {head}, entropy);
  return b.Finish();
}

std::vector<Network> LossNetworks() {
  return {Autoencoder("mse_loss"), Autoencoder("bce_loss"), DiceAndCrossEntropy(false, 0.1),
          DiceAndCrossEntropy(true, 0)};
}

Bytes SavedBytes(const TrainingStep& step, const std::string& layer) {
  Bytes sum = 0;
  std::vector<TensorId> seen;
  for (const Op& op : step.ops) {
    if (step.layer_names[static_cast<std::size_t>(op.layer)] != layer || op.pass == Pass::kForward) continue;
    for (const TensorId t : op.reads) {
      const Tensor& tensor = step.tensors[static_cast<std::size_t>(t)];
      const bool counts = tensor.use != TensorClass::kGradient && std::find(seen.begin(), seen.end(), t) == seen.end();
      sum += counts ? tensor.bytes : 0;
      seen.push_back(t);
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("losses of two inputs: values, and gradients of both") {
  CpuKernels kernels;
  const Values x = RandomValues(kShape, 1);
  Values t = RandomValues(kShape, 2);
  for (float& value : t) value = 0.5f + 0.5f * value;
  for (const PairFunction function : {PairFunction::kMeanSquare, PairFunction::kBinaryCrossEntropy}) {
    const LossRule rule{.function = function};
    double expected = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double p = 1 / (1 + std::exp(-static_cast<double>(x[i]))), to = t[i];
      const double square = (x[i] - to) * (x[i] - to), entropy = -to * std::log(p) - (1 - to) * std::log(1 - p);
      expected += (function == PairFunction::kMeanSquare ? square : entropy) / static_cast<double>(x.size());
    }
    CHECK(PairLossAt(kernels, rule, x, t) == Approx(expected).epsilon(1e-5));
    CheckSlopes(
        kernels, LossCall(OpKind::kPairLoss, Pass::kBackwardData, rule, 0.5), {x, t},
        [&](const Values& at) { return 0.5 * PairLossAt(kernels, rule, at, t); }, x);
    CheckSlopes(
        kernels, LossCall(OpKind::kPairLoss, Pass::kBackward, rule), {x, t},
        [&](const Values& at) { return PairLossAt(kernels, rule, x, at); }, t);
  }
}

TEST_CASE("Dice loss: the probabilities' overlap with the labels, and its gradient") {
  CpuKernels kernels;
  const Values x = RandomValues(kShape, 3);
  // Two places of one class each, all right: nothing is lost. All wrong: all but the smoothing.
  const Shape two{.n = 1, .c = 2, .w = 2};
  CHECK(LossOf(OpKind::kDiceLoss, {}, two, Values{1, 0, 0, 1}, std::vector<std::int32_t>{0, 1}) ==
        Approx(0).margin(1e-9));
  CHECK(LossOf(OpKind::kDiceLoss, {}, two, Values{1, 0, 0, 1}, std::vector<std::int32_t>{1, 0}) ==
        Approx(1).margin(1e-4));
  // Half of each: 1 - 2 * 0.5 / (1 + 1).
  CHECK(LossOf(OpKind::kDiceLoss, {}, two, Values(4, 0.5f), std::vector<std::int32_t>{0, 1}) ==
        Approx(0.5).margin(1e-4));
  for (const bool independent : {false, true}) {
    const LossRule rule{.independent = independent};
    const CpuArguments arguments{.labels = kLabels};
    const auto probabilities = [&](const Values& at) {
      return Result(kernels, LossCall(OpKind::kDiceLoss, Pass::kForward, rule), {at}, Values(at.size(), NAN),
                    arguments);
    };
    CheckSlopes(
        kernels, LossCall(OpKind::kDiceLoss, Pass::kBackward, rule, 3), {probabilities(x)},
        [&](const Values& at) { return 3 * LossOf(OpKind::kDiceLoss, rule, kShape, probabilities(at), kLabels); }, x);
  }
}

TEST_CASE("smoothed labels: each class gets its share of the cross-entropy") {
  CpuKernels kernels;
  const Values x = RandomValues(kShape, 4);
  const LossRule rule{.smoothing = 0.3};
  const auto probabilities = [&](const Values& at) {
    return Result(kernels, LossCall(OpKind::kSoftmaxLoss, Pass::kForward, rule), {at}, Values(at.size(), NAN));
  };
  const auto loss = [&](const Values& at) {
    return LossOf(OpKind::kSoftmaxLoss, rule, kShape, probabilities(at), kLabels);
  };
  const Values p = probabilities(x);
  double expected = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t place = i / 12 * 4 + i % 4;
    const double share = 0.1 + (static_cast<std::size_t>(kLabels[place]) == i / 4 % 3 ? 0.7 : 0);
    expected -= share * std::log(static_cast<double>(p[i])) / 8;
  }
  CHECK(loss(x) == Approx(expected).epsilon(1e-5));
  CheckSlopes(kernels, LossCall(OpKind::kSoftmaxLoss, Pass::kBackward, rule), {p}, loss, x);
}

TEST_CASE("networks of each loss train, and their gradients are slopes") {
  for (const Network& network : LossNetworks()) {
    INFO(network.name << ' ' << network.layers.back().name);
    StepRunner run(network, {});
    run.Forward();
    run.Backward();
    const std::span<float> weight = run.Data(run.Find(network.layers[0].name + ":weight"));
    const std::span<float> gradient = run.Data(run.Find(network.layers[0].name + ":weight:gradient"));
    const Values slopes(gradient.begin(), gradient.end()), start(weight.begin(), weight.end());
    double norm = 0;
    for (const float slope : slopes) norm += static_cast<double>(slope) * slope;
    norm = std::sqrt(norm);
    const auto moved = [&](double distance) {
      for (std::size_t i = 0; i < slopes.size(); ++i)
        weight[i] = start[i] + static_cast<float>(distance * slopes[i] / norm);
      return run.LossOfForward();
    };
    CHECK((moved(0.01) - moved(-0.01)) / 0.02 == Approx(norm).epsilon(0.02));
    const double before = moved(0);
    run.learning_rate = 0.1f;
    for (int i = 0; i < 20; ++i) run.Forward(), run.Backward(), run.Update();
    CHECK(run.LossOfForward() < 0.95 * before);
    CHECK(run.BuffersIntact());
  }
}

TEST_CASE("networks of each loss train under random plans as in core") {
  Random random(71);
  for (const Network& network : LossNetworks()) {
    for (const char* options : {"plain", "torch-2"}) {
      const CpuCase c(network, StepOptionsByName(options));
      const Trained expected = Train(c, c.InCore().program, {.iterations = 2});
      REQUIRE(Says(expected) == "");
      CHECK(expected.losses.size() == 2);
      CHECK(std::isfinite(expected.losses[1]));
      for (int k = 0; k < 3; ++k) {
        const Trained trained =
            Train(c, ProvenProgram(c, RandomPlan(c.step, {}, 30 * random.Below(4), random)), {.iterations = 2});
        REQUIRE(Says(trained) == "");
        CHECK(Difference(expected, trained) == "");
      }
    }
  }
}

// The mean's share of each label, its weight 0.5 in it: minus that sum up to 0.5 over classes and places.
TEST_CASE("the gradient of the log-probabilities is written, and the scores' is the same without") {
  for (const double smoothing : {0.0, 0.1}) {
    StepRunner with(DiceAndCrossEntropy(false, smoothing), StepOptionsByName("torch-2"));
    StepRunner without(DiceAndCrossEntropy(false, smoothing), StepOptionsByName("torch"));
    for (StepRunner* run : {&with, &without}) run->Forward(), run->Backward();
    double sum = 0;
    for (const float each : with.Data(with.Find("entropy:log_probabilities:gradient"))) {
      CHECK((smoothing > 0 ? each < 0 : each <= 0));
      sum += each;
    }
    CHECK(sum == Approx(-0.5).epsilon(1e-5));
    const auto expected = without.Data(without.Find("head:weight:gradient"));
    const auto got = with.Data(with.Find("head:weight:gradient"));
    CHECK(std::equal(got.begin(), got.end(), expected.begin(), expected.end()));
  }
}

// Seen in PyTorch 2.15 and MONAI 1.6. Left out are numbers: Dice's sums, two of each sample and class, and the weights' sum.
TEST_CASE("what losses save") {
  const Bytes map = 6 * 4 * 8 * 8 * 4, image = 6 * 3 * 8 * 8 * 4;
  for (const char* loss : {"mse_loss", "bce_loss"}) {
    CHECK(SavedBytes(BuildTrainingStep(Autoencoder(loss), StepOptionsByName("torch-2")), "loss") == 2 * image);
  }
  const TrainingStep plain = BuildTrainingStep(DiceAndCrossEntropy(false, 0.1), {});
  CHECK(SavedBytes(plain, "dice") == map);
  CHECK(SavedBytes(plain, "entropy") == map);
  const TrainingStep torch = BuildTrainingStep(DiceAndCrossEntropy(false, 0.1), StepOptionsByName("torch-2"));
  CHECK(SavedBytes(torch, "dice") == 2 * map);
  CHECK(SavedBytes(torch, "entropy") == map + 6 * 8 * 8 * (8 + 1));
  const TrainingStep sharp = BuildTrainingStep(DiceAndCrossEntropy(true, 0), StepOptionsByName("torch-2"));
  CHECK(SavedBytes(sharp, "entropy") == map + 6 * 8 * 8 * 8);
}

}  // namespace spillway
