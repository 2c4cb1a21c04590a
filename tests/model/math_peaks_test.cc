// Peaks by math mode: in profiles, and in the times of products.
#include "hw/machine/math_peaks.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "hw/machine/chips.h"
#include "model/cost/cost_model.h"
#include "tests/kernel_models.h"
#include "tests/profile_text.h"
#include "tests/small_profile.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

using Catch::Contains;

std::string WithPeak(const std::string& peak) { return With("peak: 10 TFLOP/s", "peak: " + peak); }

// The time is that of operations: 2 x 100 x 100 x 1000 of them, and next to no bytes at this bandwidth.
Launch Product(MathMode math) {
  return {.kind = OpKind::kLinear, .shape = {.in = {.n = 1000, .c = 100}, .out = {.n = 1000, .c = 100}}, .math = math};
}
constexpr Nanos kOperations = 20'000'000;

Machine WithTensorCores(const std::vector<CostLaw>& laws = {}) {
  Machine machine = LoadMachine("unit");
  machine.devices[0].memory_bandwidth = 1e9;
  machine.devices[0].math_peaks = {.tf32 = 8, .fp16 = 20};
  machine.devices[0].laws = laws;
  return machine;
}

}  // namespace

TEST_CASE("a peak is a number, which is fp32's, or a map by math mode") {
  const Device plain = ParseMachine(kSmall, "small.yaml").devices[0];
  CHECK_FALSE(plain.math_peaks.Any());
  CHECK(plain.PeakOf(MathMode::kFp16) == 10000);
  CHECK_FALSE(plain.StatesPeakOf(MathMode::kFp16));

  const Machine machine = ParseMachine(
      WithPeak("{fp32: 10 TFLOP/s, tf32: 80 TFLOP/s, bf16: 160 TFLOP/s, source: {published: a sheet}}"), "small.yaml");
  const Device& device = machine.devices[0];
  CHECK(device.peak_flops == 10000);
  CHECK(device.PeakOf(MathMode::kFp32) == 10000);
  CHECK(device.PeakOf(MathMode::kTf32) == 80000);
  CHECK(device.PeakOf(MathMode::kBf16) == 160000);
  CHECK(device.PeakOf(MathMode::kFp16) == 10000);  // not stated
  CHECK(device.StatesPeakOf(MathMode::kFp32));
  CHECK(device.StatesPeakOf(MathMode::kBf16));
  CHECK_FALSE(device.StatesPeakOf(MathMode::kFp16));
  CHECK(device.math_source == Source{Source::Kind::kPublished, "a sheet"});
  CHECK(Reread(machine).devices[0].math_peaks == device.math_peaks);
}

TEST_CASE("wrong peaks are told with their place and the nearest mode") {
  const auto error = [](const std::string& peak) {
    return ErrorOf([&] { ParseMachine(WithPeak(peak), "small.yaml"); });
  };
  CHECK_THAT(error("{fp32: 1 TFLOP/s, tf23: 8 TFLOP/s, source: {assumed: x}}"),
             Contains("small.yaml:10:") && Contains("unknown key 'tf23' in peak; did you mean 'tf32'?"));
  CHECK_THAT(error("{fp32: 1 TFLOP/s, fp8: 8 TFLOP/s, source: {assumed: x}}"), Contains("unknown key 'fp8' in peak"));
  CHECK_THAT(error("{tf32: 8 TFLOP/s, source: {assumed: x}}"), Contains("missing key 'fp32' in peak"));
  CHECK_THAT(error("{fp32: 1 TFLOP/s, tf32: 8 TFLOP/s}"), Contains("missing key 'source' in peak"));
  CHECK_THAT(error("{fp32: 1 TFLOP/s, tf32: 8, source: {assumed: x}}"), Contains("'8' has no unit"));
  CHECK_THAT(error("{fp32: 0 TFLOP/s, source: {assumed: x}}"), Contains("fp32: must be more than zero"));
  CHECK_THAT(error("{fp32: 1 TFLOP/s, bf16: 0 TFLOP/s, source: {assumed: x}}"),
             Contains("bf16: must be more than zero"));
  CHECK_THAT(error("0 TFLOP/s"), Contains("peak: must be more than zero"));
  CHECK_THAT(error("[1 TFLOP/s]"), Contains("peak: expected"));
}

TEST_CASE("a chip's peaks are read the same way") {
  const auto chips = ParseChips(
      "chips:\n  - {name: A, peak: {fp32: 1 TFLOP/s, fp16: 8 TFLOP/s, source: {published: b}}, memory_bandwidth: 1 "
      "GB/s,\n"
      "     multiprocessors: 4, boost_mhz: 1000, l2_cache: 1 MiB, memory: 8 GiB, source: {published: a}}\n",
      "c.yaml");
  CHECK(chips[0].peak_flops == 1000);
  CHECK(chips[0].math_peaks == MathPeaks{.fp16 = 8000});
  CHECK(chips[0].source.text == "a");
  CHECK(chips[0].math_source.text == "b");
}

TEST_CASE("math modes are found by their names") {
  for (const MathMode mode : {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16, MathMode::kBf16}) {
    CHECK(MathModeByName(MathModeName(mode)) == mode);
  }
  CHECK(MathModeByName("fp8") == std::nullopt);
}

TEST_CASE("the roofline of a product takes the peak of its math mode, and says where that is fp32's") {
  const Machine machine = WithTensorCores();
  const CostModel costs(machine);
  const auto how = [&](MathMode mode) { return std::string(costs.Kernel(Product(mode)).how); };
  CHECK(costs.Kernel(Product(MathMode::kFp32)).time == kOperations);
  CHECK(costs.Kernel(Product(MathMode::kTf32)).time == kOperations / 8);
  CHECK(costs.Kernel(Product(MathMode::kFp16)).time == kOperations / 20);
  CHECK(costs.Kernel(Product(MathMode::kBf16)).time == kOperations);
  CHECK(how(MathMode::kFp32) == "roofline");
  CHECK(how(MathMode::kTf32) == "roofline");
  CHECK(how(MathMode::kBf16) == "roofline of fp32");
  CHECK(costs.Kernel(Product(MathMode::kBf16)).source == Source::Kind::kAssumed);
  CHECK(costs.Kernel(Product(MathMode::kTf32)).source == Source::Kind::kAssumed);
}

TEST_CASE("tensor cores speed up products alone") {
  Machine machine = WithTensorCores();
  machine.devices[0].memory_bandwidth = 1;
  machine.devices[0].peak_flops = 1e-3;  // so that operations bind even of ReLU
  Launch relu{.kind = OpKind::kRelu, .shape = {.in = {.n = 100}, .out = {.n = 100}}};
  const CostModel costs(machine);
  const Nanos time = costs.Kernel(relu).time;
  relu.math = MathMode::kTf32;
  CHECK(costs.Kernel(relu).time == time);
  CHECK(std::string(costs.Kernel(relu).how) == "roofline");
}

TEST_CASE("a law of fp32 answers for other arithmetic at that peak, where it is stated") {
  CostLaw law;
  law.op = OpKind::kLinear;
  law.flop_fraction = 0.5;
  law.source = {Source::Kind::kPublished, "p"};
  const Machine machine = WithTensorCores({law});
  const CostModel costs(machine);
  CHECK(costs.Kernel(Product(MathMode::kFp32)).time == 2 * kOperations);
  CHECK(std::string(costs.Kernel(Product(MathMode::kFp32)).how) == "law");
  const Cost tf32 = costs.Kernel(Product(MathMode::kTf32)), bf16 = costs.Kernel(Product(MathMode::kBf16));
  CHECK(tf32.time == 2 * kOperations / 8);
  CHECK(std::string(tf32.how) == "law of fp32, peak scaled");
  CHECK(tf32.source == Source::Kind::kAssumed);
  CHECK(tf32.error >= 0.5);
  CHECK(bf16.time == 2 * kOperations);
  CHECK(std::string(bf16.how) == "law of fp32");
  CHECK(bf16.source == Source::Kind::kAssumed);
}

TEST_CASE("a model of fp32 answers for other arithmetic at that peak; one fitted to it keeps its own rates") {
  Machine machine = LoadMachine("a100-pcie4");
  const auto time = [&](MathMode math, DataType type) {
    Launch launch{.kind = OpKind::kLinear,
                  .shape = {.in = {.n = 8192, .c = 8192}, .out = {.n = 8192, .c = 8192}},
                  .type = type,
                  .math = math};
    return CostModel(machine).Kernel(launch);
  };
  const Cost fp32 = time(MathMode::kFp32, DataType::kFp32), tf32 = time(MathMode::kTf32, DataType::kFp32);
  CHECK(std::string(tf32.how).starts_with("model"));
  CHECK(tf32.source == Source::Kind::kAssumed);
  CHECK(tf32.time < fp32.time / 3);
  CHECK(tf32.time > fp32.time / 9);  // the peak is 8 times that of fp32
  const Cost fp16 = time(MathMode::kFp16, DataType::kFp16);
  const Cost bf16 = time(MathMode::kBf16, DataType::kBf16);
  machine.devices[0].math_peaks = {};
  CHECK(time(MathMode::kFp32, DataType::kFp32).time == fp32.time);
  CHECK(time(MathMode::kTf32, DataType::kFp32).time == fp32.time);
  CHECK(time(MathMode::kFp16, DataType::kFp16).time == fp16.time);
  CHECK(time(MathMode::kBf16, DataType::kBf16).time > bf16.time);
}

}  // namespace spillway
