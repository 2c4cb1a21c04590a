// Laws of the convolution algorithms: implicit GEMM, with and without precomputed offsets, and Winograd, fused and not.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/kernels/gemm_core.h"
#include "model/kernels/kernel_form.h"
#include "tests/form_values.h"

namespace spillway {
namespace {

// 20 flops per ns on each of 4 multiprocessors; memory so fast that arithmetic alone counts.
constexpr Chip kArithmetic{.peak_flops = 80, .memory_bandwidth = 1e30, .multiprocessors = 4};
// The other way round: one byte per ns.
constexpr Chip kMemory{.peak_flops = 1e30, .memory_bandwidth = 1, .multiprocessors = 4};

std::vector<KernelForm> ConvForms() {
  return {ImplicitPrecompGemmForm(), ImplicitGemmForm(), WinogradForm(), WinogradNonfusedForm()};
}

// Square images and windows with `same`-like padding of window / 2.
Launch Conv(std::int64_t n, std::int64_t c, std::int64_t side, std::int64_t k, std::int64_t window,
            std::int64_t stride = 1, Pass pass = Pass::kForward) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.pass = pass;
  const std::int64_t out = (side - 1) / stride + 1;
  launch.shape.in = {.n = n, .c = c, .d = 1, .h = side, .w = side};
  launch.shape.out = {.n = n, .c = k, .d = 1, .h = out, .w = out};
  launch.shape.window = {1, window, window};
  launch.shape.stride = {1, stride, stride};
  launch.shape.pad = {0, window / 2, window / 2};
  return launch;
}

// Laws reduced to arithmetic that a comment can follow: all rates at their peaks, nothing lost but what is given.
std::vector<double> Plain(const KernelForm& form, Values given) {
  for (const FormParameter& p : form.parameters) {
    const std::string name = p.name;
    const bool loss = name == "tile_power" || name == "prologue" || name == "fill" || name == "fixed";
    const bool set = std::any_of(given.begin(), given.end(), [&](const auto& g) { return g.first == name; });
    if (!set) given.emplace_back(name, loss ? 0 : 1);
  }
  return StartValues(form.parameters, given);
}

// Every form and pass at work, on layers of the networks people train.
struct Case {
  KernelForm form;
  Launch launch;
};
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const KernelForm& form : ConvForms()) {
    for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
      for (const Launch& launch :
           {Conv(32, 64, 56, 64, 3, 1, pass), Conv(128, 512, 7, 512, 3, 1, pass), Conv(64, 256, 56, 512, 1, 2, pass),
            Conv(16, 16, 28, 32, 5, 1, pass), Conv(8, 1024, 14, 256, 1, 1, pass), Conv(1, 8, 224, 64, 7, 2, pass)}) {
        if (!form.algorithms(launch.kind, pass).empty() && form.Applies(launch)) cases.push_back({form, launch});
      }
    }
  }
  return cases;
}

double TimeOf(const Case& c, const Launch& launch) {
  return c.form.time(launch, {9300, 732, 56}, StartValues(c.form.parameters));
}

TEST_CASE("A product in tiles: blocks, waves, split and latency") {
  GemmLaw law{.efficiency = 1, .tile_power = 0, .prologue = 0, .fill = 0, .quantisation = 1};
  // 2 blocks of 128 x 128 on 4 multiprocessors, side by side: 2 x 128 x 128 x 64 flops / 20 per ns.
  TiledProduct product{.rows = 256, .columns = 100, .depth = 64};
  const GemmTile tile{128, 128};
  CHECK(TileTime(product, tile, kArithmetic, law) == Approx(104857.6));
  // Depth 60 is walked in steps of 8, as 64.
  product.depth = 60;
  CHECK(TileTime(product, tile, kArithmetic, law) == Approx(104857.6));
  // 6 blocks: two rounds, or 1.5 where blocks are shared evenly, or between.
  product.count = 3;
  CHECK(TileTime(product, tile, kArithmetic, law) == Approx(2 * 104857.6));
  law.quantisation = 0.5;
  CHECK(TileTime(product, tile, kArithmetic, law) == Approx(1.75 * 104857.6));
  // One product split in two: 4 blocks of half the depth, and each starts up for 8 elements more.
  law.quantisation = 1, law.prologue = 8;
  product = {.rows = 256, .columns = 128, .depth = 64, .split = 2};
  CHECK(TileTime(product, tile, kArithmetic, law) == Approx(0.5 * 104857.6 * 40 / 32));
  // Latency: half a block of 128 x 64, which is a quarter of one of 128 x 128.
  law.prologue = 0, law.fill = 0.5, product.split = 1;
  CHECK(TileTime(product, tile, kArithmetic, law) == Approx(1.25 * 104857.6));
  // h of 32 x 32 is 16, a quarter of that of 128 x 128: half the rate by the square root. 8 x 4 blocks, 8 rounds.
  law.fill = 0, law.tile_power = 0.5;
  CHECK(TileTime(product, {32, 32}, kArithmetic, law) == Approx(8 * 2 * 32 * 32 * 64 / 10.0));
  const GemmTile both[] = {{32, 32}, {128, 128}};
  CHECK(FastestTileTime(product, both, kArithmetic, law) == Approx(104857.6));
}

TEST_CASE("Implicit GEMM with precomputed offsets, by hand") {
  const KernelForm form = ImplicitPrecompGemmForm();
  const std::vector<double> p = Plain(form, {{"fixed", 100}, {"strided", 0.5}, {"strided_pointwise", 0.25}});
  // 256 positions, 32 channels, depth 8 x 9: two blocks of 128 x 32.
  CHECK(form.time(Conv(1, 8, 16, 32, 3), kArithmetic, p) == Approx(100 + 2 * 128 * 32 * 72 / 20.0));
  // 72 x 32, depth 256 split among the 16 rows of the output: 16 blocks of 128 x 32, 4 rounds.
  CHECK(form.time(Conv(1, 8, 16, 32, 3, 1, Pass::kBackwardFilter), kArithmetic, p) ==
        Approx(100 + 4 * (2 * 128 * 32 * 16 / 20.0)));
  // 256 positions x 8 channels, depth 32 x 9.
  CHECK(form.time(Conv(1, 8, 16, 32, 3, 1, Pass::kBackwardData), kArithmetic, p) ==
        Approx(100 + 2 * 128 * 32 * 288 / 20.0));
  // Stride 2: four classes of 64 positions, each a block of mean depth 72, at half the rate.
  CHECK(form.time(Conv(1, 8, 16, 32, 3, 2, Pass::kBackwardData), kArithmetic, p) ==
        Approx(100 + 2 * (2 * 128 * 32 * 72 / 20.0)));
  // A window of one element: one class, depth 32, a quarter of the rate.
  CHECK(form.time(Conv(1, 8, 16, 32, 1, 2, Pass::kBackwardData), kArithmetic, p) ==
        Approx(100 + 4 * (2 * 128 * 32 * 32 / 20.0)));
  // Bytes: 8 x 256 in, 32 x 256 out, 8 x 32 x 9 weights, and the result again where it is added to.
  Launch launch = Conv(1, 8, 16, 32, 3);
  CHECK(form.time(launch, kMemory, p) == Approx(100 + 4 * (2048 + 8192 + 2304)));
  launch.accumulate = true;
  CHECK(form.time(launch, kMemory, p) == Approx(100 + 4 * (2048 + 2 * 8192 + 2304)));
  // Every other position of a gradient under a 1x1 window of stride 2 is zero: all 8 x 256 are written once more.
  CHECK(form.time(Conv(1, 8, 16, 32, 1, 2, Pass::kBackwardData), kMemory, p) ==
        Approx(100 + 4 * (2 * 2048 + 32 * 64 + 256)));
}

TEST_CASE("Implicit GEMM without workspace, by hand") {
  const KernelForm form = ImplicitGemmForm();
  const std::vector<double> p =
      Plain(form, {{"quarter", 0.5}, {"pointwise", 0.8}, {"add_bandwidth", 0.25}, {"chunk", 32}});
  // 32 columns run at half the rate, as slow as 64 whole ones.
  CHECK(form.time(Conv(1, 8, 16, 32, 3), kArithmetic, p) == Approx(2 * 128 * 64 * 72 / 20.0));
  // In a kernel of its own for windows of one element, 128 columns at the full rate cost 2, 64 cost 1 / 0.8.
  CHECK(form.time(Conv(1, 8, 16, 32, 1), kArithmetic, p) == Approx(2 * 128 * 64 * 8 / 20.0 / 0.8));
  // Depth 256 in parts of 32: 8 blocks, two on every multiprocessor.
  const Launch filter = Conv(1, 8, 16, 64, 3, 1, Pass::kBackwardFilter);
  CHECK(form.time(filter, kArithmetic, p) == Approx(2 * (2 * 128 * 64 * 32 / 20.0)));
  // 16 images are 16 blocks, whole ones.
  const Launch filters = Conv(16, 8, 16, 64, 3, 1, Pass::kBackwardFilter);
  CHECK(form.time(filters, kArithmetic, p) == Approx(4 * (2 * 128 * 64 * 256 / 20.0)));
  // Each of them adds to all 72 x 64 weights, at a quarter of the bandwidth; input, output and weights move besides.
  CHECK(form.time(filters, kMemory, p) ==
        Approx(4 * (16 * 72 * 64 / 0.25 + 16 * 8 * 256 + 16 * 64 * 256 + 72 * 64)).epsilon(1e-9));
}

TEST_CASE("Backward filter of one input channel takes the smallest tile") {
  const KernelForm form = ImplicitGemmForm();
  const std::vector<double> p = Plain(form, {{"quarter", 0.5}, {"chunk", 1e5}});
  // 9 x 16 results of 16 images: 16 blocks of 32 x 32 at a quarter of the rate, four on every multiprocessor. In tiles
  // of 128 x 32, at half of it, they would take twice the time.
  CHECK(form.time(Conv(16, 1, 16, 16, 3, 1, Pass::kBackwardFilter), kArithmetic, p) ==
        Approx(4 * (2 * 32 * 32 * 256 / (0.25 * 20))));
  // Forward has no such kernel: 4096 positions in 32 blocks of 128 x 32, depth 9 walked as 16.
  CHECK(form.time(Conv(16, 1, 16, 16, 3), kArithmetic, p) == Approx(8 * (2 * 128 * 32 * 16 / (0.5 * 20))));
}

TEST_CASE("Backward filter of large planes waits for address translation") {
  const KernelForm form = ImplicitPrecompGemmForm();
  const std::vector<double> p = Plain(form, {});
  // 576 x 64 results in nine blocks of 64 x 64, split among 448 rows. A block of 128 x 64 reads 128 / 9 planes of the
  // input and 64 of the output, 448 x 448 x 4 bytes = 0.765625 MiB each: 59.9 MiB beside a reach of 48.
  const double span = (128.0 / 9 + 64) * 0.765625, beyond = span / (span + 48);
  CHECK(form.time(Conv(1, 64, 448, 64, 3, 1, Pass::kBackwardFilter), kArithmetic, p) ==
        Approx(1008 * (2 * 64 * 64 * 448 / 20.0) * (1 + 3 * beyond * beyond)));
  // The other passes read few planes at a time.
  CHECK(form.time(Conv(1, 64, 448, 64, 3), kArithmetic, p) == Approx(392 * (2 * 128 * 64 * 576 / 20.0)));
}

TEST_CASE("Groups of few channels are computed without tiles") {
  // Depthwise: 2 x 256 x 8 x 9 flops of sixteen instructions each at 80 per nanosecond, in every pass.
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    for (const KernelForm& form : {ImplicitPrecompGemmForm(), ImplicitGemmForm()}) {
      Launch launch = Conv(1, 8, 16, 8, 3, 1, pass);
      launch.shape.groups = 8;
      CAPTURE(form.name, static_cast<int>(pass));
      CHECK(form.time(launch, kArithmetic, Plain(form, {})) == Approx(2 * 256 * 8 * 9 * 16 / 80.0));
    }
  }
  // By memory: both tensors and 72 weights, once.
  Launch launch = Conv(1, 8, 16, 8, 3);
  launch.shape.groups = 8;
  CHECK(ImplicitPrecompGemmForm().time(launch, kMemory, Plain(ImplicitPrecompGemmForm(), {})) ==
        Approx(4 * (2 * 8 * 256 + 72)));
}

TEST_CASE("Implicit GEMM that scatters the gradient of the input, by hand") {
  const KernelForm form = ImplicitGemmForm();
  const std::vector<double> p = Plain(form, {{"add_bandwidth", 0.25}});
  const auto time = [&](const Chip& chip, std::int64_t n, std::int64_t c, std::int64_t side, std::int64_t stride) {
    return form.time(Conv(n, c, side, 32, 3, stride, Pass::kBackwardData), chip, p);
  };
  const double block = 2 * 64 * 64 * 32 / 20.0;  // 64 positions, 64 of the channels x window, depth 32
  // 256 positions x 72: 4 x 2 blocks, two rounds.
  CHECK(time(kArithmetic, 1, 8, 16, 1) == Approx(2 * block));
  // Stride 2 leaves 64 output positions and the same window to each: 1 x 2 blocks.
  CHECK(time(kArithmetic, 1, 8, 16, 2) == Approx(block));
  // One input channel is 9 columns: a seventh of a tile, not a thirty-second.
  CHECK(time(kArithmetic, 1, 1, 16, 1) == Approx(block));
  // 4 images of 7 x 7 take a tile each, 8 blocks; 4 of 4 x 4 share one, 2 blocks.
  CHECK(time(kArithmetic, 4, 8, 7, 1) == Approx(2 * block));
  CHECK(time(kArithmetic, 4, 8, 4, 1) == Approx(block));
  // 64 positions x 72 additions at a quarter of the bandwidth; the gradient is cleared, read and written.
  CHECK(time(kMemory, 1, 8, 16, 2) == Approx(4 * (64 * 72 / 0.25 + 3 * 8 * 256 + 32 * 64 + 72 * 32)).epsilon(1e-9));
}

TEST_CASE("Fused Winograd, by hand") {
  const KernelForm form = WinogradForm();
  const std::vector<double> p = Plain(form, {});
  const Chip single{.peak_flops = 20, .memory_bandwidth = 1e30, .multiprocessors = 1};
  // One block: 16 products of 32 x 32, depth 8. It covers 8 x 16 outputs, though 8 x 8 are there.
  const double block = 2 * 16 * 32 * 32 * 8 / 20.0;
  CHECK(form.time(Conv(1, 8, 8, 32, 3), single, p) == Approx(block));
  // Images do not share blocks.
  CHECK(form.time(Conv(3, 8, 8, 32, 3), single, p) == Approx(3 * block));
  // 33 channels are two blocks; 16 input channels twice the depth; backward data swaps them.
  CHECK(form.time(Conv(1, 8, 8, 33, 3), single, p) == Approx(2 * block));
  CHECK(form.time(Conv(1, 33, 8, 8, 3, 1, Pass::kBackwardData), single, p) == Approx(2 * block));
  CHECK(form.time(Conv(1, 32, 8, 16, 3, 1, Pass::kBackwardData), single, p) == Approx(2 * block));
  // Bytes: input and output, then the filter's 9 words read and 25 written.
  CHECK(form.time(Conv(1, 8, 8, 32, 3), kMemory, p) == Approx(4 * (8 * 64 + 32 * 64) + 4 * 34 * 8 * 32));
}

TEST_CASE("Winograd in separate kernels, by hand") {
  const KernelForm form = WinogradNonfusedForm();
  const std::vector<double> p =
      Plain(form, {{"fixed", 100}, {"result_bandwidth", 0.5}, {"misaligned", 0.25}, {"large_transform", 0.5}});
  // 16 images of 4 x 4: 16 patches, 36 words each and channel.
  const double side = 4 * 8 * (16 * 16 + 36 * 16), filter = 4 * 64 * (9 + 36);
  CHECK(form.time(Conv(16, 8, 4, 8, 3), kMemory, p) == Approx(100 + side + side / 0.5 + filter));
  // 9 images are worked on as 16 (but not read as such); 4 input channels fill half sectors: half the rate.
  const double half_in = 4 * 4 * (9 * 16 + 36 * 16), out = 4 * 8 * (9 * 16 + 36 * 16);
  CHECK(form.time(Conv(9, 4, 4, 8, 3), kMemory, p) == Approx(100 + half_in + out / 0.5 + filter / 2 / 0.5));
  // The filter's gradient reads both sides and does not round the images up.
  const double read = 4 * 16 * (9 * 16 + 36 * 9);
  CHECK(form.time(Conv(9, 8, 4, 8, 3, 1, Pass::kBackwardFilter), kMemory, p) == Approx(100 + read + filter));
  // 5x5: 9 x 9 outputs from 13 x 13 inputs, at half the bandwidth.
  const double large = 4 * 8 * (16 * 81 + 169 * 16), large_filter = 4 * 64 * (25 + 169);
  CHECK(form.time(Conv(16, 8, 9, 8, 5), kMemory, p) == Approx(100 + 2 * (large + large / 0.5 + large_filter)));
  // Arithmetic: 36 products of 64 patches x 64 channels, depth 32, a block each: 9 rounds on 4 multiprocessors.
  CHECK(form.time(Conv(16, 32, 8, 64, 3), kArithmetic, p) == Approx(100 + 9 * (2 * 64 * 64 * 32 / 20.0)));
  // Backward filter sums over patches in blocks of 128 x 128.
  CHECK(form.time(Conv(16, 32, 8, 64, 3, 1, Pass::kBackwardFilter), kArithmetic, p) ==
        Approx(100 + 9 * (2 * 128 * 128 * 64 / 20.0)));
}

TEST_CASE("Workspaces as the library asks for them") {
  // What the mnistCUDNN sample prints for its two layers (cuDNN 7.1 and 8.0): 5x5 windows without padding.
  Launch first = Conv(1, 1, 28, 20, 5), second = Conv(1, 20, 12, 50, 5);
  first.shape.out.h = first.shape.out.w = 24;
  second.shape.out.h = second.shape.out.w = 8;
  CHECK(WinogradNonfusedForm().workspace(first) == 2057744);
  CHECK(WinogradNonfusedForm().workspace(second) == 1433120);
  CHECK(ImplicitPrecompGemmForm().workspace(second) == 2000);
  // ResNet-50 and VGG-16 as profiled for MONeT (A. Shah et al., "Memory Optimization for Deep Networks", 2021): 184
  // images are rounded up to 192, but not for the filter's gradient.
  CHECK(WinogradNonfusedForm().workspace(Conv(184, 64, 56, 64, 3)) == 694222848);
  CHECK(WinogradNonfusedForm().workspace(Conv(184, 64, 56, 64, 3, 1, Pass::kBackwardFilter)) == 665321472);
  CHECK(WinogradNonfusedForm().workspace(Conv(176, 512, 14, 512, 3, 1, Pass::kBackwardData)) == 452984832);
  // 25 words a pair of channels.
  CHECK(WinogradForm().workspace(Conv(184, 64, 56, 64, 3)) == 409600);
  CHECK(ImplicitGemmForm().workspace(Conv(184, 64, 56, 64, 3)) == 0);
  CHECK(ImplicitPrecompGemmForm().workspace(Conv(184, 64, 56, 64, 3, 1, Pass::kBackwardData)) == 0);
}

TEST_CASE("Winograd runs plain windows only") {
  const KernelForm fused = WinogradForm(), apart = WinogradNonfusedForm(), implicit = ImplicitGemmForm();
  CHECK(fused.Applies(Conv(1, 8, 8, 8, 3)));
  CHECK(apart.Applies(Conv(1, 8, 8, 8, 3)));
  CHECK_FALSE(fused.Applies(Conv(1, 8, 8, 8, 5)));
  CHECK(apart.Applies(Conv(1, 8, 8, 8, 5)));
  CHECK_FALSE(fused.Applies(Conv(1, 8, 8, 8, 3, 1, Pass::kBackwardFilter)));
  CHECK(apart.Applies(Conv(1, 8, 8, 8, 3, 1, Pass::kBackwardFilter)));
  Launch grouped = Conv(1, 8, 8, 8, 3), deep = Conv(1, 8, 8, 8, 3), oblong = Conv(1, 8, 8, 8, 3);
  grouped.shape.groups = 2;
  deep.shape.window[0] = deep.shape.in.d = 3;
  oblong.shape.window[2] = 1;
  for (const Launch& other :
       {Conv(1, 8, 8, 8, 3, 2), Conv(1, 8, 8, 8, 1), Conv(1, 8, 8, 8, 7), grouped, deep, oblong}) {
    CHECK_FALSE(fused.Applies(other));
    CHECK_FALSE(apart.Applies(other));
    CHECK(implicit.Applies(other));
  }
  Launch linear = Conv(1, 8, 1, 8, 1);
  linear.kind = OpKind::kLinear;
  for (const KernelForm& form : ConvForms()) {
    INFO(form.name);
    CHECK_FALSE(form.Applies(linear));
    CHECK(form.algorithms(OpKind::kLinear, Pass::kForward).empty());
    CHECK(form.algorithms(OpKind::kConvolution, Pass::kUpdate).empty());
  }
}

TEST_CASE("Algorithms are the library's, each served once") {
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}) {
    std::set<std::string> served;
    for (const KernelForm& form : ConvForms()) {
      for (const char* name : form.algorithms(OpKind::kConvolution, pass)) {
        INFO(form.name << " " << name);
        CHECK(AlgorithmByName(OpKind::kConvolution, pass, name) > 0);
        CHECK(served.insert(name).second);
      }
    }
  }
}

TEST_CASE("More images or channels never take less time, adding never less than writing") {
  for (const Case& c : Cases()) {
    INFO(c.form.name << " " << PassName(c.launch.pass) << " " << ShapeText(c.launch.shape.in));
    const double time = TimeOf(c, c.launch);
    REQUIRE(time > 0);
    Launch images = c.launch, inputs = c.launch, outputs = c.launch, adding = c.launch;
    images.shape.in.n *= 2, images.shape.out.n *= 2;
    inputs.shape.in.c *= 2, outputs.shape.out.c *= 2;
    adding.accumulate = true;
    CHECK((TimeOf(c, images) >= time && TimeOf(c, images) <= 2.5 * time));
    for (const Launch& more : {inputs, outputs, adding}) CHECK(TimeOf(c, more) >= time);
  }
}

TEST_CASE("On a chip of twice the rates everything but the launches takes half the time") {
  for (const Case& c : Cases()) {
    INFO(c.form.name << " " << PassName(c.launch.pass) << " " << ShapeText(c.launch.shape.in));
    const std::vector<double> p = StartValues(c.form.parameters, {{"fixed", 0}});
    CHECK(c.form.time(c.launch, {18600, 1464, 56}, p) ==
          Approx(0.5 * c.form.time(c.launch, {9300, 732, 56}, p)).epsilon(1e-9));
  }
}

TEST_CASE("No layer of any size runs faster than the arithmetic it saves allows") {
  // Parameters at the bounds that make a law fastest; large layers, so that edges and launches do not matter. 36
  // products for 16 outputs of 9 elements save a factor of 4, 169 for 81 of 25 save 11.98, 16 for 4 of 9 save 2.25.
  const Chip chip{.peak_flops = 15700, .memory_bandwidth = 900, .multiprocessors = 80};
  const std::set<std::string> costs = {"tile_power", "prologue", "fill", "fixed", "quantisation"};
  for (const Case& c : Cases()) {
    std::vector<double> p;
    for (const FormParameter& q : c.form.parameters) p.push_back(costs.contains(q.name) ? q.lower : q.upper);
    const std::int64_t window = c.launch.shape.window[1], stride = c.launch.shape.stride[1];
    const Launch large = Conv(256, 1024, 36, 1024, window, stride, c.launch.pass);
    const Shape& out = large.shape.out;
    const double work =
        2.0 * static_cast<double>(out.Elements() * large.shape.in.c * window * window) / chip.peak_flops;
    const bool fused = std::string(c.form.name) == "winograd", apart = std::string(c.form.name) == "winograd_nonfused";
    const double saving = fused ? 2.25 : apart ? (window == 3 ? 4.0 : 11.98) : 1.0;
    INFO(c.form.name << " " << PassName(c.launch.pass) << " window " << window << " stride " << stride);
    CHECK(c.form.time(large, chip, p) >= 0.98 * work / saving);
  }
}

TEST_CASE("Groups run side by side, each too narrow for its tile") {
  const KernelForm form = ImplicitPrecompGemmForm();
  Launch launch = Conv(32, 128, 28, 128, 3);
  const double dense = form.time(launch, {9300, 732, 56}, StartValues(form.parameters));
  launch.shape.groups = 32;
  const double grouped = form.time(launch, {9300, 732, 56}, StartValues(form.parameters));
  // A 32nd of the work, but 4 of 32 columns used and a depth of 36: well above a 32nd of the time.
  CHECK(grouped < dense);
  CHECK(grouped > 4 * dense / 32);
}

}  // namespace
}  // namespace spillway
