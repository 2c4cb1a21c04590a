// Software stacks: how they are named, which one a profile stands for, and what a fit makes of two that differ.
#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/fit/group.h"
#include "tests/calibrate/toy_fit.h"

using namespace spillway;
using namespace spillway::toy;

namespace {

Launch Product(Pass pass, std::int64_t in, std::int64_t out, std::int64_t samples) {
  Launch launch;
  launch.kind = OpKind::kLinear;
  launch.pass = pass;
  launch.shape.in = {.n = samples, .c = in, .d = 1, .h = 1, .w = 1};
  launch.shape.out = {.n = samples, .c = out, .d = 1, .h = 1, .w = 1};
  return launch;
}

bool IsSpecial(const Launch& launch) { return SpecialFactor(launch, {0, 0, std::log(2.0)}) != 1; }

// Layers on two stacks, "old" at 1 / 1.5 of the arithmetic. Every second layer was measured on "old" only.
std::vector<Sample> TwoStacks() {
  std::vector<Sample> samples;
  int layer = 0;
  for (const Sample& shape : Layers()) {
    for (const bool old : {false, true}) {
      if (!old && layer / 3 % 2 == 1) continue;  // three batches each
      samples.push_back(toy::WithAlgorithm(shape, "implicit_gemm"));
      samples.back().cudnn = old ? "6.0" : "7.0";
      samples.back().microseconds = Steady(shape, old ? 0.4 : 0.6, 3000) / 1000;
    }
    ++layer;
  }
  return samples;
}

}  // namespace

TEST_CASE("a stack is what took the sample and the versions that it states") {
  Sample sample;
  CHECK(StackName(sample).empty());
  sample.cuda = "8.0.88";
  CHECK(StackName(sample) == "CUDA 8.0.88");
  sample.harness = "deepbench";
  sample.cudnn = "6.0.21";
  sample.driver = "375";
  CHECK(StackName(sample) == "deepbench, driver 375, CUDA 8.0.88, cuDNN 6.0.21");
}

TEST_CASE("newer versions are told by their numbers") {
  CHECK(IsNewer("cuDNN 7.10", "cuDNN 7.3"));
  CHECK_FALSE(IsNewer("cuDNN 7.3", "cuDNN 7.10"));
  CHECK(IsNewer("CUDA 10.1, cuDNN 7.6", "CUDA 10.0, cuDNN 7.7"));
  CHECK(IsNewer("CUDA 10.1.5", "CUDA 10.1"));
  CHECK_FALSE(IsNewer("CUDA 10.1", "CUDA 10.1"));
  CHECK(IsNewer("CUDA 010", "CUDA 9"));
}

TEST_CASE("the reference is the stack with most layers, the newer of two alike") {
  CHECK(ReferenceStack({"a 1", "a 2"}, {5, 4}) == 0);
  CHECK(ReferenceStack({"a 1", "a 2"}, {5, 5}) == 1);
  CHECK(ReferenceStack({"a 2", "a 1", "b 0"}, {5, 5, 3}) == 0);
}

TEST_CASE("a rate scales the chip's peak and bandwidth") {
  const Chip chip = WithRate(toy::kChip, {std::log(2.0), std::log(0.5), 0});
  CHECK(chip.peak_flops == Approx(2 * toy::kChip.peak_flops));
  CHECK(chip.memory_bandwidth == Approx(0.5 * toy::kChip.memory_bandwidth));
  CHECK(chip.multiprocessors == toy::kChip.multiprocessors);
}

TEST_CASE("special shapes: narrow results, results beside the tensor cores' step, strides") {
  // Result out x samples.
  CHECK(IsSpecial(Product(Pass::kForward, 1000, 1000, 31)));
  CHECK_FALSE(IsSpecial(Product(Pass::kForward, 8, 1000, 32)));
  // in x samples
  CHECK(IsSpecial(Product(Pass::kBackwardData, 8, 1000, 1000)));
  CHECK_FALSE(IsSpecial(Product(Pass::kBackwardData, 1000, 8, 1000)));
  // in x out
  CHECK(IsSpecial(Product(Pass::kBackwardFilter, 1000, 8, 1000)));
  CHECK_FALSE(IsSpecial(Product(Pass::kBackwardFilter, 1000, 1000, 8)));
  Launch half = Product(Pass::kForward, 3, 16, 16);
  half.math = MathMode::kFp16;
  CHECK_FALSE(IsSpecial(half));
  half.shape.out.n = half.shape.in.n = 17;
  CHECK(IsSpecial(half));

  Launch convolution = toy::Convolution(4, 8).launch;
  CHECK_FALSE(IsSpecial(convolution));
  convolution.shape.stride = {1, 2, 2};
  CHECK(IsSpecial(convolution));
  // Twice the speed is half the time.
  CHECK(SpecialFactor(convolution, {0, 0, std::log(2.0)}) == Approx(0.5));
  Launch relu;
  relu.kind = OpKind::kRelu;
  CHECK_FALSE(IsSpecial(relu));
}

TEST_CASE("the models are the reference's, the other stack's rates stand beside them") {
  const std::vector<Sample> samples = TwoStacks();
  const FitResult fit = Fit(samples, Options());
  // "old" has all layers, so it is the reference; "new" computes 1.5 times as fast.
  CHECK(ModelNamed(fit, "steady").parameters[0].value == Approx(0.4).epsilon(0.03));
  REQUIRE(fit.stacks.size() == 2);
  CHECK(fit.stacks[0].name == "cuDNN 7.0");
  CHECK(fit.stacks[0].op == OpKind::kConvolution);
  CHECK(fit.stacks[0].arithmetic == Approx(1.5).epsilon(0.05));
  CHECK(fit.stacks[0].memory == Approx(1));  // nothing says anything of it
  CHECK(fit.stacks[1] == SoftwareStack{"cuDNN 6.0", OpKind::kConvolution, Pass::kForward, "fp32", 1, 1, 1});
  CHECK(ModelNamed(fit, "steady").source.text.find("rates of cuDNN 6.0") != std::string::npos);
}

TEST_CASE("held-out samples are predicted at their own stack's rates, and at the reference's beside") {
  const std::vector<Sample> samples = TwoStacks();
  const FitResult fit = Fit(samples, Options());
  CHECK(MedianError(fit, samples) < 0.03);
  for (const HeldOut& h : fit.held_out) {
    const Sample& sample = samples[static_cast<std::size_t>(h.sample)];
    const double reference = Steady(sample, 0.4, 3000) / 1000;
    CHECK(h.reference_us == Approx(reference).epsilon(0.05));
    if (sample.cudnn == "6.0") CHECK(h.reference_us == h.predicted_us);
  }
}

TEST_CASE("what stacks differ by is an error of models on a stack not seen, not of one that is") {
  const FitResult two = Fit(TwoStacks(), Options());
  std::vector<Sample> same = TwoStacks();
  for (Sample& s : same) s.microseconds = Steady(s, 0.4, 3000) / 1000;
  const FitResult one = Fit(same, Options());
  // log 1.5 = 0.41 on one stack, 0 on the other and two stacks' worth of a prior of 0.05: about 0.2.
  CHECK(ModelNamed(two, "steady").shared_error > 0.12);
  CHECK(ModelNamed(one, "steady").shared_error < 0.08);
  CHECK(ModelNamed(two, "steady").own_error == Approx(ModelNamed(one, "steady").own_error).margin(0.02));
}

TEST_CASE("before any data a library may compute convolutions faster, but not move their bytes faster") {
  CHECK(StackSpread(OpKind::kLinear, MathMode::kFp32) == StackRate{0.25, 0.25, 0.25});
  CHECK(StackSpread(OpKind::kConvolution, MathMode::kFp32) == StackRate{0.1, 0.05, 0.1});
  CHECK(StackSpread(OpKind::kLinear, MathMode::kFp16) == StackRate{1, 1, 1});
  CHECK(StackSpread(OpKind::kRelu, MathMode::kFp32) == StackRate{0.05, 0.05, 0.05});
}

TEST_CASE("one stack alone has no rates") { CHECK(Fit(BestOfBoth(), Options()).stacks.empty()); }
