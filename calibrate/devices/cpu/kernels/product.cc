// The products of an attention written out: a matrix product for each sample and head. The scale is softmax's.
#include <algorithm>

#include "calibrate/devices/cpu/kernels/head_buffers.h"
#include "calibrate/devices/cpu/kernels/makers.h"
#include "calibrate/devices/cpu/kernels/matrices.h"

namespace spillway::cpu {
namespace {

void Run(const HeadBuffers& at, std::int64_t n, std::int64_t head, const CpuArguments& a) {
  const HeadSplit& s = at.split;
  const float *first = Read(a, 0), *second = Read(a, a.reads.size() > 1 ? 1 : 0);
  float* const result = Write(a, 0);
  const bool shared = !at.BeginsKv(head);
  const auto query = [&](const float* data) { return Matrix{data + at.Query(n, head), s.size, s.queries}; };
  const auto key = [&](const float* data) { return Matrix{data + at.Key(n, head), s.size, s.keys}; };
  const auto value = [&](const float* data) { return Matrix{data + at.Value(n, head), s.size, s.keys}; };
  const auto mixed = [&](const float* data) { return Matrix{data + at.Result(n, head), s.size, s.queries}; };
  const auto scores = [&](const float* data) { return Matrix{data + at.Scores(n, head), s.queries, s.keys}; };
  switch (s.role) {
    case ProductRole::kScores:
      return Multiply(query(first).T(), key(second), result + at.Scores(n, head), false);
    case ProductRole::kMixture:
      return Multiply(value(second), scores(first).T(), result + at.Result(n, head), false);
    case ProductRole::kScoresGradient:
      return Multiply(mixed(first).T(), value(second), result + at.Scores(n, head), false);
    case ProductRole::kValueGradient:
      return Multiply(mixed(first), scores(second), result + at.Value(n, head), shared);
    case ProductRole::kQueryGradient:
      return Multiply(key(second), scores(first).T(), result + at.Query(n, head), false);
    case ProductRole::kKeyGradient:
      return Multiply(query(second), scores(first), result + at.Key(n, head), shared);
  }
}

// The first of the products that write parts of a packed gradient; zeros stand for the others' parts until they come.
bool Begins(const HeadSplit& s) { return s.packed && s.role == ProductRole::kValueGradient; }

}  // namespace

// Reads as ProductRole says, in that order; what is packed is one tensor, and its gradient is read and written.
KernelPtr MakeProduct(const OpCall& call) {
  const HeadBuffers at{call.details.heads};
  return std::make_unique<LoopKernel>([at, samples = call.launch.shape.in.n](const CpuArguments& a) {
    if (Begins(at.split)) std::fill_n(Write(a, 0), samples * at.split.Channels() * at.split.keys, 0.0f);
    for (std::int64_t n = 0; n < samples; ++n) {
      for (std::int64_t head = 0; head < at.split.heads; ++head) Run(at, n, head, a);
    }
  });
}

}  // namespace spillway::cpu
