// Kernels over tokens: against plain loops, and backward against finite differences of forward.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "model/step/heads.h"
#include "tests/cpu_reference.h"

namespace spillway {
namespace {

OpCall WithWhole(OpCall call, const Shape& whole) {
  call.details.whole = whole;
  return call;
}

// Backward(reads) is the gradient of forward, and accumulates.
template <typename Forward>
void CheckGradient(CpuKernels& kernels, OpCall call, const std::vector<Values>& reads, Forward forward, const Values& x,
                   const Values& dy) {
  const Values before = RandomValues(x.size(), 77), got = Result(kernels, call, reads, before);
  CHECK(Difference(got, NumericGradient(forward, x, dy, 0.03125f)) < 3e-3);
  call.launch.accumulate = true;
  Values sum = before;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += got[i];
  CHECK(Difference(Result(kernels, call, reads, before), sum) < 1e-6);
}

std::size_t At(const Shape& shape, std::int64_t n, std::int64_t c, std::int64_t i) {
  return static_cast<std::size_t>((n * shape.c + c) * shape.Spatial() + i);
}

// ---- Attention by plain loops.

struct Attended {
  HeadSplit split;
  bool causal = false;
  std::int64_t samples = 2;

  Shape Queries() const { return {.n = samples, .c = split.heads * split.size, .w = split.queries}; }
  Shape Keys() const { return {.n = samples, .c = split.kv_heads * split.size, .w = split.keys}; }
  Shape Packed() const { return {.n = samples, .c = (split.heads + 2 * split.kv_heads) * split.size, .w = split.keys}; }
  Shape Sums() const { return {.n = samples, .c = split.heads, .w = split.queries}; }

  OpCall CallOfPass(Pass pass) const {
    OpCall call =
        Call(OpKind::kAttention, pass,
             {.in = Keys(), .out = Queries(), .groups = split.heads, .operands = AttentionOperands(causal, false)});
    call.details.heads = split;
    call.details.slices = {{0, {}}};
    if (!split.packed) call.details.slices = {{0, {}}, {1, {}}, {2, {}}};
    return call;
  }

  Values Reference(const Values& q, const Values& k, const Values& v) const {
    Values y(Count(Queries()));
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::int64_t head = 0; head < split.heads; ++head) {
        for (std::int64_t i = 0; i < split.queries; ++i) Row(n, head, i, q, k, v, y);
      }
    }
    return y;
  }

 private:
  void Row(std::int64_t n, std::int64_t head, std::int64_t i, const Values& q, const Values& k, const Values& v,
           Values& y) const {
    const std::int64_t kv = head * split.kv_heads / split.heads, seen = causal ? i + 1 : split.keys;
    std::vector<double> p;
    double sum = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      double score = 0;
      for (std::int64_t c = 0; c < split.size; ++c) {
        score += static_cast<double>(q[At(Queries(), n, head * split.size + c, i)]) *
                 k[At(Keys(), n, kv * split.size + c, j)];
      }
      p.push_back(std::exp(score / std::sqrt(static_cast<double>(split.size))));
      sum += p.back();
    }
    for (std::int64_t c = 0; c < split.size; ++c) {
      double mixed = 0;
      for (std::int64_t j = 0; j < seen; ++j) {
        mixed += p[static_cast<std::size_t>(j)] / sum * v[At(Keys(), n, kv * split.size + c, j)];
      }
      y[At(Queries(), n, head * split.size + c, i)] = static_cast<float>(mixed);
    }
  }
};

const std::vector<Attended>& Shapes() {
  static const std::vector<Attended> shapes = {{{.heads = 2, .kv_heads = 2, .size = 3, .queries = 5, .keys = 5}, false},
                                               {{.heads = 4, .kv_heads = 2, .size = 2, .queries = 6, .keys = 6}, true},
                                               {{.heads = 3, .kv_heads = 1, .size = 4, .queries = 2, .keys = 7}, false},
                                               {{.heads = 1, .kv_heads = 1, .size = 1, .queries = 1, .keys = 1}, true}};
  return shapes;
}

Values Join(const std::vector<Values>& parts, const Attended& a) {
  Values joined;
  const auto slice = [&](const Values& from, const Shape& shape, std::int64_t n) {
    const std::size_t size = Count(shape) / static_cast<std::size_t>(shape.n),
                      begin = size * static_cast<std::size_t>(n);
    joined.insert(joined.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
                  from.begin() + static_cast<std::ptrdiff_t>(begin + size));
  };
  for (std::int64_t n = 0; n < a.samples; ++n) {
    slice(parts[0], a.Queries(), n), slice(parts[1], a.Keys(), n), slice(parts[2], a.Keys(), n);
  }
  return joined;
}

}  // namespace

TEST_CASE("linear layers of each position") {
  CpuKernels kernels;
  const OpShape s{.in = {2, 5, 1, 3, 4}, .out = {2, 7, 1, 3, 4}};
  const Values x = RandomValues(s.in, 1), w = RandomValues(35, 2), dy = RandomValues(s.out, 3);
  const auto forward = [&](const Values& in, const Values& weight) {
    return Result(kernels, Call(OpKind::kLinear, Pass::kForward, s), {in, weight}, Values(Count(s.out), NAN));
  };
  const Values y = forward(x, w);
  double sum = 0;
  for (std::int64_t c = 0; c < 5; ++c)
    sum += static_cast<double>(w[static_cast<std::size_t>(5 * 4 + c)]) * x[At(s.in, 1, c, 7)];
  CHECK(y[At(s.out, 1, 4, 7)] == Approx(sum).margin(1e-5));
  CheckGradient(
      kernels, Call(OpKind::kLinear, Pass::kBackwardData, s), {w, dy}, [&](const Values& in) { return forward(in, w); },
      x, dy);
  CheckGradient(
      kernels, Call(OpKind::kLinear, Pass::kBackwardFilter, s), {x, dy},
      [&](const Values& weight) { return forward(x, weight); }, w, dy);
}

TEST_CASE("a linear layer of the first position") {
  CpuKernels kernels;
  const Shape whole{2, 5, 1, 1, 4};
  const OpShape s{.in = {.n = 2, .c = 5}, .out = {.n = 2, .c = 3}};
  const Values x = RandomValues(whole, 1), w = RandomValues(15, 2), dy = RandomValues(s.out, 3);
  const auto of = [&](Pass pass) { return WithWhole(Call(OpKind::kLinear, pass, s), whole); };
  const auto forward = [&](const Values& in, const Values& weight) {
    return Result(kernels, of(Pass::kForward), {in, weight}, Values(Count(s.out), NAN));
  };
  double sum = 0;
  for (std::int64_t c = 0; c < 5; ++c)
    sum += static_cast<double>(w[static_cast<std::size_t>(5 + c)]) * x[At(whole, 1, c, 0)];
  CHECK(forward(x, w)[4] == Approx(sum).margin(1e-5));
  CheckGradient(
      kernels, of(Pass::kBackwardData), {w, dy}, [&](const Values& in) { return forward(in, w); }, x, dy);
  CheckGradient(
      kernels, of(Pass::kBackwardFilter), {x, dy}, [&](const Values& weight) { return forward(x, weight); }, w, dy);
}

TEST_CASE("softmax over channels and along the width") {
  CpuKernels kernels;
  const bool along = GENERATE(false, true);
  const OpShape s{.in = {2, 4, 1, 3, 5}, .out = {2, 4, 1, 3, 5}, .window = {along ? 1 : 4, 1, along ? 5 : 1}};
  OpCall call = Call(OpKind::kSoftmax, Pass::kForward, s);
  call.details.along_width = along;
  const Values x = RandomValues(s.in, 1), dy = RandomValues(s.in, 2);
  const auto forward = [&](const Values& in) { return Result(kernels, call, {in}, Values(Count(s.in), NAN)); };
  const Values y = forward(x);
  const std::size_t stride = along ? 1 : 15, count = along ? 5 : 4, begin = along ? 30 : 7;
  double sum = 0, exponentials = 0;
  for (std::size_t k = 0; k < count; ++k) {
    sum += y[begin + k * stride];
    exponentials += std::exp(static_cast<double>(x[begin + k * stride]));
  }
  CHECK(sum == Approx(1));
  CHECK(y[begin + stride] == Approx(std::exp(static_cast<double>(x[begin + stride])) / exponentials));
  call.launch.pass = Pass::kBackward;
  const OpCall backward = call;
  call.launch.pass = Pass::kForward;
  CheckGradient(kernels, backward, {y, dy}, forward, x, dy);
}

TEST_CASE("embeddings take rows, and sum their gradients where tokens repeat") {
  CpuKernels kernels;
  const OpShape s{.in = {.n = 2, .c = 5, .w = 3}, .out = {.n = 2, .c = 4, .w = 3}};
  OpCall call = WithWhole(Call(OpKind::kEmbedding, Pass::kForward, s), {.n = 2, .c = 2, .w = 3});
  call.details.row = 1;
  std::vector<std::int64_t> tokens{9, 9, 9, 4, 0, 4, 9, 9, 9, 1, 4, 2};  // row 1: 4 0 4 and 1 4 2
  const auto run = [&](const OpCall& one, const Values& second, Values result) {
    Values input = second;
    const std::array<void*, 2> reads{tokens.data(), input.data()};
    const std::array<void*, 1> writes{result.data()};
    kernels.Prepare(one).Run({.reads = reads, .writes = writes});
    return result;
  };
  const Values table = RandomValues(20, 1), dy = RandomValues(s.out, 2);
  const auto forward = [&](const Values& rows) { return run(call, rows, Values(Count(s.out), NAN)); };
  CHECK(forward(table)[At(s.out, 0, 3, 2)] == table[4 * 4 + 3]);
  CHECK(forward(table)[At(s.out, 1, 0, 0)] == table[4]);
  OpCall backward = call;
  backward.launch.pass = Pass::kBackwardBias;
  const Values got = run(backward, dy, RandomValues(20, 5));
  CHECK(Difference(got, NumericGradient(forward, table, dy, 0.03125f)) < 1e-3);
  backward.launch.accumulate = true;
  Values sum = table;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += got[i];
  CHECK(Difference(run(backward, dy, table), sum) < 1e-6);
  tokens[3] = 5;
  CHECK_THROWS_WITH(forward(table), Catch::Contains("token 5 is not below the vocabulary, 5"));
}

TEST_CASE("vectors of positions, a token in front, rotation") {
  CpuKernels kernels;
  const OpShape s{.in = {.n = 2, .c = 4, .w = 3}, .out = {.n = 2, .c = 4, .w = 3}};
  const Shape vectors{.n = 1, .c = 4, .w = 5};
  const auto position = [&](Pass pass) { return WithWhole(Call(OpKind::kPosition, pass, s), vectors); };
  const Values x = RandomValues(s.in, 1), table = RandomValues(vectors, 2), dy = RandomValues(s.out, 3);
  const auto added = [&](const Values& rows) {
    return Result(kernels, position(Pass::kForward), {x, rows}, Values(Count(s.out), NAN));
  };
  CHECK(added(table)[At(s.out, 1, 2, 1)] == x[At(s.in, 1, 2, 1)] + table[2 * 5 + 1]);
  CheckGradient(kernels, position(Pass::kBackwardBias), {dy}, added, table, dy);

  const OpShape front{.in = s.in, .out = {.n = 2, .c = 4, .w = 4}};
  const Values token = RandomValues(4, 4), longer = RandomValues(front.out, 5);
  const auto put = [&](const Values& in, const Values& first) {
    return Result(kernels, Call(OpKind::kClassToken, Pass::kForward, front), {in, first},
                  Values(Count(front.out), NAN));
  };
  CHECK(put(x, token)[At(front.out, 1, 2, 0)] == token[2]);
  CHECK(put(x, token)[At(front.out, 1, 2, 3)] == x[At(s.in, 1, 2, 2)]);
  CheckGradient(
      kernels, Call(OpKind::kClassToken, Pass::kBackwardData, front), {longer},
      [&](const Values& in) { return put(in, token); }, x, longer);
  CheckGradient(
      kernels, Call(OpKind::kClassToken, Pass::kBackwardBias, front), {longer},
      [&](const Values& first) { return put(x, first); }, token, longer);

  OpShape turned = s;
  turned.groups = 2;
  const auto turn = [&](const Values& in) {
    return Result(kernels, Call(OpKind::kRope, Pass::kForward, turned), {in}, Values(Count(s.in), NAN));
  };
  const Values y = turn(x);  // heads of two channels: one pair, whose angle is the position
  CHECK(y[At(s.in, 0, 2, 0)] == x[At(s.in, 0, 2, 0)]);
  CHECK(y[At(s.in, 0, 3, 2)] == Approx(x[At(s.in, 0, 3, 2)] * std::cos(2.0) + x[At(s.in, 0, 2, 2)] * std::sin(2.0)));
  CheckGradient(kernels, Call(OpKind::kRope, Pass::kBackward, turned), {dy}, turn, x, dy);
}

TEST_CASE("fused attention, packed or not, with grouped heads and causal") {
  CpuKernels kernels;
  Attended a = GENERATE(from_range(Shapes()));
  const Values q = RandomValues(a.Queries(), 1), k = RandomValues(a.Keys(), 2), v = RandomValues(a.Keys(), 3),
               dy = RandomValues(a.Queries(), 4);
  const auto run = [&](const std::vector<Values>& inputs) {
    std::vector<Values> writes{Values(Count(a.Queries()), NAN), Values(Count(a.Sums()), NAN)};
    RunCall(kernels, a.CallOfPass(Pass::kForward), inputs, writes);
    return writes;
  };
  const std::vector<Values> forward = run({q, k, v});
  CHECK(Difference(forward[0], a.Reference(q, k, v)) < 1e-5);
  std::vector<Values> gradients{Values(q.size(), NAN), Values(k.size(), NAN), Values(v.size(), NAN)};
  RunCall(kernels, a.CallOfPass(Pass::kBackward), {q, k, v, forward[0], forward[1], dy}, gradients);
  const std::array<const Values*, 3> of{&q, &k, &v};
  for (std::size_t which = 0; which < 3; ++which) {
    INFO(which);
    const auto moved = [&](const Values& value) {
      std::vector<Values> inputs{q, k, v};
      inputs[which] = value;
      return a.Reference(inputs[0], inputs[1], inputs[2]);
    };
    const Values expected = NumericGradient(moved, *of[which], dy, 0.0078125f);
    if (LargestMagnitude(expected) > 1e-2) CHECK(Difference(gradients[which], expected) < 3e-3);
  }
  if (a.split.queries != a.split.keys) return;
  a.split.packed = true;
  CHECK(Difference(run({Join({q, k, v}, a)})[0], forward[0]) < 1e-6);
  std::vector<Values> packed{Values(Count(a.Packed()), NAN)};
  RunCall(kernels, a.CallOfPass(Pass::kBackward), {Join({q, k, v}, a), forward[0], forward[1], dy}, packed);
  CHECK(Difference(packed[0], Join(gradients, a)) < 1e-5);
}

TEST_CASE("fused attention drops by a hash of the place, which a batch in parts draws alike") {
  CpuKernels kernels;
  const Attended a{{.heads = 2, .kv_heads = 2, .size = 3, .queries = 6, .keys = 6}, false};
  const Values q = RandomValues(a.Queries(), 1), k = RandomValues(a.Keys(), 2), v = RandomValues(a.Keys(), 3);
  OpCall call = a.CallOfPass(Pass::kForward);
  call.launch.shape.operands = AttentionOperands(false, true);
  call.details.dropout_rate = 0.5;
  const auto run = [&](const OpCall& one, std::uint64_t stream, std::size_t first, std::size_t size) {
    const auto from = [&](const Values& all) {
      return Values(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
    };
    std::vector<Values> writes{Values(size), Values(Count(a.Sums()))};
    RunCall(kernels, one, {from(q), from(k), from(v)}, writes, {.random_stream = stream});
    return writes[0];
  };
  const Values whole = run(call, RandomStream(1, 0, 0), 0, q.size());
  CHECK(Difference(whole, run(call, RandomStream(1, 0, 0), 0, q.size())) < 1e-6);
  CHECK(Difference(whole, run(call, RandomStream(1, 1, 0), 0, q.size())) > 0.1);
  CHECK(Difference(whole, a.Reference(q, k, v)) > 0.1);
  OpCall part = call;
  part.launch.shape.in.n = part.launch.shape.out.n = 1;
  const std::size_t half = q.size() / 2;
  const Values second = run(part, RandomStream(1, 0, 0, 2 * 6 * 6), half, half);
  CHECK(Difference(second, Values(whole.begin() + static_cast<std::ptrdiff_t>(half), whole.end())) < 1e-6);
}

}  // namespace spillway
