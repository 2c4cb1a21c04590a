// The laws of a processor's convolutions: generated code, Winograd, products of unfolded pictures.
#include <catch2/catch.hpp>
#include <cmath>

#include "model/kernels/cpu_conv.h"
#include "model/kernels/cpu_cost.h"
#include "tests/cpu_forms.h"

namespace spillway {

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
  Launch launch = Convolution(Pass::kBackwardData, 20, 32, 8, 3);
  const CpuOperands operands = CpuOperandsOf(launch, false);
  const double in = 4 * 128 * (20 + 32), out = 4 * 128 * (32 + 32);
  const std::vector<double> p = StartValues(
      kCpuReorderRows, {{"reorder_bandwidth", 0.5}, {"slow_reorder", 0.25}, {"cache_gain", 0}, {"cache_share", 1}});
  CHECK(CpuReorderTime(operands, launch, kChip, std::span(p)) == Approx((1.25 * in + out) / 0.5));
  launch.accumulate = true;  // the gradient of the input, as it lies in memory, at the same rate
  CHECK(CpuReorderTime(operands, launch, kChip, std::span(p)) == Approx((1.25 * in + out + 4 * 128 * 20) / 0.5));
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

TEST_CASE("shapes that the library has no such algorithm for are left to the others") {
  const auto serves = [](const KernelForm& form, const Launch& launch) { return form.Applies(launch); };
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

}  // namespace spillway
