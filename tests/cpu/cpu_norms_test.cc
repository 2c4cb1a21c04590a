// Norms of single samples on the CPU device: group, instance, layer and RMS norm, forward against formulas and backward
// against finite differences.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/cpu_reference.h"

namespace spillway {
namespace {

const Shape kFlat{2, 6, 1, 3, 4}, kDeep{2, 4, 2, 3, 2};

// A norm as it is called: what it reads besides the input, what it keeps.
struct Norm {
  OpKind kind;
  std::int64_t groups;  // group norm
  bool affine, root;
  std::size_t kept;  // elements of each saved vector
};

OpCall NormCall(const Norm& norm, Pass pass, const Shape& shape) {
  OpCall call = Call(norm.kind, pass, {.in = shape, .out = shape});
  call.launch.shape.groups = norm.groups;
  call.details.affine = norm.affine;
  call.details.root_mean_square = norm.root;
  return call;
}

std::vector<Norm> Norms(const Shape& shape) {
  const auto groups = [&](std::int64_t count) { return static_cast<std::size_t>(shape.n * count); };
  const auto positions = static_cast<std::size_t>(shape.n * shape.Spatial());
  return {{OpKind::kGroupNorm, 2, true, false, groups(2)},
          {OpKind::kGroupNorm, shape.c, true, false, groups(shape.c)},
          {OpKind::kGroupNorm, shape.c, false, false, groups(shape.c)},
          {OpKind::kLayerNorm, 1, true, false, positions},
          {OpKind::kLayerNorm, 1, false, false, positions},
          {OpKind::kLayerNorm, 1, true, true, positions},
          {OpKind::kLayerNorm, 1, false, true, positions}};
}

// Which elements of `shape` are normalised together.
std::size_t TogetherWith(const Norm& norm, const Shape& shape, std::size_t i) {
  const auto spatial = static_cast<std::size_t>(shape.Spatial()), channels = static_cast<std::size_t>(shape.c);
  const std::size_t n = i / (spatial * channels), c = i / spatial % channels;
  if (norm.kind == OpKind::kLayerNorm) return n * spatial + i % spatial;
  return n * static_cast<std::size_t>(norm.groups) + c / (channels / static_cast<std::size_t>(norm.groups));
}

Values NormReference(const Norm& norm, const Shape& shape, const Values& x, const Values& scale, const Values& shift) {
  const std::size_t count = x.size() / norm.kept;
  std::vector<double> means(norm.kept), squares(norm.kept);
  for (std::size_t i = 0; i < x.size(); ++i) means[TogetherWith(norm, shape, i)] += x[i] / static_cast<double>(count);
  if (norm.root) std::fill(means.begin(), means.end(), 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at = TogetherWith(norm, shape, i);
    squares[at] += (x[i] - means[at]) * (x[i] - means[at]) / static_cast<double>(count);
  }
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t at = TogetherWith(norm, shape, i);
    const std::size_t c = i / static_cast<std::size_t>(shape.Spatial()) % static_cast<std::size_t>(shape.c);
    const double unit = (x[i] - means[at]) / std::sqrt(squares[at] + 1e-5);
    const double by = norm.affine ? scale[c] : 1, to = norm.affine && !norm.root ? shift[c] : 0;
    y[i] = static_cast<float>(unit * by + to);
  }
  return y;
}

// Runs forward and keeps all that it writes.
class NormRun {
 public:
  NormRun(CpuKernels& kernels, const Norm& norm, const Shape& shape) : kernels_(kernels), norm_(norm), shape_(shape) {}

  std::vector<Values> Forward(const Values& x, const Values& scale, const Values& shift) {
    std::vector<Values> reads{x}, writes{Values(x.size(), NAN), Values(norm_.kept)};
    if (norm_.affine) reads.push_back(scale);
    if (norm_.affine && !norm_.root) reads.push_back(shift);
    if (!norm_.root) writes.emplace_back(norm_.kept);
    RunCall(kernels_, NormCall(norm_, Pass::kForward, shape_), reads, writes);
    return writes;
  }

  // {input's gradient, scale's, shift's}.
  std::vector<Values> Backward(const Values& x, const Values& scale, const Values& dy, const std::vector<Values>& kept,
                               bool accumulate, float before) {
    std::vector<Values> reads{x, dy}, writes{Values(x.size(), before)};
    reads.insert(reads.end(), kept.begin() + 1, kept.end());
    if (norm_.affine) {
      reads.push_back(scale);
      writes.resize(norm_.root ? 2 : 3, Values(scale.size(), before));
    }
    OpCall call = NormCall(norm_, Pass::kBackward, shape_);
    call.launch.accumulate = accumulate;
    RunCall(kernels_, call, reads, writes);
    return writes;
  }

 private:
  CpuKernels& kernels_;
  const Norm norm_;
  const Shape shape_;
};

}  // namespace

TEST_CASE("norms of single samples: forward and backward") {
  CpuKernels kernels;
  const Shape shape = GENERATE(kFlat, kDeep);
  for (const Norm& norm : Norms(shape)) {
    INFO(OpKindName(norm.kind) << " " << norm.groups << " groups, affine " << norm.affine << ", root " << norm.root);
    NormRun run(kernels, norm, shape);
    const std::size_t channels = static_cast<std::size_t>(shape.c);
    const Values x = RandomValues(shape, 1), scale = RandomValues(channels, 2), shift = RandomValues(channels, 3);
    const Values dy = RandomValues(shape, 4);
    const std::vector<Values> kept = run.Forward(x, scale, shift);
    CHECK(Difference(kept[0], NormReference(norm, shape, x, scale, shift)) < 1e-5);
    const std::vector<Values> got = run.Backward(x, scale, dy, kept, false, 7.0f);
    const auto by_input = [&](const Values& v) { return run.Forward(v, scale, shift)[0]; };
    CHECK(Difference(got[0], NumericGradient(by_input, x, dy, 0.01f)) < 5e-3);
    if (norm.affine) {
      const auto by_scale = [&](const Values& v) { return run.Forward(x, v, shift)[0]; };
      CHECK(Difference(got[1], NumericGradient(by_scale, scale, dy, 0.5f)) < 1e-4);
    }
    if (norm.affine && !norm.root) {
      const auto by_shift = [&](const Values& v) { return run.Forward(x, scale, v)[0]; };
      CHECK(Difference(got[2], NumericGradient(by_shift, shift, dy, 0.5f)) < 1e-4);
    }
    // Only the input's gradient is added to what is there.
    std::vector<Values> added = run.Backward(x, scale, dy, kept, true, 7.0f);
    for (float& value : added[0]) value -= 7.0f;
    CHECK(Difference(added[0], got[0]) < 1e-5);
    for (std::size_t k = 1; k < got.size(); ++k) CHECK(added[k] == got[k]);
  }
}

TEST_CASE("norms without their input's gradient write those of scale and shift alone") {
  CpuKernels kernels;
  for (const Norm& norm : Norms(kFlat)) {
    if (!norm.affine) continue;
    NormRun run(kernels, norm, kFlat);
    const std::size_t channels = static_cast<std::size_t>(kFlat.c);
    const Values x = RandomValues(kFlat, 1), scale = RandomValues(channels, 2), dy = RandomValues(kFlat, 4);
    const std::vector<Values> kept = run.Forward(x, scale, Values(channels));
    const std::vector<Values> all = run.Backward(x, scale, dy, kept, false, 0);
    OpCall call = NormCall(norm, Pass::kBackward, kFlat);
    call.details.input_gradient = false;
    std::vector<Values> reads{x, dy}, writes(norm.root ? 1 : 2, Values(channels));
    reads.insert(reads.end(), kept.begin() + 1, kept.end());
    reads.push_back(scale);
    RunCall(kernels, call, reads, writes);
    for (std::size_t k = 0; k < writes.size(); ++k) CHECK(writes[k] == all[k + 1]);
  }
}

TEST_CASE("instance norm repeats its scale where the framework keeps it so") {
  CpuKernels kernels;
  const Norm norm{OpKind::kGroupNorm, kFlat.c, true, false, static_cast<std::size_t>(kFlat.n * kFlat.c)};
  const std::size_t channels = static_cast<std::size_t>(kFlat.c);
  const Values x = RandomValues(kFlat, 1), scale = RandomValues(channels, 2), shift = RandomValues(channels, 3);
  std::vector<Values> writes{Values(x.size()), Values(norm.kept), Values(norm.kept), Values(norm.kept)};
  RunCall(kernels, NormCall(norm, Pass::kForward, kFlat), {x, scale, shift}, writes);
  for (std::size_t k = 0; k < norm.kept; ++k) CHECK(writes[3][k] == scale[k % channels]);
}

}  // namespace spillway
