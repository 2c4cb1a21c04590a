// Softmax along one axis, by loops. Of attention's scores it scales and masks them, too.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

// Rows that add up to 1: `count` numbers `stride` apart. Of causal scores the row's first ones alone.
struct Rows {
  std::int64_t rows = 0, count = 0, stride = 1, queries = 0;
  float scale = 1;
  bool accumulate = false;
  // Where a row begins.
  std::int64_t At(std::int64_t row) const { return row / stride * count * stride + row % stride; }
  std::int64_t Seen(std::int64_t row) const { return queries > 0 ? row % queries + 1 : count; }
};

Rows RowsOf(const OpCall& call) {
  const OpShape& s = call.launch.shape;
  Rows rows;
  rows.count = call.details.along_width ? s.in.w : s.in.c;
  rows.stride = call.details.along_width ? 1 : s.in.Spatial();
  rows.rows = s.in.Elements() / rows.count;
  rows.queries = call.details.causal ? s.in.h : 0;
  rows.accumulate = call.launch.accumulate;
  if (call.details.scaled) rows.scale = 1 / std::sqrt(static_cast<float>(call.details.heads.size));
  return rows;
}

void Forward(const Rows& r, const CpuArguments& a) {
  for (std::int64_t row = 0; row < r.rows; ++row) {
    const float* x = Read(a, 0) + r.At(row);
    float* y = Write(a, 0) + r.At(row);
    float most = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < r.Seen(row); ++i) most = std::max(most, x[i * r.stride]);
    double sum = 0;
    for (std::int64_t i = 0; i < r.Seen(row); ++i) {
      y[i * r.stride] = std::exp((x[i * r.stride] - most) * r.scale);
      sum += y[i * r.stride];
    }
    const auto share = static_cast<float>(1 / sum);
    for (std::int64_t i = 0; i < r.count; ++i) y[i * r.stride] = i < r.Seen(row) ? y[i * r.stride] * share : 0.0f;
  }
}

void Backward(const Rows& r, const CpuArguments& a) {
  for (std::int64_t row = 0; row < r.rows; ++row) {
    const float *y = Read(a, 0) + r.At(row), *dy = Read(a, 1) + r.At(row);
    float* dx = Write(a, 0) + r.At(row);
    double sum = 0;
    for (std::int64_t i = 0; i < r.count; ++i) sum += static_cast<double>(y[i * r.stride]) * dy[i * r.stride];
    for (std::int64_t i = 0; i < r.count * r.stride; i += r.stride) {
      const float gradient = y[i] * (dy[i] - static_cast<float>(sum)) * r.scale;
      dx[i] = r.accumulate ? dx[i] + gradient : gradient;
    }
  }
}

}  // namespace

// Backward reads {result, gradient}.
KernelPtr MakeSoftmax(const OpCall& call) {
  const Rows rows = RowsOf(call);
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([rows](const CpuArguments& a) { Forward(rows, a); });
  }
  return std::make_unique<LoopKernel>([rows](const CpuArguments& a) { Backward(rows, a); });
}

}  // namespace spillway::cpu
