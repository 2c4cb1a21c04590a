// What the models of published machines should reach.
#include <catch2/catch.hpp>

#include "calibrate/accuracy/targets.h"
#include "tests/calibrate/toy_forms.h"

using namespace spillway;

namespace {

struct Held {
  std::vector<Sample> samples;
  FitResult fit;
  // `ratio`: predicted over measured.
  void Add(Sample sample, double ratio) {
    sample.microseconds = 100;
    HeldOut h;
    h.sample = static_cast<int>(samples.size());
    h.predicted_us = 100 * ratio;
    h.own_error = 0.1;
    fit.held_out.push_back(h);
    samples.push_back(std::move(sample));
  }
};

Sample On(Sample sample, const std::string& device, const std::string& harness) {
  sample.device = device;
  sample.harness = harness;
  return sample;
}

}  // namespace

TEST_CASE("samples are held to the target of their device and harness") {
  Held held;
  // DeepBench's convolutions on a P100: at most 18 % at the median, 50 % at the 90th percentile.
  for (int i = 0; i < 10; ++i) held.Add(On(toy::Convolution(1, 8), "P100-PCIE-16GB", "deepbench"), i < 5 ? 1.1 : 1.45);
  held.Add(On(toy::Convolution(1, 8), "unheard of", "deepbench"), 9);
  held.Add(On(toy::Convolution(1, 8), "P100-PCIE-16GB", "unheard of"), 9);
  std::vector<TargetResult> results = CheckTargets(held.samples, held.fit);
  REQUIRE(results.size() == 1);
  CHECK(results[0].samples == 10);
  CHECK(results[0].device == "P100-PCIE-16GB");
  CHECK(results[0].median == Approx(0.1));
  CHECK(results[0].p90 == Approx(0.45));
  CHECK(results[0].Met());
  // Half-precision rows are a result of their own.
  Sample half = On(toy::Convolution(1, 8), "P100-PCIE-16GB", "deepbench");
  half.launch.math = MathMode::kFp16;
  held.Add(half, 2);
  results = CheckTargets(held.samples, held.fit);
  REQUIRE(results.size() == 2);
  CHECK(results[0].math == "fp16");
  CHECK_FALSE(results[0].Met());
}

TEST_CASE("only large tensors count as memory-bound") {
  Held held;
  Sample relu;
  relu.what = SampleKind::kKernel;
  relu.device = "any";
  relu.launch.kind = OpKind::kRelu;
  relu.launch.shape.in = {.n = 1, .c = 15'999'999, .d = 1, .h = 1, .w = 1};  // 4 bytes short of 64 MB
  held.Add(relu, 2);
  CHECK(CheckTargets(held.samples, held.fit).empty());
  CHECK(TargetsMarkdown(held.samples, held.fit).empty());
  relu.launch.shape.in.c = 16'000'000;
  held.Add(relu, 1.05);
  REQUIRE(CheckTargets(held.samples, held.fit).size() == 1);
  CHECK(CheckTargets(held.samples, held.fit)[0].Met());
}

TEST_CASE("workspaces of single algorithms are compared with the formulas") {
  Held held;
  // im2col of 9 x 64 values for 14 x 14 pixels of 100 images: 45 158 400 bytes.
  Sample gemm = On(toy::WithAlgorithm(toy::Convolution(100, 64), "gemm"), "P100", "bench");
  for (const Bytes measured : {45'158'400, 47'000'000, 48'000'000}) {  // exact, rounded by an allocator, too far
    gemm.workspace = measured;
    held.Add(gemm, 1);
  }
  gemm.workspace = -1;  // not known
  held.Add(gemm, 1);
  const WorkspaceResult result = CheckWorkspaces(held.samples, held.fit);
  CHECK(result.samples == 3);
  CHECK(result.close == 2);
}

TEST_CASE("the table says what is met, intervals included") {
  Held held;
  for (int i = 0; i < 10; ++i) {
    // An 80 % interval of own errors of 0.1 reaches 1.2816 x 0.1 far: 12 % is inside, 20 % outside.
    held.Add(On(toy::Convolution(1, 8), "V100-SXM2-16GB", "deepbench"), i < 8 ? 1.12 : 1.2);
  }
  const std::string text = TargetsMarkdown(held.samples, held.fit);
  INFO(text);
  CHECK(text.find(
            "| convolution, three passes | V100-SXM2-16GB deepbench fp32 | 10 | 18.0 / 50.0 | 12.0 / 20.0 | yes |") !=
        std::string::npos);
  CHECK(text.find("| within the stated 80 % interval | all | 10 | 75 to 85 % | 80.0 % | yes |") != std::string::npos);
  CHECK(text.find("left out") == std::string::npos);
  // Of a source left out the model's error counts, too: hypot(0.1, 0.15) reaches 23 % and holds all of them.
  held.fit.outside = held.fit.held_out;
  for (HeldOut& h : held.fit.outside) h.shared_error = 0.15;
  CHECK(
      TargetsMarkdown(held.samples, held.fit)
          .find(
              "| within the stated 80 % interval | networks and sources left out, with the model's error | 10 | 75 to "
              "85 % | 100.0 % | **no** |") != std::string::npos);
}
