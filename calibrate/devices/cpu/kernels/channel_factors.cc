// A parameter per channel: the factors of scale, and the slopes below zero of PReLU.
#include "calibrate/devices/cpu/kernels/makers.h"
#include "calibrate/devices/cpu/kernels/planes.h"

namespace spillway::cpu {
namespace {

float Scaled(float x, float factor) { return x * factor; }
float Rectified(float x, float slope) { return x > 0 ? x : slope * x; }

KernelPtr ForwardBy(const Shape& shape, float (*value)(float, float)) {
  return std::make_unique<LoopKernel>([shape, value](const CpuArguments& a) {
    const float *x = Read(a, 0), *parameter = Read(a, 1);
    float* y = Write(a, 0);
    ForEachPlane(shape, [&](std::int64_t, std::int64_t c, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) y[i] = value(x[i], parameter[c]);
    });
  });
}

void Store(float gradient, bool accumulate, float& at) { at = accumulate ? at + gradient : gradient; }

}  // namespace

// Forward reads {input, factors}; backward {factors, gradient}, and {input, gradient} for the factors' gradient.
KernelPtr MakeScale(const OpCall& call) {
  const Shape shape = call.launch.shape.in;
  const bool accumulate = call.launch.accumulate;
  if (call.launch.pass == Pass::kForward) return ForwardBy(shape, Scaled);
  if (call.launch.pass == Pass::kBackward) {
    return std::make_unique<LoopKernel>([shape, accumulate](const CpuArguments& a) {
      const float *factors = Read(a, 0), *dy = Read(a, 1);
      ForEachPlane(shape, [&](std::int64_t, std::int64_t c, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) Store(factors[c] * dy[i], accumulate, Write(a, 0)[i]);
      });
    });
  }
  return std::make_unique<LoopKernel>([shape, accumulate](const CpuArguments& a) {
    const float *x = Read(a, 0), *dy = Read(a, 1);
    SumChannels(shape, accumulate, Write(a, 0), [&](std::int64_t i) { return static_cast<double>(x[i]) * dy[i]; });
  });
}

// Forward reads {input, slopes}; backward {input, slopes, gradient}, and {input, gradient} for the slopes' gradient.
KernelPtr MakePrelu(const OpCall& call) {
  const Shape shape = call.launch.shape.in;
  const bool accumulate = call.launch.accumulate;
  if (call.launch.pass == Pass::kForward) return ForwardBy(shape, Rectified);
  if (call.launch.pass == Pass::kBackward) {
    return std::make_unique<LoopKernel>([shape, accumulate](const CpuArguments& a) {
      const float *x = Read(a, 0), *slopes = Read(a, 1), *dy = Read(a, 2);
      ForEachPlane(shape, [&](std::int64_t, std::int64_t c, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          Store(x[i] > 0 ? dy[i] : slopes[c] * dy[i], accumulate, Write(a, 0)[i]);
        }
      });
    });
  }
  return std::make_unique<LoopKernel>([shape, accumulate](const CpuArguments& a) {
    const float *x = Read(a, 0), *dy = Read(a, 1);
    SumChannels(shape, accumulate, Write(a, 0),
                [&](std::int64_t i) { return x[i] > 0 ? 0.0 : static_cast<double>(x[i]) * dy[i]; });
  });
}

}  // namespace spillway::cpu
