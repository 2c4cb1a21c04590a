// The laws of a processor's kernels, on a chip of 1 byte and 1 flop per nanosecond with a last cache of 1000 bytes.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/fit.h"
#include "model/kernels/cpu_conv.h"
#include "model/kernels/cpu_product.h"
#include "model/kernels/forms.h"
#include "model/model_cost.h"

namespace spillway {
namespace {

using Values = std::vector<std::pair<std::string, double>>;

constexpr Chip kChip{.peak_flops = 1, .memory_bandwidth = 1, .multiprocessors = 1, .l2_bytes = 1000};
// Caches of next to nothing: all traffic at the rate of the memory, all filters from beyond the core.
const Values kNoCache{{"fixed", 0}, {"cache_gain", 0}, {"cache_share", 1e-9}};

Values With(Values values, const Values& more) {
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

// Start values with some replaced by name, the last of equal names.
std::vector<double> Parameters(const KernelForm& form, const Values& replaced) {
  std::vector<double> values;
  for (const FormParameter& p : form.parameters) values.push_back(p.start);
  for (const auto& [name, value] : replaced) {
    bool found = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (form.parameters[i].name != name) continue;
      values[i] = value;
      found = true;
    }
    INFO(name);
    REQUIRE(found);
  }
  return values;
}

double TimeOf(const KernelForm& form, const Launch& launch, const Values& replaced, const Chip& chip = kChip) {
  REQUIRE(form.applies(launch));
  return form.time(launch, chip, Parameters(form, replaced));
}

// 2 samples, c to k channels, h x h pictures, window r, padded to keep the size.
Launch Convolution(Pass pass, std::int64_t c, std::int64_t k, std::int64_t h, std::int64_t r, std::int64_t stride = 1) {
  const std::int64_t out = (h - 1) / stride + 1;
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.pass = pass;
  launch.shape = {.in = {.n = 2, .c = c, .h = h, .w = h},
                  .out = {.n = 2, .c = k, .h = out, .w = out},
                  .window = {1, r, r},
                  .stride = {1, stride, stride},
                  .pad = {0, r / 2, r / 2}};
  return launch;
}

Launch Linear(Pass pass, std::int64_t samples, std::int64_t inputs, std::int64_t outputs) {
  return {.kind = OpKind::kLinear,
          .pass = pass,
          .shape = {.in = {.n = samples, .c = inputs}, .out = {.n = samples, .c = outputs}}};
}

Launch Square(OpKind kind, Pass pass, const Shape& shape, std::int64_t operands = 1) {
  return {.kind = kind, .pass = pass, .shape = {.in = shape, .out = shape, .operands = operands}};
}

const std::array<Pass, 3> kPasses{Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter};

}  // namespace

TEST_CASE("traffic falls from the rate of the cache to that of the memory, half way where the cache is full") {
  const CpuMemory memory{.fraction = 0.5, .cache_gain = 3, .cache_share = 0.4};  // 400 bytes
  CHECK(CpuTraffic(100, 1e-6, kChip, memory) == Approx(100 / 0.5 / 4));
  CHECK(CpuTraffic(100, 400, kChip, memory) == Approx((50 + 50 / 4.0) / 0.5));
  CHECK(CpuTraffic(100, 1200, kChip, memory) == Approx((90 + 10 / 4.0) / 0.5));  // a tenth: 1 / (1 + 3 x 3)
  CHECK(CpuTraffic(100, 1e9, kChip, memory) == Approx(200));
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
  const std::vector<double> p{0.5, 10, 20, 40};
  const CpuProduct product{.rows = 10, .columns = 80, .depth = 10};
  CHECK(CpuProductTime(product, kChip, p) == Approx(2 * 8000 / 0.5 * 2 * 1.25 * 5));
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

TEST_CASE("operands of generated code: 16 channels together, images as they are, forward all channels") {
  // 20 channels make 32, 40 make 48; 2 samples of 8x8 and 4x4 positions, 3x3 taps.
  const Launch launch = Convolution(Pass::kBackwardData, 20, 40, 8, 3, 2);
  const CpuOperands blocked = CpuOperandsOf(launch, false);
  CHECK(blocked.in.plain == 4 * 20 * 128);
  CHECK(blocked.in.blocked == 4 * 32 * 128);
  CHECK(blocked.out.blocked == 4 * 48 * 32);
  CHECK(blocked.filter == 4 * 32 * 48 * 9);
  CHECK((blocked.in.slow && blocked.out.slow));
  const CpuOperands together = CpuOperandsOf(launch, true);
  CHECK(together.in.blocked == 4 * 20 * 128);
  CHECK(together.filter == 4 * 20 * 48 * 9);
  CHECK(together.in.slow);
  CHECK_FALSE(together.out.slow);  // 16 positions: whole blocks of 16 x 16
  CHECK_FALSE(CpuOperandsOf(Convolution(Pass::kForward, 64, 64, 8, 3), false).in.slow);
  CHECK(CpuOperandsOf(Convolution(Pass::kForward, 64, 64, 8, 3), true).in.slow);
  CHECK_FALSE(CpuOperandsOf(Convolution(Pass::kForward, 16, 64, 8, 3), true).in.slow);
  // The gradient of a filter for images reads them where they lie.
  CHECK(CpuOperandsOf(Convolution(Pass::kBackwardFilter, 3, 64, 8, 3), false).in.Moved() == 0);
  CHECK(CpuOperandsOf(Convolution(Pass::kBackwardData, 3, 64, 8, 3), false).in.blocked == 4 * 16 * 128);
}

TEST_CASE("reorders read and write, longer where there are no whole blocks") {
  const CpuOperands operands = CpuOperandsOf(Convolution(Pass::kBackwardData, 20, 32, 8, 3), false);
  const double in = 4 * 128 * (20 + 32), out = 4 * 128 * (32 + 32);
  const CpuMemory memory{.fraction = 0.5, .cache_gain = 0, .cache_share = 1};
  CHECK(CpuReorderTime(operands, 0.25, kChip, memory) == Approx((1.25 * in + out) / 0.5));
}

TEST_CASE("direct convolution: flops of whole vectors, slower in short rows and with little to sum over") {
  const KernelForm form = CpuDirectForm();
  Values p = With(kNoCache, {{"efficiency", 0.5},
                             {"short_row", 0},
                             {"short_depth", 0},
                             {"filter_bandwidth", 1e9},
                             {"reorder_bandwidth", 4},
                             {"slow_reorder", 0},
                             {"filter_reorder", 0}});
  // 20 channels to 40 on 8x8: forward sums over 20 channels, gives 48. 128 positions, 9 taps.
  const double forward = 2 * 9 * 128 * 20 * 48 / 0.5;
  const double moved = 4 * 128 * (20 + 20 + 40 + 40) / 4.0;
  CHECK(TimeOf(form, Convolution(Pass::kForward, 20, 40, 8, 3), p) == Approx(forward + moved));
  CHECK(TimeOf(form, Convolution(Pass::kForward, 20, 40, 8, 3), With(p, {{"short_row", 4}})) ==
        Approx(1.5 * forward + moved));
  CHECK(TimeOf(form, Convolution(Pass::kForward, 20, 40, 8, 3), With(p, {{"short_depth", 90}})) ==
        Approx(1.5 * forward + moved));
  // The gradient of the input: 32 channels from 48.
  const double data = 2 * 9 * 128 * 32 * 48 / 0.5, data_moved = 4 * 128 * (20 + 32 + 40 + 48) / 4.0;
  CHECK(TimeOf(form, Convolution(Pass::kBackwardData, 20, 40, 8, 3), p) == Approx(data + data_moved));
  // One tap: all 64 positions of a picture are one row.
  const double one = 2 * 128 * 20 * 48 / 0.5;
  CHECK(TimeOf(form, Convolution(Pass::kForward, 20, 40, 8, 1), With(p, {{"short_row", 32}})) ==
        Approx(1.5 * one + moved));
}

TEST_CASE("direct convolution: strides make the arithmetic longer, not the reorders") {
  const KernelForm form = CpuDirectForm();
  const Values p = With(kNoCache, {{"efficiency", 1},
                                   {"short_row", 0},
                                   {"short_depth", 0},
                                   {"filter_bandwidth", 1e9},
                                   {"reorder_bandwidth", 1},
                                   {"slow_reorder", 0},
                                   {"filter_reorder", 0}});
  const double arithmetic = 2 * 9 * 32 * 16 * 16, moved = 8 * 16 * (128 + 32);  // 4x4 positions out of 8x8
  const Launch launch = Convolution(Pass::kForward, 16, 16, 8, 3, 2);
  CHECK(TimeOf(form, launch, With(p, {{"strided", 0.5}})) == Approx(1.5 * arithmetic + moved));
  CHECK(TimeOf(form, Convolution(Pass::kForward, 16, 16, 8, 3), With(p, {{"strided", 0.5}})) ==
        Approx(4 * arithmetic + 8 * 16 * 256));
}

TEST_CASE("a result that is added to is read once more") {
  for (const KernelForm& form : {CpuDirectForm(), CpuWinogradForm(), CpuGemmForm()}) {
    Launch launch = Convolution(Pass::kBackwardData, 16, 16, 8, 3);
    const bool plain = std::string(form.name) == "cpu_gemm";  // on the plain layout: nothing is reordered
    const Values p = With(kNoCache, {{plain ? "bandwidth_fraction" : "reorder_bandwidth", 0.5}});
    const double before = TimeOf(form, launch, p);
    launch.accumulate = true;
    INFO(form.name);
    CHECK(TimeOf(form, launch, p) == Approx(before + 4 * 16 * 128 / 0.5));
  }
}

TEST_CASE("direct convolution: filters beyond the core's cache come once for every sample") {
  const KernelForm form = CpuDirectForm();
  const Launch launch = Convolution(Pass::kBackwardData, 32, 32, 4, 3);
  const double filter = 4 * 32 * 32 * 9;
  const Values p = With(
      kNoCache, {{"efficiency", 1e9}, {"reorder_bandwidth", 1e9}, {"filter_bandwidth", 0.5}, {"filter_reorder", 2}});
  const double reorder = 2 * 32 * 32 * 9;
  CHECK(TimeOf(form, launch, With(p, {{"core_cache", 1}})) == Approx(reorder + 2 * filter / 0.5));
  CHECK(TimeOf(form, launch, With(p, {{"core_cache", filter}})) == Approx(reorder + filter / 0.5));  // half of them
  CHECK(TimeOf(form, launch, With(p, {{"core_cache", 1e9}})) == Approx(reorder).epsilon(1e-3));
}

TEST_CASE("Winograd: 36 products a tile of 4x4, tiles written and read, filters transformed") {
  const KernelForm form = CpuWinogradForm();
  const Values p = With(kNoCache, {{"efficiency", 0.5},
                                   {"short_depth", 0},
                                   {"short_result", 0},
                                   {"transform_bandwidth", 1e9},
                                   {"filter_transform", 0},
                                   {"reorder_bandwidth", 1e9}});
  // 9x9: 3x3 tiles, 2 samples: 18. 20 channels make 32, 40 make 48.
  const double products = 2 * 36 * 18 * 32 * 48 / 0.5;
  for (const Pass pass : kPasses) {
    const Launch launch = Convolution(pass, 20, 40, 9, 3);
    CHECK(TimeOf(form, launch, p) == Approx(products));
    const double depth = pass == Pass::kForward ? 32 : pass == Pass::kBackwardData ? 48 : 18;
    CHECK(TimeOf(form, launch, With(p, {{"short_depth", 12}})) == Approx(products * (1 + 12 / depth)));
    const double result = pass == Pass::kBackwardData ? 32 : 48;
    CHECK(TimeOf(form, launch, With(p, {{"short_result", 12}})) == Approx(products * (1 + 12 / result)));
    CHECK(TimeOf(form, launch, With(p, {{"filter_transform", 3}})) == Approx(products + 3 * 32 * 48));
    CHECK(TimeOf(form, launch, With(p, {{"transform_bandwidth", 0.25}})) ==
          Approx(products + 2 * 4 * 36 * 18 * (32 + 48) / 0.25));
  }
}

TEST_CASE("gemm: sample by sample an unfolded picture and a product") {
  const KernelForm form = CpuGemmForm();
  Values p = With(
      kNoCache,
      {{"efficiency", 1}, {"sample_cost", 0}, {"unfold_cost", 0}, {"strided_cost", 0}, {"bandwidth_fraction", 1e9}});
  for (const char* name : {"short_rows", "short_columns", "short_depth"}) p.emplace_back(name, 0);
  // 5 channels to 7 on 8x8, 3x3 taps: unfolded 45 x 64.
  const double product = 2 * 7 * 64 * 45;
  const std::array<std::array<double, 3>, 3> sizes{{{7, 64, 45}, {45, 64, 7}, {7, 45, 64}}};
  for (std::size_t i = 0; i < kPasses.size(); ++i) {
    const Launch launch = Convolution(kPasses[i], 5, 7, 8, 3);
    CHECK(TimeOf(form, launch, p) == Approx(2 * product));
    CHECK(TimeOf(form, launch, With(p, {{"short_rows", 3}})) == Approx(2 * product * (1 + 3 / sizes[i][0])));
    CHECK(TimeOf(form, launch, With(p, {{"short_columns", 3}})) == Approx(2 * product * (1 + 3 / sizes[i][1])));
    CHECK(TimeOf(form, launch, With(p, {{"short_depth", 3}})) == Approx(2 * product * (1 + 3 / sizes[i][2])));
    CHECK(TimeOf(form, launch, With(p, {{"sample_cost", 11}})) == Approx(2 * (product + 11)));
    CHECK(TimeOf(form, launch, With(p, {{"unfold_cost", 2}})) == Approx(2 * (product + 2 * 45 * 64)));
  }
  // Strides cost more to unfold; a single tap without strides is used as it lies.
  const Launch strided = Convolution(Pass::kForward, 5, 7, 8, 3, 2);
  CHECK(TimeOf(form, strided, With(p, {{"unfold_cost", 2}, {"strided_cost", 3}})) ==
        Approx(2 * (2 * 7 * 16 * 45 + (2 + 3) * 45 * 16)));
  const Launch one = Convolution(Pass::kForward, 5, 7, 8, 1);
  CHECK(TimeOf(form, one, With(p, {{"unfold_cost", 2}})) == Approx(2 * 2 * 7 * 64 * 5));
}

TEST_CASE("workspaces by hand: reordered operands, scratch") {
  // 32 to 64 channels on 8x8, 2 samples: in 16,384 B, out 32,768 B, filter 73,728 B.
  const auto direct = [](const Launch& launch) { return CpuDirectForm().workspace(launch); };
  CHECK(direct(Convolution(Pass::kBackwardData, 32, 64, 8, 3)) == 16384 + 32768 + 73728 + 8192 + 128 * 32);
  CHECK(direct(Convolution(Pass::kForward, 32, 64, 8, 3)) == 16384 + 32768 + 73728 + 18432 + 8192 + 128 * 32);
  // Strides of a single tap: 4x4 positions of 32 channels gathered.
  CHECK(direct(Convolution(Pass::kBackwardFilter, 32, 64, 8, 1, 2)) == 16384 + 8192 + 8192 + 8192 + 128 * 32 + 2048);
  const auto gemm = [](const Launch& launch) { return CpuGemmForm().workspace(launch); };
  CHECK(gemm(Convolution(Pass::kForward, 32, 64, 8, 1)) == 0);
  CHECK(gemm(Convolution(Pass::kForward, 32, 64, 8, 3)) == 4 * 32 * 9 * 64 + 256);
  CHECK(gemm(Convolution(Pass::kForward, 32, 64, 80, 3)) == 2 * kMiB + 256);  // 7.4 MB unfolded
  CHECK(gemm(Convolution(Pass::kBackwardData, 32, 64, 80, 3)) == 4 * 32 * 9 * 6400 + 256);
  CHECK(gemm(Convolution(Pass::kBackwardFilter, 32, 64, 8, 3)) == 4 * 32 * 9 * 64 + 4 * 73728 + 256);
  Launch added = Convolution(Pass::kBackwardData, 32, 64, 8, 1);
  added.accumulate = true;
  CHECK(gemm(added) == 16384);
  // Winograd: 4 tiles a sample, 36 words each of 96 channels; filters transformed 294,912 B; pages of 2 MiB.
  const auto winograd = [](const Launch& launch) { return CpuWinogradForm().workspace(launch); };
  const Bytes tiles = 4 * 36 * 8 * 96, filters = 4 * 36 * 32 * 64;
  CHECK(winograd(Convolution(Pass::kForward, 32, 64, 8, 3)) == 16384 + 32768 + 2 * filters + tiles + 6 * kMiB);
  CHECK(winograd(Convolution(Pass::kBackwardData, 32, 64, 8, 3)) == 16384 + 32768 + 73728 + filters + tiles + 6 * kMiB);
  CHECK(winograd(Convolution(Pass::kBackwardFilter, 32, 64, 8, 3)) ==
        16384 + 32768 + 73728 + 2 * filters + tiles + 4 * 64 + 8 * kMiB);
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

TEST_CASE("shapes that the library has no such algorithm for are left to the others") {
  const auto serves = [](const KernelForm& form, const Launch& launch) { return form.applies(launch); };
  Launch launch = Convolution(Pass::kForward, 32, 32, 8, 3);
  CHECK((serves(CpuDirectForm(), launch) && serves(CpuWinogradForm(), launch) && serves(CpuGemmForm(), launch)));
  Launch strided = Convolution(Pass::kForward, 32, 32, 8, 3, 2), wide = Convolution(Pass::kForward, 32, 32, 8, 5);
  CHECK_FALSE((serves(CpuWinogradForm(), strided) || serves(CpuWinogradForm(), wide)));
  launch.shape.pad = {0, 2, 2};
  CHECK_FALSE(serves(CpuWinogradForm(), launch));
  Launch grouped = Convolution(Pass::kForward, 32, 32, 8, 3), deep = grouped,
         tiny = Convolution(Pass::kForward, 32, 32, 3, 5);
  grouped.shape.groups = 2;
  deep.shape.in.d = deep.shape.out.d = 4;
  for (const Launch& other : {grouped, deep, tiny}) {
    CHECK_FALSE((serves(CpuDirectForm(), other) || serves(CpuWinogradForm(), other)));
    CHECK(serves(CpuGemmForm(), other));
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
