// Kernels of the CPU device other than convolution and linear: against plain loops, and every backward against finite
// differences of its forward.
#include <catch2/catch.hpp>

#include "tests/cpu_reference.h"

namespace spillway {
namespace {

const Shape kFlat{2, 5, 1, 4, 6}, kDeep{2, 3, 4, 5, 4};

OpShape Alike(const Shape& shape) { return {.in = shape, .out = shape}; }

OpShape Pool(Shape in, std::array<std::int64_t, 3> window, std::array<std::int64_t, 3> stride,
             std::array<std::int64_t, 3> pad, std::array<std::int64_t, 3> out) {
  OpShape s{.in = in, .out = in, .window = window, .stride = stride, .pad = {pad[0], pad[1], pad[2]}};
  s.out.d = out[0];
  s.out.h = out[1];
  s.out.w = out[2];
  return s;
}

OpShape PaddedBehind(OpShape s) {
  s.pad[1] = s.pad[2] = Padding(0, 1);
  return s;
}

const std::vector<OpShape>& Pools() {
  static const std::vector<OpShape> pools = {
      Pool({2, 5, 1, 8, 6}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, {1, 4, 3}),
      Pool({2, 16, 1, 7, 9}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, {1, 4, 5}),
      Pool({1, 3, 1, 6, 6}, {1, 3, 3}, {1, 2, 2}, {0, 0, 0}, {1, 3, 3}),   // rounded up: (6 - 3) / 2 + 1 = 2.5
      Pool({1, 4, 1, 8, 8}, {1, 3, 3}, {1, 2, 2}, {0, 0, 0}, {1, 3, 3}),   // rounded down: the last column is left out
      Pool({2, 17, 1, 3, 3}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, {1, 3, 3}),  // overlapping
      Pool({2, 6, 1, 5, 4}, {1, 5, 4}, {1, 5, 4}, {0, 0, 0}, {1, 1, 1}),   // global
      Pool({2, 3, 4, 6, 6}, {2, 3, 3}, {2, 2, 2}, {0, 1, 1}, {2, 3, 3}),
      PaddedBehind(Pool({2, 5, 1, 6, 8}, {1, 3, 3}, {1, 2, 2}, {0, 0, 0}, {1, 3, 4})),  // as TensorFlow's SAME
  };
  return pools;
}

Values PoolReference(const OpShape& s, bool maximum, const Values& x) {
  Values y(Count(s.out), maximum ? -INFINITY : 0.0f);
  const float window = static_cast<float>(s.window[0] * s.window[1] * s.window[2]);
  for (std::int64_t plane = 0; plane < s.in.n * s.in.c; ++plane) {
    ForEachTap(s, [&](std::int64_t i, std::int64_t, std::int64_t o) {
      const float value = x[static_cast<std::size_t>(plane * s.in.Spatial() + i)];
      float& result = y[static_cast<std::size_t>(plane * s.out.Spatial() + o)];
      result = maximum ? std::max(result, value) : result + value / window;
    });
  }
  return y;
}

// Checks backward(reads) against differences of forward, and that accumulation adds to what is there.
template <typename Forward>
void CheckBackward(CpuKernels& kernels, OpCall call, const std::vector<Values>& reads, Forward forward, const Values& x,
                   const Values& dy, float step, const CpuArguments& arguments = {}) {
  const Values expected = NumericGradient(forward, x, dy, step);
  const Values before = RandomValues(x.size(), 99);
  const Values got = Result(kernels, call, reads, before, arguments);
  CHECK(Difference(got, expected) < 3e-3);
  call.launch.accumulate = true;
  Values sum = before;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += got[i];
  CHECK(Difference(Result(kernels, call, reads, before, arguments), sum) < 1e-6);
}

}  // namespace

TEST_CASE("max pooling") {
  CpuKernels kernels;
  const OpShape& s = GENERATE(from_range(Pools()));
  Values x(Count(s.in));  // all different by more than the step
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % x.size()) / 16.0f;
  const OpCall call = Call(OpKind::kMaxPool, Pass::kForward, s);
  const auto forward = [&](const Values& in) { return Result(kernels, call, {in}, Values(Count(s.out))); };
  const Values y = forward(x), dy = RandomValues(s.out, 2);
  CHECK(y == PoolReference(s, true, x));
  CheckBackward(kernels, Call(OpKind::kMaxPool, Pass::kBackward, s), {x, y, dy}, forward, x, dy, 1.0f / 64);
}

TEST_CASE("max pooling: the first of equal elements gets the gradient") {
  CpuKernels kernels;
  const OpShape s = Pool({1, 1, 1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, {1, 1, 1});
  const OpCall call = Call(OpKind::kMaxPool, Pass::kBackward, s);
  CHECK(Result(kernels, call, {{1, 3, 3, 3}, {3}, {5}}, Values(4)) == Values{0, 5, 0, 0});
}

TEST_CASE("average pooling") {
  CpuKernels kernels;
  const OpShape& s = GENERATE(from_range(Pools()));
  const Values x = RandomValues(s.in, 1), dy = RandomValues(s.out, 2);
  const OpCall call = Call(OpKind::kAveragePool, Pass::kForward, s);
  const auto forward = [&](const Values& in) { return Result(kernels, call, {in}, Values(Count(s.out))); };
  CHECK(Difference(forward(x), PoolReference(s, false, x)) < 1e-6);
  CheckBackward(kernels, Call(OpKind::kAveragePool, Pass::kBackward, s), {dy}, forward, x, dy, 0.5f);
}

TEST_CASE("ReLU, in place too") {
  CpuKernels kernels;
  const OpShape s = Alike(GENERATE(kFlat, kDeep));
  const Values x = RandomValues(s.in, 1), dy = RandomValues(s.in, 2);
  const OpCall forward = Call(OpKind::kRelu, Pass::kForward, s), backward = Call(OpKind::kRelu, Pass::kBackward, s);
  Values expected = x, gradient = dy;
  for (std::size_t i = 0; i < x.size(); ++i) {
    expected[i] = std::max(x[i], 0.0f);
    if (x[i] <= 0) gradient[i] = 0;
  }
  const Values y = Result(kernels, forward, {x}, Values(x.size(), NAN));
  CHECK(y == expected);
  CHECK(Result(kernels, backward, {y, dy}, Values(x.size(), NAN)) == gradient);
  OpCall adding = backward;
  adding.launch.accumulate = true;
  CHECK(Result(kernels, adding, {y, dy}, Values(x.size(), 0.0f)) == gradient);

  Values place = x;
  const std::array<void*, 1> one{place.data()};
  kernels.Prepare(forward).Run({.reads = one, .writes = one});
  CHECK(place == expected);
  place = dy;
  Values result = y;
  const std::array<void*, 2> two{result.data(), place.data()};
  kernels.Prepare(backward).Run({.reads = two, .writes = one});
  CHECK(place == gradient);
}

TEST_CASE("batch norm: forward") {
  CpuKernels kernels;
  const Shape shape = GENERATE(kFlat, kDeep);
  const std::size_t channels = static_cast<std::size_t>(shape.c), spatial = static_cast<std::size_t>(shape.Spatial());
  const Values x = RandomValues(shape, 1), scale = RandomValues(channels, 2), shift = RandomValues(channels, 3);
  std::vector<Values> writes{Values(x.size()), Values(channels), Values(channels)};
  Values running(2 * channels, 0.5f);
  RunCall(kernels, Call(OpKind::kBatchNorm, Pass::kForward, Alike(shape)), {x, scale, shift}, writes,
          {.running_statistics = running});
  Values expected(x.size());
  const double count = static_cast<double>(shape.n * shape.Spatial());
  for (std::size_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    const auto each = [&](auto body) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i / spatial % channels == c) body(i);
      }
    };
    each([&](std::size_t i) { sum += x[i]; });
    const double mean = sum / count;
    each([&](std::size_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    const double variance = squares / count;
    each([&](std::size_t i) {
      expected[i] = static_cast<float>((x[i] - mean) / std::sqrt(variance + 1e-5) * scale[c] + shift[c]);
    });
    CHECK(writes[1][c] == Approx(mean).margin(1e-6));
    // The running ones move a tenth of the way, to the unbiased variance.
    CHECK(running[c] == Approx(0.45 + 0.1 * mean));
    CHECK(running[channels + c] == Approx(0.45 + 0.1 * variance * count / (count - 1)));
  }
  CHECK(Difference(writes[0], expected) < 1e-5);

  // Recomputed: the same bits, and no statistics to touch.
  std::vector<Values> again{Values(x.size()), Values(channels), Values(channels)};
  const Values kept = running;
  RunCall(kernels, Call(OpKind::kBatchNorm, Pass::kForward, Alike(shape)), {x, scale, shift}, again);
  CHECK(again == writes);
  CHECK(running == kept);
}

TEST_CASE("batch norm: inference uses the running statistics") {
  CpuKernels kernels;
  const Shape shape{.n = 1, .c = 2};
  OpShape s = Alike(shape);
  s.operands = 0;
  Values running{1, 2, 4, 9};  // means, then variances
  // (3 - 1) / sqrt(4) * 10 + 1 = 11; (8 - 2) / sqrt(9) * 1 + 0 = 2; the added 1e-5 is below the tolerance
  const Values got = Result(kernels, Call(OpKind::kBatchNorm, Pass::kForward, s), {{3, 8}, {10, 1}, {1, 0}}, Values(2),
                            {.running_statistics = running});
  CHECK(got[0] == Approx(11).epsilon(1e-4));
  CHECK(got[1] == Approx(2).epsilon(1e-4));
  CHECK(running == Values{1, 2, 4, 9});
}

TEST_CASE("batch norm: backward") {
  CpuKernels kernels;
  const Shape shape = GENERATE(kFlat, kDeep);
  const std::size_t channels = static_cast<std::size_t>(shape.c);
  const Values x = RandomValues(shape, 1), scale = RandomValues(channels, 2), shift = RandomValues(channels, 3);
  const Values dy = RandomValues(shape, 4);
  const OpCall call = Call(OpKind::kBatchNorm, Pass::kForward, Alike(shape));
  std::vector<Values> saved;
  const auto forward = [&](const Values& in, const Values& by, const Values& to) {
    saved = {Values(in.size()), Values(channels), Values(channels)};
    RunCall(kernels, call, {in, by, to}, saved);
    return saved[0];
  };
  forward(x, scale, shift);
  const std::vector<Values> reads{x, dy, scale, saved[1], saved[2]};
  OpCall backward = Call(OpKind::kBatchNorm, Pass::kBackward, Alike(shape));
  const Values before = RandomValues(shape, 5);
  std::vector<Values> writes{before, Values(channels), Values(channels)};
  RunCall(kernels, backward, reads, writes);
  const auto by_input = [&](const Values& v) { return forward(v, scale, shift); };
  const auto by_scale = [&](const Values& v) { return forward(x, v, shift); };
  const auto by_shift = [&](const Values& v) { return forward(x, scale, v); };
  CHECK(Difference(writes[0], NumericGradient(by_input, x, dy, 0.01f)) < 3e-3);
  CHECK(Difference(writes[1], NumericGradient(by_scale, scale, dy, 0.5f)) < 1e-4);
  CHECK(Difference(writes[2], NumericGradient(by_shift, shift, dy, 0.5f)) < 1e-4);

  backward.launch.accumulate = true;  // of the input's gradient only
  std::vector<Values> sums{before, Values(channels, 7.0f), Values(channels, 7.0f)};
  RunCall(kernels, backward, reads, sums);
  for (std::size_t i = 0; i < before.size(); ++i) sums[0][i] -= before[i];
  CHECK(Difference(sums[0], writes[0]) < 1e-5);
  CHECK(sums[1] == writes[1]);

  backward.launch.accumulate = false;
  backward.details.input_gradient = false;
  std::vector<Values> parameters{Values(channels), Values(channels)};
  RunCall(kernels, backward, reads, parameters);
  CHECK(parameters[0] == writes[1]);
  CHECK(parameters[1] == writes[2]);
}

TEST_CASE("local response normalisation") {
  CpuKernels kernels;
  OpShape s = Alike(GENERATE(Shape{2, 9, 1, 9, 8}, Shape{1, 3, 2, 3, 3}));
  s.window[0] = 5;
  Values x = RandomValues(s.in, 1);
  for (float& value : x) value *= 100;  // else the constant 2 hides the sum of 1e-4 x^2
  const std::size_t spatial = static_cast<std::size_t>(s.in.Spatial()), channels = static_cast<std::size_t>(s.in.c);
  Values expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < channels; ++j) {
      const double other = x[i - i / spatial % channels * spatial + j * spatial];
      if (std::abs(static_cast<double>(j) - static_cast<double>(i / spatial % channels)) <= 2) sum += other * other;
    }
    expected[i] = static_cast<float>(x[i] * std::pow(2 + 1e-4 * sum, -0.75));
  }
  const OpCall call = Call(OpKind::kLrn, Pass::kForward, s);
  const auto forward = [&](const Values& in) { return Result(kernels, call, {in}, Values(in.size())); };
  const Values y = forward(x), dy = RandomValues(s.in, 2);
  CHECK(Difference(y, expected) < 1e-5);
  CheckBackward(kernels, Call(OpKind::kLrn, Pass::kBackward, s), {x, y, dy}, forward, x, dy, 1.0f);
}

TEST_CASE("softmax and its loss") {
  CpuKernels kernels;
  const OpShape s = Alike(GENERATE(Shape{.n = 4, .c = 7}, Shape{2, 5, 1, 3, 2}));
  const Values x = RandomValues(s.in, 1);
  const std::size_t positions = static_cast<std::size_t>(s.in.n * s.in.Spatial());
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < positions; ++i) labels.push_back(static_cast<std::int32_t>(i * 3) % 5);
  const OpCall call = Call(OpKind::kSoftmaxLoss, Pass::kForward, s);
  // A "result" of one element, so that the gradient is that of the loss.
  const auto loss = [&](const Values& in) {
    return Values{static_cast<float>(CrossEntropy(s.in, Result(kernels, call, {in}, Values(in.size())), labels))};
  };
  const Values p = Result(kernels, call, {x}, Values(x.size()));
  for (const float probability : p) CHECK((probability > 0 && probability < 1));
  CheckBackward(kernels, Call(OpKind::kSoftmaxLoss, Pass::kBackward, s), {p}, loss, x, {1}, 0.05f, {.labels = labels});
}

TEST_CASE("cross-entropy by hand") {
  // Probabilities of the labels 1/2 and 1/4: (log 2 + log 4) / 2 = 1.5 log 2.
  const std::vector<std::int32_t> labels{0, 1};
  const Values p{0.5f, 0.5f, 0.75f, 0.25f};
  CHECK(CrossEntropy({.n = 2, .c = 2}, p, labels) == Approx(1.5 * std::log(2.0)));
}

TEST_CASE("bias, in place") {
  CpuKernels kernels;
  const OpShape s = Alike({.n = 2, .c = 2, .h = 1, .w = 2});
  Values x{1, 2, 3, 4, 5, 6, 7, 8}, bias{10, 20};
  const std::array<void*, 2> reads{x.data(), bias.data()};
  kernels.Prepare(Call(OpKind::kBias, Pass::kForward, s)).Run({.reads = reads, .writes = {reads.data(), 1}});
  CHECK(x == Values{11, 12, 23, 24, 15, 16, 27, 28});
  // 1 + 2 + 5 + 6 = 14 and 3 + 4 + 7 + 8 = 22
  const OpCall backward = Call(OpKind::kBias, Pass::kBackwardBias, s);
  CHECK(Result(kernels, backward, {{1, 2, 3, 4, 5, 6, 7, 8}}, Values(2)) == Values{14, 22});
  const OpShape large = Alike({3, 2, 1, 5, 7});  // 35 elements a plane: not a multiple of the lanes
  CHECK(Result(kernels, Call(OpKind::kBias, Pass::kBackwardBias, large), {Values(Count(large.in), 1)}, Values(2)) ==
        Values{105, 105});
}

}  // namespace spillway
