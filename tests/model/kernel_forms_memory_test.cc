// The laws of memory-bound kernels, on a chip of 1 byte and 1 flop per nanosecond, so that times are bytes counted.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "model/kernels/kernel_form.h"
#include "model/step/launch.h"
#include "tests/form_values.h"

namespace spillway {
namespace {

constexpr Chip kChip{.peak_flops = 1, .memory_bandwidth = 1, .multiprocessors = 2, .l2_bytes = 1};

std::vector<KernelForm> MemoryForms() {
  return {ElementwiseForm(), BatchNormForm(), PoolingForm(), LrnForm(), SoftmaxForm()};
}

double TimeOf(const KernelForm& form, const Launch& launch, const Values& replaced, const Chip& chip = kChip) {
  return TimeOn(chip, form, launch, replaced);
}

Launch Square(OpKind kind, Pass pass, const Shape& shape, std::int64_t operands = 1) {
  return {.kind = kind, .pass = pass, .shape = {.in = shape, .out = shape, .operands = operands}};
}

// 2 samples of 10 channels of 5x5: 500 elements, 2000 bytes.
constexpr Shape kSmall{.n = 2, .c = 10, .h = 5, .w = 5};
const Values kPlain{{"latency", 100}, {"bandwidth_fraction", 0.5}};

TEST_CASE("Element-wise kernels pass once over each tensor at a fraction of the bandwidth") {
  const KernelForm form = ElementwiseForm();
  const auto time = [&](OpKind kind, Pass pass, std::int64_t operands = 1) {
    return TimeOf(form, Square(kind, pass, kSmall, operands), kPlain);
  };
  CHECK(time(OpKind::kRelu, Pass::kForward) == Approx(100 + 2 * 2000 / 0.5));
  CHECK(time(OpKind::kRelu, Pass::kBackward) == Approx(100 + 3 * 2000 / 0.5));
  CHECK(time(OpKind::kAdd, Pass::kForward, 3) == Approx(100 + 4 * 2000 / 0.5));
  CHECK(time(OpKind::kConcat, Pass::kForward, 2) == Approx(100 + 2 * 2000 / 0.5));
  CHECK(time(OpKind::kCopy, Pass::kBackward) == Approx(100 + 2 * 2000 / 0.5));
  CHECK(time(OpKind::kUpdate, Pass::kUpdate, 3) == Approx(100 + 5 * 2000 / 0.5));
  // A mask of one byte per element: 500 more. A bias of one word per channel: 40 more.
  CHECK(time(OpKind::kDropout, Pass::kForward) == Approx(100 + (2 * 2000 + 500) / 0.5));
  CHECK(time(OpKind::kBias, Pass::kForward) == Approx(100 + (2 * 2000 + 40) / 0.5));
  CHECK(time(OpKind::kBias, Pass::kBackwardBias) == Approx(100 + (2000 + 40) / 0.5));
}

TEST_CASE("What the L2 cache holds moves faster, down to nothing at its size") {
  const KernelForm form = ElementwiseForm();
  const Launch launch = Square(OpKind::kRelu, Pass::kForward, kSmall);  // touches 4000 bytes
  const Values p{{"latency", 1000}, {"bandwidth_fraction", 1}, {"cache_gain", 1}};
  const auto with_cache = [&](double bytes) {
    Chip chip = kChip;
    chip.l2_bytes = bytes;
    return TimeOf(form, launch, p, chip);
  };
  CHECK(with_cache(4000) == Approx(1000 + 4000));               // share 2 - 2 * 4000 / 4000 = 0
  CHECK(with_cache(16000 / 3.0) == Approx(1000 + 4000 / 1.5));  // share 2 - 2 * 3 / 4 = 0.5
  CHECK(with_cache(8000) == Approx(1000 + 2000));               // share 1: twice the rate
  CHECK(with_cache(1e9) == Approx(1000 + 2000));
}

TEST_CASE("Batch norm reduces with one block per channel, in rounds of four blocks per multiprocessor") {
  const KernelForm form = BatchNormForm();
  // x of 4 samples, 10 channels, 6x6: 1440 elements, 5760 bytes, 576 a channel.
  const Shape shape{.n = 4, .c = 10, .h = 6, .w = 6};
  // Blocks so fast that the bandwidth binds, planes that cost next to nothing.
  const Values p{{"latency", 0},      {"bandwidth_fraction", 1}, {"reduction_fraction", 0.75},
                 {"block_rate", 1e9}, {"block_latency", 7},      {"plane_cost", 1e-9}};
  // Forward: statistics 5760 / 0.75, then x, y and four vectors of 10 words; 5 = ceil(10 / 2) blocks per
  // multiprocessor.
  CHECK(TimeOf(form, Square(OpKind::kBatchNorm, Pass::kForward, shape), p) ==
        Approx(5760 / 0.75 + 5 * 7 + 2 * 5760 + 4 * 40));
  // Backward: both sums read x and dy, then three tensors and five vectors.
  CHECK(TimeOf(form, Square(OpKind::kBatchNorm, Pass::kBackward, shape), p) ==
        Approx(2 * 5760 / 0.75 + 5 * 7 + 3 * 5760 + 5 * 40));
}

TEST_CASE("Batch norm backward in three dimensions is its channels' blocks alone") {
  const KernelForm form = BatchNormForm();
  const Values p{{"latency", 0},      {"bandwidth_fraction", 1e-3}, {"reduction_fraction", 0.75},
                 {"block_rate", 1e9}, {"block_latency", 7},         {"plane_cost", 1e9}};
  // 1440 elements: the sums read two tensors, the gradient moves three and five vectors of 10 words.
  const Shape volume{.n = 4, .c = 10, .d = 2, .h = 6, .w = 3};
  CHECK(TimeOf(form, Square(OpKind::kBatchNorm, Pass::kBackward, volume), p) ==
        Approx((5 * 5760 + 5 * 40) / 0.75 + 5 * 7));
}

TEST_CASE("Few channels leave a chip idle in the reduction of batch norm") {
  const KernelForm form = BatchNormForm();
  const Values p{{"latency", 0},       {"bandwidth_fraction", 1}, {"reduction_fraction", 1},
                 {"block_rate", 0.01}, {"block_latency", 1e-9},   {"plane_cost", 1e-9}};
  const auto reduction = [&](std::int64_t channels) {
    const Shape shape{.n = 1, .c = channels, .h = 5, .w = 5};  // 100 bytes a channel
    const double writing = static_cast<double>(channels) * (2 * 100 + 4 * 4);
    return TimeOf(form, Square(OpKind::kBatchNorm, Pass::kForward, shape), p) - writing;
  };
  // A block needs 100 / 0.01 = 10000 ns alone; all of them 100 ns each by bandwidth. 8 blocks fit at once.
  CHECK(reduction(1) == Approx(std::sqrt(10000.0 * 10000 + 100.0 * 100)));
  CHECK(reduction(8) == Approx(std::sqrt(10000.0 * 10000 + 800.0 * 800)));
  CHECK(reduction(9) == Approx(reduction(8) + reduction(1)));
  CHECK(reduction(16) == Approx(2 * reduction(8)));
}

TEST_CASE("Batch norm with given statistics is one writing pass with its own cost of planes") {
  const KernelForm form = BatchNormForm();
  Launch launch = Square(OpKind::kBatchNorm, Pass::kForward, {.n = 10, .c = 10, .h = 5, .w = 5}, 0);
  // Memory: x and y of 10000 bytes, four vectors of 40: 20160. Planes: 100 of c ns over 2 multiprocessors.
  const auto time = [&](double plane) {
    return TimeOf(form, launch,
                  {{"latency", 5}, {"bandwidth_fraction", 1}, {"plane_cost", 1e9}, {"given_plane_cost", plane}});
  };
  CHECK(time(1e-9) == Approx(5 + 20160));
  CHECK(time(2 * 151.2) == Approx(5 + 20160 * 1.25));  // 15120 beside 20160: 3, 4, 5
}

TEST_CASE("Pooling visits no more elements than the image has, and no more windows than there are") {
  const KernelForm form = PoolingForm();
  const Values p{{"latency", 0}, {"bandwidth_fraction", 1}, {"visit_fraction", 0.0001}, {"growth", 1}};
  const auto time = [&](Pass pass, std::int64_t window, std::int64_t pad) {
    Launch launch = Square(OpKind::kMaxPool, pass, {.n = 1, .c = 1, .h = 8, .w = 8});
    launch.shape.out.h = launch.shape.out.w = 8 + 2 * pad - window + 1;
    launch.shape.window = {1, window, window};
    launch.shape.pad = {0, pad, pad};
    return TimeOf(form, launch, p);
  };
  // 9 x 9 results of 1,024 numbers, of which the image has 64. 2 x 2 results cover a number at most four times.
  CHECK(time(Pass::kForward, 32, 16) == Approx(9 * 9 * 64 / 0.0001).epsilon(0.01));
  CHECK(time(Pass::kForward, 4, 0) == Approx(5 * 5 * 16 / 0.0001).epsilon(0.01));
  CHECK(time(Pass::kBackward, 7, 0) == Approx(64 * 4 / 0.0001).epsilon(0.01));
  CHECK(time(Pass::kBackward, 2, 0) == Approx(64 * 4 / 0.0001).epsilon(0.01));
}

TEST_CASE("Pooling visits the elements of its windows beside moving its tensors") {
  const KernelForm form = PoolingForm();
  // 1 x 1 x 8 x 8 in, 4 x 4 out, 3x3 windows with stride 2: 64 and 16 elements, 256 + 64 bytes each way.
  Launch launch{.kind = OpKind::kMaxPool,
                .pass = Pass::kForward,
                .shape = {.in = {.h = 8, .w = 8}, .out = {.h = 4, .w = 4}, .window = {1, 3, 3}, .stride = {1, 2, 2}}};
  const auto time = [&](double visit_fraction, double growth) {
    return TimeOf(form, launch,
                  {{"latency", 5},
                   {"bandwidth_fraction", 1},
                   {"visit_fraction", visit_fraction},
                   {"plane_cost", 0},
                   {"growth", growth}});
  };
  CHECK(time(1e9, 1) == Approx(5 + 320));
  CHECK(time(16 * 9 / 240.0, 1) == Approx(5 + 400));  // 144 visits in 240 ns beside 320: 3, 4, 5
  CHECK(time(16 * 3 / 240.0, 0.5) == Approx(5 + 400));
  launch.kind = OpKind::kAveragePool;
  CHECK(time(16 * 9 / 240.0, 1) == Approx(5 + 400));
  launch.pass = Pass::kBackward;  // (3 / 2)^2 windows cover each of the 64 elements of the input
  CHECK(time(64 * 2.25 / 240.0, 1) == Approx(5 + 400));
  launch.kind = OpKind::kMaxPool;  // x, y, dy, dx: 640 bytes
  CHECK(time(64 * 2.25 / 480.0, 1) == Approx(5 + 800));
  // 3 x 5 planes of 8x8: 15 times the bytes, 4800 for all; no visits to speak of, 15 c / 2 ns of planes.
  launch.pass = Pass::kForward;
  launch.shape.in.n = launch.shape.out.n = 3;
  launch.shape.in.c = launch.shape.out.c = 5;
  CHECK(
      TimeOf(form, launch, {{"latency", 5}, {"bandwidth_fraction", 1}, {"visit_fraction", 1e9}, {"plane_cost", 480}}) ==
      Approx(5 + 6000));  // 3600 beside 4800
}

TEST_CASE("Windows that leave gaps are found as easily as ones that touch") {
  const KernelForm form = PoolingForm();
  Launch launch{.kind = OpKind::kAveragePool,
                .pass = Pass::kBackward,
                .shape = {.in = {.h = 8, .w = 8}, .out = {.h = 2, .w = 2}, .window = {1, 2, 2}, .stride = {1, 4, 4}}};
  const double gaps = TimeOf(form, launch, {{"plane_cost", 0}, {"growth", 1}});
  launch.shape.stride = {1, 2, 2};
  CHECK(TimeOf(form, launch, {{"plane_cost", 0}, {"growth", 1}}) == Approx(gaps));
}

TEST_CASE("LRN sums over its channels and raises to a power beside moving its tensors") {
  const KernelForm form = LrnForm();
  Launch launch = Square(OpKind::kLrn, Pass::kForward, kSmall);
  launch.shape.window = {5, 1, 1};
  // 4000 bytes at 1 byte/ns; 500 elements of 5 + 10 visits: 7500 visits in 3000 ns.
  CHECK(
      TimeOf(form, launch, {{"latency", 5}, {"bandwidth_fraction", 1}, {"visit_fraction", 2.5}, {"power_cost", 10}}) ==
      Approx(5 + 5000));
  launch.pass = Pass::kBackward;  // x, y, dy, dx
  CHECK(
      TimeOf(form, launch, {{"latency", 5}, {"bandwidth_fraction", 1}, {"visit_fraction", 1e9}, {"power_cost", 10}}) ==
      Approx(5 + 8000));
}

TEST_CASE("Softmax sweeps rows again that a warp does not hold") {
  const KernelForm form = SoftmaxForm();
  const auto passes = [&](std::int64_t columns) {
    const Launch launch = Square(OpKind::kSoftmaxLoss, Pass::kForward, {.n = 3, .c = columns});
    const double once = 2.0 * 3 * 4 * static_cast<double>(columns);
    return (TimeOf(form, launch, {{"latency", 5}, {"bandwidth_fraction", 1}, {"reread", 0.5}, {"rest", 0.25}}) - 5) /
           once;
  };
  CHECK(passes(10) == Approx(1));
  CHECK(passes(1024) == Approx(1));
  CHECK(passes(1025) == Approx(1.75));
  CHECK(passes(1028) == Approx(1.5));  // aligned
  CHECK(passes(1279) == Approx(1.75));
  CHECK(passes(1281) == Approx(1.5));  // more than a quarter beyond
  CHECK(passes(2047) == Approx(1.5));
  CHECK(passes(2049) == Approx(1.75));
  CHECK(passes(5119) == Approx(1.75));
  CHECK(passes(5121) == Approx(1.5));
}

std::vector<Launch> LaunchesOf(const KernelForm& form, const Shape& shape) {
  std::vector<Launch> launches;
  for (int kind = 0; kind <= static_cast<int>(OpKind::kUpdate); ++kind) {
    for (int pass = 0; pass <= static_cast<int>(Pass::kUpdate); ++pass) {
      Launch launch = Square(static_cast<OpKind>(kind), static_cast<Pass>(pass), shape, 2);
      launch.shape.window = launch.shape.stride = {1, 1, 1};
      if (form.Applies(launch)) launches.push_back(launch);
    }
  }
  return launches;
}

TEST_CASE("Every memory-bound op and pass has one form, and only the heavy ones have none") {
  std::array<int, static_cast<std::size_t>(OpKind::kUpdate) + 1> passes{};
  for (const KernelForm& form : MemoryForms()) {
    for (const Launch& launch : LaunchesOf(form, kSmall)) {
      ++passes[static_cast<std::size_t>(launch.kind)];
      CHECK(form.algorithms(launch.kind, launch.pass).size() == 1);
      CHECK(std::string(form.algorithms(launch.kind, launch.pass)[0]).empty());
      CHECK(form.workspace(launch) == 0);
    }
    CHECK(form.algorithms(OpKind::kConvolution, Pass::kForward).empty());
  }
  for (std::size_t kind = 0; kind < passes.size(); ++kind) {
    INFO(OpKindName(static_cast<OpKind>(kind)));
    const bool heavy =
        kind == static_cast<std::size_t>(OpKind::kConvolution) || kind == static_cast<std::size_t>(OpKind::kLinear);
    CHECK(passes[kind] == (heavy ? 0 : kind == static_cast<std::size_t>(OpKind::kUpdate) ? 1 : 2));
  }
}

// A V100's figures: laws that are sane only on the unit chip would show here.
TEST_CASE("More work takes longer, more bandwidth and smaller elements do not") {
  const Chip chip{.peak_flops = 15700, .memory_bandwidth = 900, .multiprocessors = 80, .l2_bytes = 6 << 20};
  Chip faster = chip;
  faster.memory_bandwidth *= 2;
  for (const KernelForm& form : MemoryForms()) {
    const std::vector<double> p = StartValues(form.parameters);
    for (const Launch& launch : LaunchesOf(form, {.n = 32, .c = 64, .h = 28, .w = 28})) {
      INFO(form.name << ' ' << OpKindName(launch.kind) << ' ' << PassName(launch.pass));
      const double time = form.time(launch, chip, p);
      CHECK(time > CountWork(launch).bytes / 900);
      CHECK(form.time(launch, faster, p) < time);
      Launch other = launch;
      other.shape.in.n = other.shape.out.n = 64;
      CHECK(form.time(other, chip, p) > time);
      other = launch;
      other.type = DataType::kFp16;
      CHECK(form.time(other, chip, p) < time);
      other = launch;
      other.accumulate = true;
      CHECK(form.time(other, chip, p) >= time);
    }
  }
}

}  // namespace
}  // namespace spillway
