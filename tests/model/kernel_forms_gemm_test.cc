// Matrix products and FFT convolutions, on a chip of round figures so that times can be worked out by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/kernels/kernel_form.h"
#include "model/kernels/matrix_product.h"
#include "tests/form_values.h"

namespace spillway {
namespace {

// Each multiprocessor: 50 flops per nanosecond.
constexpr Chip kChip{.peak_flops = 100, .memory_bandwidth = 10, .multiprocessors = 2, .l2_bytes = 1};
constexpr Chip kBigChip{.peak_flops = 15700, .memory_bandwidth = 900, .multiprocessors = 80, .l2_bytes = 6 << 20};

double FormTime(const KernelForm& form, const Launch& launch, const Values& values, const Chip& chip = kChip) {
  return TimeOn(chip, form, launch, values);
}

// Only arithmetic counts: large tiles much faster than small ones, splits too dear.
const Values kArithmetic{{"efficiency", 1},  {"tile_power", 3}, {"quantisation", 1}, {"block", 0},
                         {"bandwidth", 1e9}, {"split", 1e12},   {"page_cost", 0},    {"fixed", 0}};

double ProductTime(const MatrixProduct& product, const Values& values = {}) {
  Values all = kArithmetic;
  all.insert(all.end(), values.begin(), values.end());
  const std::vector<double> p = StartValues(kMatrixProductRows, all);
  return MatrixProductTime(product, kChip, MatrixProductValues(p));
}

Launch Linear(Pass pass, std::int64_t n, std::int64_t in, std::int64_t out) {
  return {.kind = OpKind::kLinear, .pass = pass, .shape = {.in = {.n = n, .c = in}, .out = {.n = n, .c = out}}};
}

struct Square {
  std::int64_t n, c, side, k, window, stride = 1, pad = 0;
};
Launch Convolution(Pass pass, const Square& s) {
  const std::int64_t out = (s.side + 2 * s.pad - s.window) / s.stride + 1;
  return {.kind = OpKind::kConvolution,
          .pass = pass,
          .shape = {.in = {.n = s.n, .c = s.c, .h = s.side, .w = s.side},
                    .out = {.n = s.n, .c = s.k, .h = out, .w = out},
                    .window = {1, s.window, s.window},
                    .stride = {1, s.stride, s.stride},
                    .pad = {0, s.pad, s.pad}}};
}

TEST_CASE("A matrix product takes the fastest tile, edges computed whole") {
  // One tile of 128 x 128 on one multiprocessor: 2 x 128 x 128 x 8 / 50 = 5242.88.
  CHECK(ProductTime({.rows = 128, .columns = 128, .depth = 8}) == Approx(5242.88));
  CHECK(ProductTime({.rows = 100, .columns = 65, .depth = 5}) == Approx(5242.88));
  CHECK(ProductTime({.rows = 128, .columns = 128, .depth = 9}) == Approx(2 * 5242.88));
  // With all tiles at the same rate, two of 128 x 64 share the chip: half the time.
  CHECK(ProductTime({.rows = 128, .columns = 128, .depth = 8}, {{"tile_power", 0}}) == Approx(2621.44));
  // h of 128 x 64 is 2/3 of that of 128 x 128: 2621.44 x 3/2.
  CHECK(ProductTime({.rows = 128, .columns = 128, .depth = 8}, {{"tile_power", 1}}) == Approx(3932.16));
  CHECK(ProductTime({.rows = 128, .columns = 128, .depth = 8}, {{"block", 7}, {"fixed", 30}}) == Approx(5279.88));
}

TEST_CASE("Three tiles on two multiprocessors take two turns, or one and a half") {
  const MatrixProduct product{.rows = 384, .columns = 128, .depth = 8};
  CHECK(ProductTime(product) == Approx(2 * 5242.88));
  CHECK(ProductTime(product, {{"quantisation", 0}}) == Approx(1.5 * 5242.88));
}

TEST_CASE("A deep product is split where that pays") {
  const MatrixProduct product{.rows = 128, .columns = 128, .depth = 4096};
  // Whole: 512 x 5242.88 = 2684354.56. In two parts, one on each multiprocessor: half, and 100 for the second kernel,
  // which reads two sums and writes one: 3 x 4 x 128 x 128 / 10 = 19660.8.
  CHECK(ProductTime(product) == Approx(2684354.56));
  CHECK(ProductTime(product, {{"split", 100}, {"split_bandwidth", 1}}) == Approx(1342177.28 + 100 + 19660.8));
  // Never below a depth of 64 each.
  CHECK(ProductTime({.rows = 128, .columns = 128, .depth = 120}, {{"split", 0}, {"split_bandwidth", 1e9}}) ==
        Approx(15 * 5242.88));
}

TEST_CASE("Memory traffic overlaps arithmetic") {
  const MatrixProduct product{.rows = 128, .columns = 128, .depth = 8};
  // 4 x (128 x 128 + 8 x 256) = 73728 bytes at 5 per nanosecond; reading the result adds 65536.
  const auto overlap = [](double a, double b) { return std::pow(std::pow(a, 4) + std::pow(b, 4), 0.25); };
  CHECK(ProductTime(product, {{"bandwidth", 0.5}}) == Approx(overlap(5242.88, 14745.6)));
  MatrixProduct accumulating = product;
  accumulating.accumulate = true;
  CHECK(ProductTime(accumulating, {{"bandwidth", 0.5}}) == Approx(overlap(5242.88, 27852.8)));
  MatrixProduct halves = product;
  halves.element = 2;
  CHECK(ProductTime(halves, {{"bandwidth", 0.5}}) == Approx(overlap(5242.88, 7372.8)));
}

TEST_CASE("Linear: rows and columns of each pass, and which operands run along the depth") {
  // 128 samples, in and out 128, depth 128: 16 x 5242.88. A tile's rows span 128 x 128 x 4 bytes = 1/16 MiB for each
  // operand along the depth. With a reach of 1/8 MiB: forward, two operands, (1/2)^2; backward data, one, (1/3)^2.
  const KernelForm form = LinearForm();
  Values values = kArithmetic;
  values.insert(values.end(), {{"page_cost", 6}, {"page_reach", 0.125}});
  const auto time = [&](Pass pass, std::int64_t n, std::int64_t in, std::int64_t out) {
    return FormTime(form, Linear(pass, n, in, out), values);
  };
  const double plain = 16 * 5242.88;
  CHECK(time(Pass::kForward, 128, 128, 128) == Approx(plain * (1 + 6 * (1 / 4.0) * (2 / 3.0))));
  CHECK(time(Pass::kBackwardData, 128, 128, 128) == Approx(plain * (1 + 6 * (1 / 9.0) * (2 / 3.0))));
  CHECK(time(Pass::kBackwardFilter, 128, 128, 128) == Approx(plain));
  // The depth is what tiles do not round up: in, out, samples.
  values.back().second = 1e9;
  CHECK(time(Pass::kForward, 1, 8, 1) == Approx(5242.88));
  CHECK(time(Pass::kForward, 1, 16, 1) == Approx(2 * 5242.88));
  CHECK(time(Pass::kBackwardData, 1, 1, 16) == Approx(2 * 5242.88));
  CHECK(time(Pass::kBackwardFilter, 16, 1, 1) == Approx(2 * 5242.88));
}

TEST_CASE("Linear serves its three passes and nothing else, and asks for no workspace") {
  const KernelForm form = LinearForm();
  CHECK(form.algorithms(OpKind::kLinear, Pass::kForward).size() == 1);
  CHECK(form.algorithms(OpKind::kLinear, Pass::kBackwardBias).empty());
  CHECK(form.algorithms(OpKind::kConvolution, Pass::kForward).empty());
  CHECK_FALSE(form.Applies(Linear(Pass::kBackwardBias, 8, 8, 8)));
  CHECK(form.workspace(Linear(Pass::kForward, 256, 9216, 4096)) == 0);
}

TEST_CASE("A matrix product is symmetric, above its limits, and grows with the batch") {
  const std::vector<double> values = StartValues(kMatrixProductRows);
  const MatrixProductValues p(values);
  for (const double in : {27.0, 512.0, 2048.0, 25088.0}) {
    for (const double out : {10.0, 1000.0, 4096.0}) {
      double before = 0;
      for (double n = 1; n <= 4096; n *= 2) {
        CAPTURE(in, out, n);
        const double time = MatrixProductTime({.rows = out, .columns = n, .depth = in}, kBigChip, p);
        CHECK(time == MatrixProductTime({.rows = n, .columns = out, .depth = in}, kBigChip, p));
        CHECK(time > 2 * in * out * n / kBigChip.peak_flops);
        CHECK(time > 4 * (in * out + in * n + out * n) / kBigChip.memory_bandwidth);
        CHECK(time >= before);
        if (before > 0) CHECK(time < 2.1 * before);
        before = time;
      }
    }
  }
}

TEST_CASE("Explicit GEMM: the workspace is the matrix of patches") {
  // 20 channels x 25 window elements x 8 x 8 positions x 4 bytes.
  const KernelForm form = ExplicitGemmForm();
  CHECK(form.workspace(Convolution(Pass::kForward, {1, 20, 12, 50, 5})) == 128000);
  CHECK(form.workspace(Convolution(Pass::kForward, {3, 20, 12, 50, 5})) == 384000);
  CHECK(form.Applies(Convolution(Pass::kForward, {1, 3, 224, 64, 7, 2, 3})));
  CHECK_FALSE(form.Applies(Convolution(Pass::kBackwardData, {1, 20, 12, 50, 5})));
  Launch volume = Convolution(Pass::kForward, {1, 20, 12, 50, 5});
  volume.shape.window[0] = volume.shape.in.d = 3;
  CHECK_FALSE(form.Applies(volume));
}

TEST_CASE("Explicit GEMM: the copy, then one product of the whole batch") {
  // 2 samples of 8 x 8 positions fill one tile's 128 rows; depth 2 channels x 9. Product: 24 deep, 2 x 128 x 128 x 24 /
  // 50 = 15728.64 (16 channels fill a quarter of 128 x 64 and half of 128 x 32; at a tile power of 3 the largest is
  // fastest).
  const KernelForm form = ExplicitGemmForm();
  const Launch launch = Convolution(Pass::kForward, {2, 2, 8, 16, 3, 1, 1});
  Values values{{"efficiency", 1},   {"tile_power", 3},   {"prologue", 0},          {"fill", 0},
                {"quantisation", 1}, {"bandwidth", 1e12}, {"copy_bandwidth", 1e12}, {"fixed", 0}};
  CHECK(FormTime(form, launch, values) == Approx(15728.64));
  // Copy: reads 2 x 2 x 64 x 4 = 1024 bytes, writes 2 x 9 x 128 x 4 = 9216, at 5 per nanosecond.
  values[6].second = 0.5;
  CHECK(FormTime(form, launch, values) == Approx(15728.64 + 2048));
}

TEST_CASE("FFT: spectra of 16 x 9 complex numbers and more, twice, and a copy of the filter") {
  const KernelForm form = FftForm();
  // 12 points need 16 x 9 x 8 = 1152 bytes; 20 planes in, 50 out, 1000 filters; filter 50 x 20 x 25 x 4 = 100000.
  const Square small{1, 20, 12, 50, 5};
  CHECK(form.workspace(Convolution(Pass::kForward, small)) == 2 * (20 + 1000) * 1152 + 100000);
  CHECK(form.workspace(Convolution(Pass::kBackwardData, small)) == 2 * (50 + 1000) * 1152 + 100000);
  // The result is more than the operands; the copy is of the gradient, 50 x 8 x 8 x 4.
  CHECK(form.workspace(Convolution(Pass::kBackwardFilter, small)) == 2 * 1000 * 1152 + 12800);
  // 14 with padding 1 each side still fits 16; 15 needs 32 x 17 x 8 = 4352 bytes.
  CHECK(form.workspace(Convolution(Pass::kForward, {1, 1, 14, 1, 3, 1, 1})) == 2 * 2 * 1152 + 36);
  CHECK(form.workspace(Convolution(Pass::kForward, {1, 1, 15, 1, 3, 1, 1})) == 2 * 2 * 4352 + 36);
}

TEST_CASE("FFT: an image that is no square is transformed as a square of its larger side") {
  const KernelForm form = FftForm();
  Launch wide = Convolution(Pass::kForward, {8, 64, 10, 64, 3, 1, 1});
  wide.shape.in.w = wide.shape.out.w = 60;
  // 62 points need 64 x 33 x 8 = 16896 bytes.
  CHECK(form.workspace(wide) == 2 * (8 * 64 + 64 * 64) * 16896 + 64 * 64 * 36);
  Launch high = wide;
  std::swap(high.shape.in.h, high.shape.in.w);
  std::swap(high.shape.out.h, high.shape.out.w);
  CHECK(form.workspace(high) == form.workspace(wide));
  CHECK(FormTime(form, high, {}, kBigChip) == FormTime(form, wide, {}, kBigChip));
  // As much as the whole square but for the images themselves.
  const double whole = FormTime(form, Convolution(Pass::kForward, {8, 64, 60, 64, 3, 1, 1}), {}, kBigChip);
  CHECK(FormTime(form, wide, {}, kBigChip) > 0.8 * whole);
  wide.shape.in.w = wide.shape.out.w = 255;
  CHECK_FALSE(form.Applies(wide));
}

TEST_CASE("FFT applies to plain windows that do not stride, up to 256 points") {
  const KernelForm form = FftForm();
  CHECK(form.algorithms(OpKind::kConvolution, Pass::kBackwardBias).empty());
  CHECK(form.algorithms(OpKind::kLinear, Pass::kForward).empty());
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    CHECK(form.algorithms(OpKind::kConvolution, pass).size() == 1);
    CHECK(form.Applies(Convolution(pass, {1, 3, 224, 64, 3, 1, 1})));
    CHECK_FALSE(form.Applies(Convolution(pass, {1, 3, 256, 64, 3, 1, 1})));
    CHECK_FALSE(form.Applies(Convolution(pass, {1, 3, 224, 64, 7, 2, 3})));
    CHECK_FALSE(form.Applies(Convolution(pass, {1, 3, 224, 64, 1, 1, 1})));  // padding as large as the window
    Launch grouped = Convolution(pass, {1, 4, 28, 64, 3, 1, 1});
    grouped.shape.groups = 2;
    CHECK_FALSE(form.Applies(grouped));
    Launch channels_last = Convolution(pass, {1, 4, 28, 64, 3, 1, 1});
    channels_last.layout = Layout::kNhwc;
    CHECK_FALSE(form.Applies(channels_last));
  }
}

// Unit rates: times are flops and bytes counted.
const Values kUnit{{"efficiency", 0.01}, {"depth", 0}, {"bandwidth", 0.1}, {"fixed", 0}};

TEST_CASE("FFT: traffic, transforms and one complex product per frequency") {
  Values values = kUnit;
  values.insert(values.end(), {{"transform_efficiency", 0.01}, {"call", 1e6}});
  const Launch launch = Convolution(Pass::kForward, {64, 16, 4, 32, 1});
  // Planes 64 x 16 + 64 x 32 + 16 x 32 = 3584, spectra of 1152 bytes: 4128768. Tensors: 65536 + 131072 + 2048 bytes.
  // Transforms: 2.5 x 256 x log2(256) = 5120 flops each. Products: 8 x 144 x 64 x 32 x 16 = 37748736 flops.
  const double product = std::pow(std::pow(37748736.0, 4) + std::pow(4128768.0, 4), 0.25);
  CHECK(FormTime(FftForm(), launch, values) == Approx(4128768 + 198656 + 3584 * 5120 + product));
  // Filter: the gradient is copied first (read and write), 16 x 32 results of depth 64: rows 16 round up to 32, in
  // tiles of 32 x 32, whose harmonic size is three quarters of that of 64 x 32.
  const double filter = std::pow(std::pow(2.0 * 37748736 * std::pow(4.0 / 3, 0.15), 4) + std::pow(4128768.0, 4), 0.25);
  const Launch backward = Convolution(Pass::kBackwardFilter, {64, 16, 4, 32, 1});
  CHECK(FormTime(FftForm(), backward, values) == Approx(4128768 + 198656 + 2 * 131072 + 3584 * 5120 + filter));
}

TEST_CASE("FFT: large transforms of an uneven batch cost a call per frequency") {
  const KernelForm form = FftForm();
  const auto time = [&](std::int64_t n, std::int64_t side, double call, std::int64_t c = 64, std::int64_t k = 64) {
    return FormTime(form, Convolution(Pass::kForward, {n, c, side, k, 3, 1, 1}), {{"call", call}}, kBigChip);
  };
  // 64 x 33 frequencies of 1 ms each.
  CHECK(time(184, 56, 1e6) == Approx(2112e6).epsilon(0.02));
  CHECK(time(192, 56, 1e6) == time(192, 56, 1));
  CHECK(time(184, 28, 1e6) == time(184, 28, 1));
  // Nothing tells of fewer channels, on either side.
  CHECK(time(184, 56, 1e6, 32, 64) == time(184, 56, 1, 32, 64));
  CHECK(time(184, 56, 1e6, 64, 32) == time(184, 56, 1, 64, 32));
}

TEST_CASE("FFT tiling: spectra of the filter and of two tiles of every image") {
  const KernelForm form = FftTilingForm();
  // 32 x 17 x 8 = 4352 bytes. 8 x 8 positions are one tile.
  CHECK(form.workspace(Convolution(Pass::kForward, {1, 20, 12, 50, 5})) == (1000 + 70) * 4352);
  // 56 positions in steps of 30: 2 x 2 tiles, two of them at a time.
  CHECK(form.workspace(Convolution(Pass::kForward, {8, 64, 56, 32, 3, 1, 1})) == (2048 + 2 * 8 * 96) * 4352);
  CHECK(form.workspace(Convolution(Pass::kBackwardData, {8, 64, 56, 32, 3, 1, 1})) == (2048 + 2 * 8 * 96) * 4352);
  // 1x1: rows of 32 points, 17 x 8 = 136 bytes; 56 rows of two tiles.
  CHECK(form.workspace(Convolution(Pass::kForward, {8, 64, 56, 32, 1})) == (2048 + 112 * 8 * 96) * 136);
  // 112 rows of four tiles, two of each at a time; the same of columns.
  CHECK(form.workspace(Convolution(Pass::kForward, {8, 64, 112, 32, 1})) == (2048 + 2 * 112 * 8 * 96) * 136);
  Launch column = Convolution(Pass::kForward, {8, 64, 112, 32, 1});
  column.shape.window[1] = 3, column.shape.pad[1] = 1;
  CHECK(form.workspace(column) == (2048 + 2 * 112 * 8 * 96) * 136);
}

TEST_CASE("FFT tiling strides by two where the window has two dimensions, and has no filter pass") {
  const KernelForm form = FftTilingForm();
  CHECK(form.Applies(Convolution(Pass::kForward, {1, 3, 224, 64, 7, 2, 3})));
  CHECK(form.Applies(Convolution(Pass::kBackwardData, {1, 64, 1000, 64, 3, 1, 1})));
  CHECK_FALSE(form.Applies(Convolution(Pass::kForward, {1, 3, 224, 64, 11, 4, 2})));
  CHECK_FALSE(form.Applies(Convolution(Pass::kForward, {1, 64, 56, 64, 1, 2})));
  CHECK_FALSE(form.Applies(Convolution(Pass::kBackwardFilter, {1, 64, 56, 64, 3, 1, 1})));
  CHECK(form.algorithms(OpKind::kConvolution, Pass::kBackwardFilter).empty());
}

TEST_CASE("FFT tiling: traffic, products and a charge for further tiles") {
  Values values = kUnit;
  values.insert(values.end(), {{"piece", 0}});
  // One tile: planes 64 x 16 + 64 x 32 + 16 x 32 = 3584 spectra of 4352 bytes = 15597568; tensors 64 x 16 x 36 x 4 +
  // 64 x 32 x 16 x 4 + 16 x 32 x 9 x 4 = 147456 + 131072 + 18432. Products: 8 x 544 x 64 x 32 x 16 = 142606336.
  const Launch launch = Convolution(Pass::kForward, {64, 16, 6, 32, 3});
  const double product = std::pow(std::pow(142606336.0, 4) + std::pow(15597568.0, 4), 0.25);
  CHECK(FormTime(FftTilingForm(), launch, values) == Approx(15597568 + 296960 + product));
  // 56 positions: four tiles, one further piece.
  const Launch wide = Convolution(Pass::kForward, {64, 16, 56, 32, 3, 1, 1});
  const double free = FormTime(FftTilingForm(), wide, values);
  values.back().second = 5e6;
  CHECK(FormTime(FftTilingForm(), wide, values) == Approx(free + 5e6));
}

}  // namespace
}  // namespace spillway
