// The laws of a processor's kernels: what all have in common, passes over tensors, products; what they serve.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "calibrate/fit/fit.h"
#include "model/kernels/cpu_conv.h"
#include "model/kernels/cpu_cost.h"
#include "tests/cpu_forms.h"

namespace spillway {

TEST_CASE("traffic falls from the rate of the cache to that of the memory, half way where the cache is full") {
  const std::vector<double> values = StartValues(kCpuCacheRows, {{"cache_gain", 3}, {"cache_share", 0.4}});
  const ParameterValues<kCpuCacheRows> cache(values);  // 400 bytes
  CHECK(CpuTraffic(100, 1e-6, kChip, 0.5, cache) == Approx(100 / 0.5 / 4));
  CHECK(CpuTraffic(100, 400, kChip, 0.5, cache) == Approx((50 + 50 / 4.0) / 0.5));
  CHECK(CpuTraffic(100, 1200, kChip, 0.5, cache) == Approx((90 + 10 / 4.0) / 0.5));  // a tenth: 1 / (1 + 3 x 3)
  CHECK(CpuTraffic(100, 1e9, kChip, 0.5, cache) == Approx(200));
}

TEST_CASE("passes over tensors: bytes at the memory's rate, planes and added elements on top") {
  const KernelForm form = CpuStreamingForm();
  // 2 samples of 10 channels of 5x5: 500 elements, 2000 bytes, 20 planes. Arithmetic for nothing.
  const Shape shape{.n = 2, .c = 10, .h = 5, .w = 5};
  const Values plain = With(kNoCache, {{"fixed", 100},
                                       {"bandwidth_fraction", 0.5},
                                       {"plane_cost", 7},
                                       {"operation_rate", 1e9},
                                       {"accumulate_cost", 3}});
  const auto time = [&](OpKind kind, Pass pass, std::int64_t operands = 1) {
    return TimeOf(form, Square(kind, pass, shape, operands), plain);
  };
  CHECK(time(OpKind::kRelu, Pass::kForward) == Approx(100 + 4000 / 0.5));  // one run over all of it: no planes
  CHECK(time(OpKind::kAdd, Pass::kForward, 3) == Approx(100 + 8000 / 0.5));
  CHECK(time(OpKind::kBatchNorm, Pass::kForward) == Approx(100 + 140 + (6000 + 160) / 0.5));
  CHECK(time(OpKind::kBias, Pass::kBackwardBias) == Approx(100 + 140 + (2000 + 40) / 0.5));
  CHECK(time(OpKind::kUpdate, Pass::kUpdate, 3) == Approx(100 + 10000 / 0.5));
  Launch added = Square(OpKind::kRelu, Pass::kBackward, shape);
  added.accumulate = true;  // 2000 bytes more, 500 elements of 3 ns
  CHECK(TimeOf(form, added, plain) == Approx(time(OpKind::kRelu, Pass::kBackward) + 1500 + 2000 / 0.5));
}

TEST_CASE("windows cost what they look at, in both directions, and hide the smaller of traffic and arithmetic") {
  const KernelForm form = CpuStreamingForm();
  Launch pool = Square(OpKind::kMaxPool, Pass::kForward, {.n = 1, .c = 1, .h = 8, .w = 8});
  pool.shape.out.h = pool.shape.out.w = 4;
  pool.shape.window = {1, 3, 3};
  // 16 outputs of 9 comparisons and 3 more at 0.25 per ns: 768; 64 + 16 elements of 4 bytes: 320.
  const Values p = With(kNoCache, {{"bandwidth_fraction", 1}, {"plane_cost", 0}, {"operation_rate", 0.25}});
  CHECK(TimeOf(form, pool, p) == Approx(std::sqrt(768.0 * 768 + 320 * 320)));
  pool.pass = Pass::kBackward;  // input and gradient of the input, output and its gradient
  CHECK(TimeOf(form, pool, p) == Approx(std::sqrt(768.0 * 768 + 640 * 640)));
}

TEST_CASE("a product pays for what is short in each direction") {
  const std::vector<double> p = StartValues(
      kCpuProductRows, {{"efficiency", 0.5}, {"short_rows", 10}, {"short_columns", 20}, {"short_depth", 40}});
  const CpuProduct product{.rows = 10, .columns = 80, .depth = 10};
  CHECK(CpuProductTime(product, kChip, std::span(p)) == Approx(2 * 8000 / 0.5 * 2 * 1.25 * 5));
}

TEST_CASE("linear: which sizes are rows, columns and depth follows from the pass") {
  const KernelForm form = CpuLinearForm();
  Values p = With(kNoCache, {{"efficiency", 1}, {"bandwidth_fraction", 1e9}, {"weight_cost", 0}});
  for (const char* name : {"short_rows", "short_columns", "short_depth"}) p.emplace_back(name, 0);
  const double flops = 2 * 1000 * 30 * 70;
  const std::array<std::array<double, 3>, 3> sizes{{{1000, 70, 30}, {1000, 30, 70}, {70, 30, 1000}}};
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    const Launch launch = Linear(kPasses[i], 1000, 30, 70);
    CHECK(TimeOf(form, launch, p) == Approx(flops));
    CHECK(TimeOf(form, launch, With(p, {{"short_rows", 5}})) == Approx(flops * (1 + 5 / sizes[i][0])));
    CHECK(TimeOf(form, launch, With(p, {{"short_columns", 5}})) == Approx(flops * (1 + 5 / sizes[i][1])));
    CHECK(TimeOf(form, launch, With(p, {{"short_depth", 5}})) == Approx(flops * (1 + 5 / sizes[i][2])));
  }
}

TEST_CASE("linear: few samples take the time to read the weights, many that to put them in place too") {
  const KernelForm form = CpuLinearForm();
  const Values p = With(kNoCache, {{"efficiency", 1e9}, {"bandwidth_fraction", 0.5}, {"weight_cost", 2}});
  // 300 x 200 weights; of 10 samples half are put in place, of 2 next to none, of 1000 all.
  const double bytes_10 = 4.0 * (60000 + 10 * 500), bytes_1000 = 4.0 * (60000 + 1000 * 500);
  CHECK(TimeOf(form, Linear(Pass::kForward, 10, 300, 200), p) == Approx(60000 + bytes_10 / 0.5));
  CHECK(TimeOf(form, Linear(Pass::kForward, 1000, 300, 200), p) == Approx(120000 + bytes_1000 / 0.5).epsilon(1e-6));
  CHECK(TimeOf(form, Linear(Pass::kForward, 2, 300, 200), p) == Approx(4.0 * 61000 / 0.5).epsilon(2e-3));
}

TEST_CASE("what a processor's forms serve") {
  std::set<std::string> names;
  for (const KernelForm& form : KernelForms(Platform::kCpu)) {
    names.insert(form.name);
    CHECK(form.platform == Platform::kCpu);
    CHECK(FindKernelForm(form.name) != nullptr);
  }
  CHECK(names == std::set<std::string>{"cpu_direct", "cpu_winograd", "cpu_gemm", "cpu_linear", "cpu_streaming"});
  for (const Pass pass : kPasses) {
    std::vector<std::string> algorithms;
    for (const KernelForm& form : KernelForms(Platform::kCpu)) {
      for (const char* name : form.algorithms(OpKind::kConvolution, pass)) algorithms.emplace_back(name);
    }
    CHECK(algorithms == std::vector<std::string>{"direct", "winograd", "gemm"});
    for (const std::string& name : algorithms) CHECK(AlgorithmByName(OpKind::kConvolution, pass, name) > 0);
  }
  // Each op and pass of a step without a choice of algorithms has one form.
  for (const auto& [kind, pass] : {std::pair{OpKind::kBias, Pass::kForward},
                                   {OpKind::kBias, Pass::kBackwardBias},
                                   {OpKind::kRelu, Pass::kForward},
                                   {OpKind::kSoftmaxLoss, Pass::kBackward},
                                   {OpKind::kLinear, Pass::kBackwardFilter},
                                   {OpKind::kUpdate, Pass::kUpdate}}) {
    int forms = 0;
    for (const KernelForm& form : KernelForms(Platform::kCpu)) {
      forms += static_cast<int>(form.algorithms(kind, pass).size());
    }
    CHECK(forms == 1);
  }
}

TEST_CASE("a GPU's samples are not fitted with a processor's forms, nor the other way round") {
  for (const KernelForm& form : KernelForms(Platform::kGpu)) {
    CHECK(form.platform == Platform::kGpu);
    CHECK_FALSE(std::string(form.name).starts_with("cpu_"));
  }
  CHECK(KernelForms(Platform::kGpu).size() + KernelForms(Platform::kCpu).size() == KernelForms().size());
  std::vector<Sample> samples;
  for (const std::int64_t elements : {1000, 10000, 100000, 1000000}) {
    Sample sample;
    sample.what = SampleKind::kKernel;
    sample.device = "X";
    sample.launch = Square(OpKind::kRelu, Pass::kForward, {.w = elements});
    sample.microseconds = 5 + 0.001 * static_cast<double>(elements);
    samples.push_back(sample);
  }
  FitOptions options;
  options.devices = {{"X", kChip}};
  options.folds = 0;
  const auto form_of = [&] { return Fit(samples, options).models.at(0).form; };
  CHECK(form_of() == "elementwise");
  options.forms = KernelForms(Platform::kCpu);
  CHECK(form_of() == "cpu_streaming");
}

TEST_CASE("a device's platform is that of its models") {
  Device device;
  CHECK(PlatformOf(device) == Platform::kGpu);
  KernelModel model;
  model.form = "cpu_streaming";
  device.models.push_back(model);
  CHECK(PlatformOf(device) == Platform::kCpu);
  device.models[0].form = "elementwise";
  CHECK(PlatformOf(device) == Platform::kGpu);
}

TEST_CASE("times grow with the batch and stay positive over all parameters' ranges") {
  for (const KernelForm& form : KernelForms(Platform::kCpu)) {
    std::vector<Launch> launches = {Square(OpKind::kRelu, Pass::kForward, {.n = 2, .c = 16, .h = 8, .w = 8}),
                                    Linear(Pass::kForward, 2, 100, 50)};
    for (const Pass pass : kPasses) launches.push_back(Convolution(pass, 16, 32, 8, 3));
    for (Launch launch : launches) {
      if (form.algorithms(launch.kind, launch.pass).empty()) continue;
      for (const bool upper : {false, true}) {
        std::vector<double> parameters;
        for (const FormParameter& p : form.parameters) parameters.push_back(upper ? p.upper : p.lower);
        Launch twice = launch;
        twice.shape.in.n *= 2;
        twice.shape.out.n *= 2;
        const double one = form.time(launch, kChip, parameters), two = form.time(twice, kChip, parameters);
        INFO(form.name << " " << PassName(launch.pass));
        CHECK(one > 0);
        CHECK(two > one);
        CHECK(two < 2.5 * one);
      }
    }
  }
}

}  // namespace spillway
