// Samples that are too few, repeated, mixed or of no use: what is refused, what is said.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "hw/text/document.h"
#include "tests/calibrate/toy_fit.h"

using namespace spillway;
using namespace spillway::toy;

TEST_CASE("mixed, missing and unknown devices are refused by name") {
  std::vector<Sample> samples = BestOfBoth();
  samples[0].device = "other";
  FitOptions options = Options();
  options.devices.clear();
  CHECK_THROWS_WITH(Fit(samples, options), Catch::Contains("other") && Catch::Contains("toy"));
  options.devices = {{"tov", toy::kChip}};
  CHECK_THROWS_WITH(Fit(samples, options), Catch::Contains("'tov'") && Catch::Contains("toy"));
  CHECK_THROWS_AS(Fit(std::vector<Sample>{}, Options()), UserError);
  for (Sample& s : samples) s.microseconds = 0;
  CHECK_THROWS_AS(Fit(samples, Options()), UserError);
}

TEST_CASE("three samples of one layer keep the prior, warn, and leave wide errors") {
  std::vector<Sample> samples;
  for (const std::int64_t n : {1, 2, 4}) {
    samples.push_back(toy::WithAlgorithm(toy::Convolution(n, 64), "implicit_gemm"));
    samples.back().microseconds = Steady(samples.back(), 0.6, 2000) / 1000;
  }
  const FitResult fit = Fit(samples, Options());
  CHECK(Warns(fit, "3 samples of 1 layer only"));
  CHECK(Warns(fit, "no cross-validation"));
  const KernelModel& steady = ModelNamed(fit, "steady");
  CHECK(steady.own_error >= 0.2);
  CHECK(steady.shared_error >= 0.1);
  CHECK(steady.parameters[0].value > 0.4);
  CHECK(steady.parameters[0].value < 0.75);
  CHECK(fit.models.size() == 1);  // nothing is known of fast
  CHECK(Warns(fit, "no model of winograd"));
  CHECK(fit.held_out.empty());
}

TEST_CASE("few samples that leave a parameter open say what stands in for them") {
  // One layer of next to no work: its time tells the fixed part and nothing of the efficiency.
  std::vector<Sample> samples(2, toy::WithAlgorithm(toy::Convolution(1, 2), "implicit_gemm"));
  samples[1].launch.shape.in.n = samples[1].launch.shape.out.n = 2;
  for (Sample& s : samples) s.microseconds = 2 + Steady(s, 0.5, 0) / 1000;
  const KernelModel steady = ModelNamed(Fit(samples, Options()), "steady");
  CHECK(steady.parameters[0].value == Approx(0.5).epsilon(0.05));
  CHECK(steady.shared_error > 0.1);
}

TEST_CASE("repeated measurements that disagree are named and widen the errors") {
  std::vector<Sample> samples;
  for (const Sample& layer : Layers()) {
    for (const double factor : {samples.empty() ? 0.69 : 0.7, 1.4}) {  // the first pair is furthest apart
      samples.push_back(toy::WithAlgorithm(layer, "implicit_gemm"));
      samples.back().microseconds = factor * Steady(layer, 0.8, 5000) / 1000;
      samples.back().line = static_cast<int>(samples.size()) + 1;
    }
  }
  const FitResult fit = Fit(samples, Options());
  CHECK(Warns(fit, "were measured more than once"));
  CHECK(Warns(fit, "lines 2 and 3"));
  // Half the logarithm of their ratio is 0.35; an 80 % interval of 1.28 deviations must hold that.
  CHECK(ModelNamed(fit, "steady").own_error > 0.2);
}

TEST_CASE("published samples make published models, and what no form describes is counted") {
  std::vector<Sample> samples = BestOfBoth();
  for (Sample& s : samples) s.source = "Somebody (Journal, 2020); table 1";
  samples.push_back(toy::WithAlgorithm(samples[3], "fft"));
  samples.back().best = false;
  samples.push_back(samples[3]);
  samples.back().launch.type = DataType::kFp16;
  const FitResult fit = Fit(samples, Options());
  CHECK(ModelNamed(fit, "steady").source.kind == Source::Kind::kPublished);
  CHECK(ModelNamed(fit, "steady").source.text.find("Somebody (Journal, 2020)") != std::string::npos);
  CHECK(ModelNamed(fit, "steady").source.text.find("table 1") == std::string::npos);
  CHECK(Warns(fit, "2 of "));
}

TEST_CASE("convolutions on halves change no model of others, and those in NHWC have none") {
  std::vector<Sample> samples;
  for (const Sample& layer : Layers()) {
    samples.push_back(toy::WithAlgorithm(layer, "implicit_gemm"));
    samples.back().microseconds = Steady(layer, 0.6, 3000) / 1000;
  }
  const FitResult single = Fit(samples, Options());
  const std::size_t singles = samples.size();
  std::vector<Sample> halves;
  for (std::size_t k = 0; k < singles; ++k) {
    halves.push_back(samples[k]);
    halves.back().launch.type = DataType::kFp16;
    halves.back().launch.math = MathMode::kFp16;
    halves.back().microseconds /= 3;
  }
  samples.insert(samples.end(), halves.begin(), halves.end());
  const FitResult both = Fit(samples, Options());
  REQUIRE(both.models.size() == single.models.size() + 1);
  CHECK(std::equal(single.models.begin(), single.models.end(), both.models.begin()));
  for (Sample& half : halves) {
    half.launch.layout = Layout::kNhwc;
    half.microseconds /= 2;
  }
  samples.insert(samples.end(), halves.begin(), halves.end());
  const FitResult all = Fit(samples, Options());
  CHECK(all.models == both.models);
  CHECK(Warns(all, fmt::format("{} samples of convolutions in NHWC are left out", singles)));
}
