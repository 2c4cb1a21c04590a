// Rows of a table by the numbers of tokens; the table's gradient is dense.
#include <algorithm>

#include "calibrate/devices/cpu/kernels/makers.h"
#include "hw/text/document.h"

namespace spillway::cpu {
namespace {

struct Table {
  std::int64_t samples, rows, row, positions, vocabulary, features;
  bool accumulate;
};

// A token's number, at this position of this sample.
std::int64_t TokenAt(const Table& t, const CpuArguments& a, std::int64_t n, std::int64_t i) {
  const std::int64_t token = static_cast<const std::int64_t*>(a.reads[0])[(n * t.rows + t.row) * t.positions + i];
  if (token >= 0 && token < t.vocabulary) return token;
  throw UserError("token " + std::to_string(token) + " is not below the vocabulary, " + std::to_string(t.vocabulary));
}

template <typename Body>
void ForEachToken(const Table& t, const CpuArguments& a, Body body) {
  for (std::int64_t n = 0; n < t.samples; ++n) {
    for (std::int64_t i = 0; i < t.positions; ++i) {
      body(TokenAt(t, a, n, i) * t.features, n * t.features * t.positions + i);
    }
  }
}

void Forward(const Table& t, const CpuArguments& a) {
  const float* table = Read(a, 1);
  float* y = Write(a, 0);
  ForEachToken(t, a, [&](std::int64_t row, std::int64_t place) {
    for (std::int64_t k = 0; k < t.features; ++k) y[place + k * t.positions] = table[row + k];
  });
}

void Backward(const Table& t, const CpuArguments& a) {
  const float* dy = Read(a, 1);
  float* gradient = Write(a, 0);
  if (!t.accumulate) std::fill_n(gradient, t.vocabulary * t.features, 0.0f);
  ForEachToken(t, a, [&](std::int64_t row, std::int64_t place) {
    for (std::int64_t k = 0; k < t.features; ++k) gradient[row + k] += dy[place + k * t.positions];
  });
}

}  // namespace

// Forward reads {tokens, table}; backward reads {tokens, gradient}.
KernelPtr MakeEmbedding(const OpCall& call) {
  const OpShape& s = call.launch.shape;
  const Table table{.samples = s.out.n,
                    .rows = call.details.whole.c,
                    .row = call.details.row,
                    .positions = s.out.Spatial(),
                    .vocabulary = s.in.c,
                    .features = s.out.c,
                    .accumulate = call.launch.accumulate};
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([table](const CpuArguments& a) { Forward(table, a); });
  }
  return std::make_unique<LoopKernel>([table](const CpuArguments& a) { Backward(table, a); });
}

}  // namespace spillway::cpu
