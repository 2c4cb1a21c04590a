#include "calibrate/fit/fit.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/fit/layout.h"
#include "tests/calibrate/toy_fit.h"

using namespace spillway;
using namespace spillway::toy;

TEST_CASE("known algorithms give back the parameters that made the times") {
  std::vector<Sample> samples;
  for (const Sample& layer : Layers()) {
    samples.push_back(toy::WithAlgorithm(layer, "implicit_gemm"));
    samples.back().microseconds = Steady(layer, 0.8, 5000) / 1000;
    samples.push_back(toy::WithAlgorithm(layer, "winograd"));
    samples.back().microseconds = Fast(layer, 0.3, 15000) / 1000;
  }
  const FitResult fit = Fit(samples, Options());
  REQUIRE(fit.models.size() == 2);
  const KernelModel& steady = ModelNamed(fit, "steady");
  CHECK(steady.op == OpKind::kConvolution);
  CHECK(steady.pass == Pass::kForward);
  CHECK(steady.algorithm == "implicit_gemm");
  CHECK(steady.parameters[0].name == "efficiency");
  CHECK(steady.parameters[0].value == Approx(0.8).epsilon(0.01));
  CHECK(steady.parameters[1].value == Approx(5000).epsilon(0.02));
  CHECK(ModelNamed(fit, "fast").parameters[0].value == Approx(0.3).epsilon(0.01));
  CHECK(ModelNamed(fit, "fast").parameters[1].value == Approx(15000).epsilon(0.02));
  CHECK(steady.source.kind == Source::Kind::kMeasured);
  CHECK(steady.own_error < 0.15);  // the fit is exact; what is left is what few samples leave open
  CHECK(fit.held_out.size() == samples.size());
  CHECK(MedianError(fit, samples) < 0.02);
  CHECK(fit.floors.empty());
  // Smallest and largest work: 2 x 9 x 8^2 x 196 flops, and the widest layer at batch 64.
  CHECK(steady.least_work == Approx(2.0 * 9 * 64 * 196));
}

TEST_CASE("the fastest of unknown algorithms is taken apart") {
  const std::vector<Sample> samples = BestOfBoth();
  const FitResult fit = Fit(samples, Options());
  CHECK(MedianError(fit, samples) < 0.03);
  CHECK(ModelNamed(fit, "fast").parameters[0].value == Approx(0.35).epsilon(0.1));
  int fast = 0;
  for (const HeldOut& h : fit.held_out) fast += h.algorithm == "winograd" ? 1 : 0;
  CHECK(fast > 5);
  CHECK(fast < static_cast<int>(samples.size()) - 5);
}

TEST_CASE("a workspace limit rules algorithms out") {
  std::vector<Sample> samples = BestOfBoth();
  for (Sample& s : samples) {
    s.launch.workspace = 500;  // fast wants 1000
    s.microseconds = Steady(s, 0.4, 1000) / 1000;
  }
  const FitResult fit = Fit(samples, Options());
  CHECK(MedianError(fit, samples) < 0.02);
  for (const HeldOut& h : fit.held_out) CHECK(h.algorithm == "implicit_gemm");
  CHECK(fit.models.size() == 1);
  CHECK(Warns(fit, "no model of winograd"));
}

TEST_CASE("what an autotuner did not choose was not faster") {
  // Steady was chosen everywhere. At the forms' start values fast would take about half the time.
  std::vector<Sample> samples;
  for (const Sample& layer : Layers()) {
    samples.push_back(toy::WithAlgorithm(layer, "implicit_gemm"));
    samples.back().best = true;
    samples.back().microseconds = Steady(layer, 0.5, 2000) / 1000;
  }
  const FitResult fit = Fit(samples, Options());
  const KernelModel& fast = ModelNamed(fit, "fast");
  const std::vector<double> parameters = {fast.parameters[0].value, fast.parameters[1].value};
  int faster = 0;
  for (const Sample& s : samples) {
    faster += toy::FastTime(s.launch, toy::kChip, parameters) < 900 * s.microseconds ? 1 : 0;
  }
  CHECK(faster <= 2);
}

TEST_CASE("what the harness adds is kept out of the kernel") {
  std::vector<Sample> samples;
  const std::vector<Sample> layers = Layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    samples.push_back(toy::WithAlgorithm(layers[i], "implicit_gemm"));
    samples.back().harness = "framework";
    // 20 us at the first sample, 80 us at the last, and no call below another 10 us.
    const double added = 20000 + 60000 * static_cast<double>(i) / static_cast<double>(layers.size() - 1);
    samples.back().microseconds =
        std::exp(Observe(std::log(Steady(layers[i], 0.7, 3000)), {added, 10000}).log_time) / 1000;
  }
  const FitResult fit = Fit(samples, Options());
  REQUIRE(fit.floors.size() == 1);
  CHECK(fit.floors[0].harness == "framework");
  CHECK(fit.floors[0].op == OpKind::kConvolution);
  CHECK(fit.floors[0].first_added_ns == Approx(20000).epsilon(0.2));
  CHECK(fit.floors[0].last_added_ns == Approx(80000).epsilon(0.15));  // 39 samples against a prior without drift
  CHECK(ModelNamed(fit, "steady").parameters[0].value == Approx(0.7).epsilon(0.05));
  CHECK(ModelNamed(fit, "steady").parameters[1].value < 8000);
  CHECK(MedianError(fit, samples) < 0.05);
}

TEST_CASE("a harness whose samples are all long is taken to hide no more than a launch takes") {
  std::vector<Sample> samples;
  for (const Sample& layer : Layers()) {
    samples.push_back(toy::WithAlgorithm(layer, "implicit_gemm"));
    samples.back().harness = "events";
    samples.back().microseconds = 50 + Steady(layer, 0.7, 3000) / 1000;
  }
  const FitResult fit = Fit(samples, Options());
  REQUIRE(fit.floors.size() == 1);
  CHECK(fit.floors[0].first_ns < 15000);  // a shorter product, which nobody sampled, is not told to take 20 us
}

TEST_CASE("a harness shows its own time plus the longer of kernel and what it hides") {
  CHECK(std::exp(Observe(std::log(100.0), {0, 0}).log_time) == Approx(100));
  CHECK(std::exp(Observe(std::log(1000.0), {50, 10}).log_time) == Approx(1050));
  CHECK(std::exp(Observe(std::log(10.0), {50, 1000}).log_time) == Approx(1050));
  CHECK(std::exp(Observe(std::log(64.0), {0, 64}).log_time) == Approx(64 * std::pow(2, 1.0 / 6)));
  const Observed even = Observe(std::log(64.0), {64 * std::pow(2, 1.0 / 6), 64});
  CHECK(even.added == Approx(0.5));
  CHECK(even.kernel == Approx(0.25));
  CHECK(even.hidden == Approx(0.25));
}

TEST_CASE("siblings share models, each with its own figures") {
  FitOptions options = Options();
  options.devices.push_back({"toy 2", {.peak_flops = 3000, .memory_bandwidth = 100}});
  std::vector<Sample> samples;
  for (const Sample& layer : Layers()) {
    for (const FitDevice& device : options.devices) {
      samples.push_back(toy::WithAlgorithm(layer, "implicit_gemm"));
      samples.back().device = device.name;
      samples.back().microseconds = Steady(layer, 0.6, 4000, device.chip) / 1000;
    }
  }
  const FitResult fit = Fit(samples, options);
  CHECK(ModelNamed(fit, "steady").parameters[0].value == Approx(0.6).epsilon(0.01));
  CHECK(MedianError(fit, samples) < 0.02);
}

TEST_CASE("another device's models are priors, and stay where there are no samples") {
  FitOptions options = Options();
  options.carried_from = "Elder";
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData}) {
    KernelModel model;
    model.form = "fast";
    model.op = OpKind::kConvolution;
    model.pass = pass;
    model.algorithm = "winograd";
    model.parameters = {{"efficiency", 0.33}, {"fixed", 7000}};
    model.own_error = 0.1;
    model.source = {Source::Kind::kMeasured, "measured there"};
    options.carried.push_back(model);
  }
  std::vector<Sample> samples;
  for (const Sample& layer : Layers()) {
    samples.push_back(toy::WithAlgorithm(layer, "implicit_gemm"));
    samples.back().microseconds = Steady(layer, 0.8, 5000) / 1000;
  }
  const FitResult fit = Fit(samples, options);
  REQUIRE(fit.models.size() == 3);
  const KernelModel& fast = ModelNamed(fit, "fast");
  CHECK(fast.parameters[0].value == Approx(0.33));
  CHECK(fast.parameters[1].value == Approx(7000));
  CHECK(fast.source.kind == Source::Kind::kAssumed);
  CHECK(fast.source.text.find("carried from Elder") != std::string::npos);
  CHECK(ModelNamed(fit, "steady").source.kind == Source::Kind::kMeasured);
  const KernelModel& alone = fit.models.back();
  CHECK(alone.pass == Pass::kBackwardData);
  CHECK(alone.source.kind == Source::Kind::kAssumed);
  CHECK(alone.source.text.find("Elder") != std::string::npos);
  CHECK(alone.own_error > 0.1);

  options.carried[0].parameters.pop_back();
  CHECK_THROWS_WITH(Fit(samples, options), Catch::Contains("Elder") && Catch::Contains("'fixed'"));
}

TEST_CASE("two fits of the same samples are the same") {
  const std::vector<Sample> samples = BestOfBoth();
  const FitResult a = Fit(samples, Options()), b = Fit(samples, Options());
  CHECK(a.models == b.models);
  CHECK(a.held_out == b.held_out);
}

TEST_CASE("the largest source does not drown the others' errors") {
  // 900 samples of one source within 1 %, 30 of another off by 30 % either way, each source a stack.
  std::vector<ErrorSample> samples;
  for (int i = 0; i < 900; ++i) samples.push_back({i % 2 == 0 ? 0.01 : -0.01, 1, 0, 0, 0});
  for (int i = 0; i < 30; ++i) samples.push_back({i % 2 == 0 ? 0.3 : -0.3, 1, 1, 0, 1});
  // Half of what counts is off by 0.3, and so is the 80th percentile: 0.3 / 1.2816.
  CHECK(EstimateError(samples).own == Approx(0.234).epsilon(0.02));
}

TEST_CASE("a source is left out whole where others have more, and its errors are those of a stack not seen") {
  std::vector<Sample> samples;
  const std::vector<Sample> layers = Layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const bool small : {false, true}) {
      if (small && i / 3 % 3 != 0) continue;  // three batches of a layer; of every third layer
      samples.push_back(toy::WithAlgorithm(layers[i], "implicit_gemm"));
      samples.back().network.clear();
      samples.back().harness = small ? "small" : "large";
      samples.back().microseconds = Steady(layers[i], small ? 0.4 : 0.6, 3000) / 1000;
    }
  }
  const FitResult fit = Fit(samples, Options());
  REQUIRE(fit.outside.size() >= 12);
  double sum = 0;
  for (const HeldOut& h : fit.outside) {
    const Sample& sample = samples[static_cast<std::size_t>(h.sample)];
    CHECK(sample.harness == "small");
    sum += std::log(sample.microseconds / h.predicted_us);
  }
  // Log 1.5 of the arithmetic, which is half of these kernels' time.
  CHECK(sum / static_cast<double>(fit.outside.size()) > 0.15);
  CHECK(ModelNamed(fit, "steady").shared_error > 0.08);
}

TEST_CASE("errors shared by a stack are told from those of single samples") {
  // Stack 0 is off by +0.3, stack 1 by -0.3, each sample by +-0.1 around that.
  std::vector<ErrorSample> samples;
  for (int i = 0; i < 200; ++i) samples.push_back({(i % 2 == 0 ? 0.3 : -0.3) + (i % 4 < 2 ? 0.1 : -0.1), 1, i % 2});
  const ModelError error = EstimateError(samples);
  // Two stacks count as much as the prior of 0.05: sqrt((2 x 0.09 + 2 x 0.0025) / 4) = 0.215.
  CHECK(error.shared == Approx(0.215).epsilon(0.01));
  // |rest| = 0.1 = 1.2816 own: own = 0.078, and four samples of 0.3 among 204: sqrt((200 x 0.0061 + 4 x 0.09) / 204).
  CHECK(error.own == Approx(0.088).epsilon(0.02));
  CHECK(EstimateError({}).own == kUnknownError.own);
}
