// Kernels of the CPU device from image to image: transposed and dilated convolutions, resizing, slices.
#include <array>
#include <catch2/catch.hpp>

#include "tests/cpu_reference.h"

namespace spillway {
namespace {

constexpr std::array kPasses{Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter};

// Elements of both operands and the result.
std::array<std::size_t, 3> Sizes(const OpShape& s, Pass pass) {
  const std::size_t in = Count(s.in), weight = WeightCount(s), out = Count(s.out);
  if (pass == Pass::kForward) return {in, weight, out};
  if (pass == Pass::kBackwardData) return {weight, out, in};
  return {in, out, weight};
}

// Of the convolution that halves; transposed it is the other way round.
OpShape Halving(std::int64_t groups, std::int64_t depth) {
  OpShape s{.in = {.n = 2, .c = 4, .d = 2 * depth, .h = 7, .w = 6},
            .out = {.n = 2, .c = 6, .d = depth, .h = 4, .w = 3},
            .window = {depth, 3, 2},
            .stride = {depth, 2, 2},
            .pad = {0, 1, 0},
            .groups = groups};
  if (depth == 1) s.in.d = 1;
  return s;
}

OpCall Transposed(OpShape shape, Pass pass, bool accumulate) {
  std::swap(shape.in, shape.out);
  return Call(OpKind::kTransposedConvolution, ExchangedPass(pass), shape, accumulate);
}

OpCall Resized(const Shape& in, const Shape& out, Pass pass, bool linear, bool accumulate = false) {
  OpCall call = Call(OpKind::kResize, pass, {.in = in, .out = out}, accumulate);
  call.details.linear = linear;
  return call;
}

// A forward op that is linear in its input has the gradient of which this holds for any x and dy.
double Dot(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

void CheckAdjoint(CpuKernels& kernels, const OpCall& forward, const OpCall& backward) {
  const Shape &in = forward.launch.shape.in, &out = forward.launch.shape.out;
  const Values x = RandomValues(in, 1), dy = RandomValues(out, 2), before = RandomValues(in, 3);
  const Values y = Result(kernels, forward, {x}, Values(Count(out)));
  const Values dx = Result(kernels, backward, {dy}, Values(Count(in), 7.0f));
  CHECK(Dot(y, dy) == Approx(Dot(x, dx)).epsilon(1e-4).margin(1e-4));
  OpCall added = backward;
  added.launch.accumulate = true;
  Values sum = before;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += dx[i];
  CHECK(Difference(Result(kernels, added, {dy}, before), sum) < 1e-6);
}

}  // namespace

TEST_CASE("transposed convolution: every pass and algorithm computes what loops compute") {
  CpuKernels kernels;
  for (const OpShape& shape : {Halving(1, 1), Halving(2, 1), Halving(1, 2)}) {
    for (const Pass pass : kPasses) {
      const auto [first, second, result] = Sizes(shape, pass);
      const Values a = RandomValues(first, 1), b = RandomValues(second, 2), before = RandomValues(result, 3);
      for (const bool accumulate : {false, true}) {
        OpCall call = Transposed(shape, pass, accumulate);
        const Values expected = ConvolutionReference(shape, pass, a, b, accumulate ? before : Values(result, 0.0f));
        const std::vector<CpuAlgorithm> algorithms = kernels.Algorithms(call);
        REQUIRE(!algorithms.empty());
        for (const CpuAlgorithm& algorithm : algorithms) {
          INFO(PassName(call.launch.pass) << ' ' << algorithm.implementation << ' ' << accumulate);
          call.launch.algorithm = algorithm.algorithm;
          call.launch.workspace = algorithm.workspace;
          CHECK(Difference(Result(kernels, call, {a, b}, before), expected) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("dilated convolution: every pass and algorithm computes what loops compute") {
  CpuKernels kernels;
  const OpShape shape{.in = {.n = 2, .c = 4, .h = 9, .w = 10},
                      .out = {.n = 2, .c = 6, .h = 9, .w = 4},
                      .window = {1, 3, 2},
                      .stride = {1, 1, 2},
                      .dilation = {1, 2, 3},
                      .pad = {0, 2, Padding(0, 1)}};
  for (const Pass pass : kPasses) {
    const auto [first, second, result] = Sizes(shape, pass);
    const Values a = RandomValues(first, 1), b = RandomValues(second, 2);
    OpCall call = Call(OpKind::kConvolution, pass, shape);
    for (const CpuAlgorithm& algorithm : kernels.Algorithms(call)) {
      INFO(PassName(pass) << ' ' << algorithm.implementation);
      call.launch.algorithm = algorithm.algorithm;
      const Values expected = ConvolutionReference(shape, pass, a, b, Values(result, 0.0f));
      CHECK(Difference(Result(kernels, call, {a, b}, Values(result)), expected) < 1e-5);
    }
  }
}

TEST_CASE("resize: by the nearest place, and between neighbours") {
  CpuKernels kernels;
  const Shape three{.w = 3}, six{.w = 6}, five{.w = 5}, two{.w = 2};
  const Values x{1, 2, 4};
  CHECK(Result(kernels, Resized(three, six, Pass::kForward, false), {x}, Values(6)) == Values{1, 1, 2, 2, 4, 4});
  CHECK(Result(kernels, Resized(three, five, Pass::kForward, false), {x}, Values(5)) == Values{1, 1, 2, 2, 4});
  CHECK(Result(kernels, Resized(three, two, Pass::kForward, false), {x}, Values(2)) == Values{1, 2});
  // At -1/4 (the edge), 1/4, 3/4, 5/4, 7/4, 9/4 (the edge).
  CHECK(Result(kernels, Resized(three, six, Pass::kForward, true), {x}, Values(6)) ==
        Values{1, 1.25f, 1.75f, 2.5f, 3.5f, 4});
  CHECK(Result(kernels, Resized(three, two, Pass::kForward, true), {x}, Values(2)) == Values{1.25f, 3.5f});
  // Each place of the input gets what it has given.
  CHECK(Result(kernels, Resized(three, five, Pass::kBackward, false), {{1, 2, 3, 4, 5}}, Values(3)) == Values{3, 7, 5});
}

TEST_CASE("resize: the gradient is the transposed of what forward does, in each dimension") {
  CpuKernels kernels;
  const Shape in{.n = 2, .c = 3, .d = 2, .h = 5, .w = 4};
  for (const Shape& out :
       {Shape{.n = 2, .c = 3, .d = 4, .h = 10, .w = 8}, Shape{.n = 2, .c = 3, .d = 1, .h = 3, .w = 9}}) {
    for (const bool linear : {false, true}) {
      INFO(ShapeText(out) << ' ' << linear);
      CheckAdjoint(kernels, Resized(in, out, Pass::kForward, linear), Resized(in, out, Pass::kBackward, linear));
    }
  }
}

TEST_CASE("slice: the box is copied, and its gradient lies in zeros") {
  CpuKernels kernels;
  const Shape whole{.n = 2, .c = 2, .h = 3, .w = 3}, part{.n = 2, .c = 1, .h = 2, .w = 2};
  OpCall call = Call(OpKind::kSlice, Pass::kForward, {.in = whole, .out = part});
  call.details.slices = {{0, {.begin = {0, 1, 0, 1, 0}, .end = {2, 2, 1, 3, 2}}}};
  Values x(36);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  CHECK(Result(kernels, call, {x}, Values(8)) == Values{12, 13, 15, 16, 30, 31, 33, 34});
  OpCall back = call;
  back.launch.pass = Pass::kBackward;
  CheckAdjoint(kernels, call, back);
  // One sample of two: a part of the op.
  call.launch.shape.in.n = call.launch.shape.out.n = 1;
  CHECK(Result(kernels, call, {Values(x.begin(), x.begin() + 18)}, Values(4)) == Values{12, 13, 15, 16});
}

TEST_CASE("a loss of a weight has the gradient times that weight") {
  CpuKernels kernels;
  const Shape shape{.n = 2, .c = 3, .h = 2, .w = 2};
  OpCall call = Call(OpKind::kSoftmaxLoss, Pass::kBackward, {.in = shape, .out = shape});
  const Values p = RandomValues(shape, 1);
  const std::vector<std::int32_t> labels{0, 1, 2, 0, 1, 2, 0, 1};
  const CpuArguments arguments{.labels = labels};
  const Values once = Result(kernels, call, {p}, Values(24), arguments);
  call.details.loss_weight = 0.25;
  Values quarter = Result(kernels, call, {p}, Values(24), arguments);
  for (float& value : quarter) value *= 4;
  CHECK(Difference(quarter, once) < 1e-6);
}

}  // namespace spillway
