// The products of an attention written out: a matrix product for each sample and head. The scale is softmax's.
#include <algorithm>

#include "calibrate/devices/cpu/kernels/head_buffers.h"
#include "calibrate/devices/cpu/kernels/makers.h"
#include "calibrate/devices/cpu/kernels/matrices.h"

namespace spillway::cpu {
namespace {

// One head's product for one row of positions.
struct HeadProduct {
  const HeadBuffers& at;
  std::int64_t n, head, row;

  Matrix Query(const float* data) const {
    return {data + at.Query(n, head, row), at.split.size, at.split.queries, false, at.QueryPitch()};
  }
  Matrix Key(const float* data) const {
    return {data + at.Key(n, head, row), at.split.size, at.split.keys, false, at.KeyPitch()};
  }
  Matrix Value(const float* data) const {
    return {data + at.Value(n, head, row), at.split.size, at.split.keys, false, at.KeyPitch()};
  }
  Matrix Mixed(const float* data) const {
    return {data + at.Result(n, head, row), at.split.size, at.split.queries, false, at.QueryPitch()};
  }
  Matrix Scores(const float* data) const { return {data + at.Scores(n, head, row), at.split.queries, at.split.keys}; }

  void Run(const CpuArguments& a) const {
    const float *first = Read(a, 0), *second = Read(a, a.reads.size() > 1 ? 1 : 0);
    float* const result = Write(a, 0);
    const bool shared = !at.BeginsKv(head);
    switch (at.split.role) {
      case ProductRole::kScores:
        return Multiply(Query(first).T(), Key(second), result + at.Scores(n, head, row), false);
      case ProductRole::kMixture:
        return Multiply(Value(second), Scores(first).T(), result + at.Result(n, head, row), false, 1, at.QueryPitch());
      case ProductRole::kScoresGradient:
        return Multiply(Mixed(first).T(), Value(second), result + at.Scores(n, head, row), false);
      case ProductRole::kValueGradient:
        return Multiply(Mixed(first), Scores(second), result + at.Value(n, head, row), shared, 1, at.KeyPitch());
      case ProductRole::kQueryGradient:
        return Multiply(Key(second), Scores(first).T(), result + at.Query(n, head, row), false, 1, at.QueryPitch());
      case ProductRole::kKeyGradient:
        return Multiply(Query(second), Scores(first), result + at.Key(n, head, row), shared, 1, at.KeyPitch());
    }
  }
};

// The first of the products that write parts of a packed gradient; zeros stand for the others' parts until they come.
bool Begins(const HeadSplit& s) { return s.packed && s.role == ProductRole::kValueGradient; }

}  // namespace

// Reads as ProductRole says, in that order; what is packed is one tensor, and its gradient is read and written.
KernelPtr MakeProduct(const OpCall& call) {
  const HeadBuffers at{call.details.heads};
  return std::make_unique<LoopKernel>([at, samples = call.launch.shape.in.n](const CpuArguments& a) {
    if (Begins(at.split)) std::fill_n(Write(a, 0), samples * at.split.Channels() * at.KeyPitch(), 0.0f);
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::int64_t head = 0; head < at.split.heads; ++head) {
        for (std::int64_t row = 0; row < at.split.rows; ++row) HeadProduct{at, n, head, row}.Run(a);
      }
    }
  });
}

}  // namespace spillway::cpu
