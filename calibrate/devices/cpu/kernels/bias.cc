// Bias: added in place, per channel; its gradient is the sum over batch and space.
#include <array>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

// Several sums side by side: faster, and more exact than one long one.
float Sum(const float* values, std::int64_t count) {
  std::array<float, 16> parts{};
  const std::int64_t lanes = static_cast<std::int64_t>(parts.size());
  const std::int64_t whole = count / lanes * lanes;
  for (std::int64_t i = 0; i < whole; i += lanes) {
    for (std::size_t k = 0; k < parts.size(); ++k) parts[k] += values[i + static_cast<std::int64_t>(k)];
  }
  float sum = 0;
  for (const float part : parts) sum += part;
  for (std::int64_t i = whole; i < count; ++i) sum += values[i];
  return sum;
}

void Forward(const Shape& shape, const CpuArguments& a) {
  const float *x = Read(a, 0), *bias = Read(a, 1);
  float* y = Write(a, 0);
  const std::int64_t positions = shape.Spatial();
  for (std::int64_t plane = 0; plane < shape.n * shape.c; ++plane) {
    const float value = bias[plane % shape.c];
    for (std::int64_t i = plane * positions; i < (plane + 1) * positions; ++i) y[i] = x[i] + value;
  }
}

void Backward(const Shape& shape, bool accumulate, const CpuArguments& a) {
  const float* dy = Read(a, 0);
  for (std::int64_t c = 0; c < shape.c; ++c) {
    double sum = accumulate ? Write(a, 0)[c] : 0.0;
    for (std::int64_t n = 0; n < shape.n; ++n) sum += Sum(dy + (n * shape.c + c) * shape.Spatial(), shape.Spatial());
    Write(a, 0)[c] = static_cast<float>(sum);
  }
}

}  // namespace

// Forward reads {result so far, bias} and writes {result}; backward reads {gradient}.
KernelPtr MakeBias(const OpCall& call) {
  const Shape shape = call.launch.shape.out;
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([shape](const CpuArguments& a) { Forward(shape, a); });
  }
  return std::make_unique<LoopKernel>(
      [shape, accumulate = call.launch.accumulate](const CpuArguments& a) { Backward(shape, accumulate, a); });
}

}  // namespace spillway::cpu
