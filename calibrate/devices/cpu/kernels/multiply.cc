// Element-wise products. The second factor may be one number for each plane; its gradient is then a sum over the plane.
#include "calibrate/devices/cpu/kernels/makers.h"
#include "calibrate/devices/cpu/kernels/planes.h"

namespace spillway::cpu {
namespace {

// A product of a tensor with the second factor: forward, and the gradient of the first factor.
struct Product {
  Shape shape;
  bool per_plane = false, accumulate = false;

  void Run(const float* first, const float* second, float* result) const {
    ForEachPlane(shape, [&](std::int64_t plane, std::int64_t, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const float product = first[i] * second[per_plane ? plane : i];
        result[i] = accumulate ? result[i] + product : product;
      }
    });
  }
};

void SumPlanes(const Shape& shape, bool accumulate, const float* x, const float* dy, float* sums) {
  ForEachPlane(shape, [&](std::int64_t plane, std::int64_t, std::int64_t begin, std::int64_t end) {
    double sum = accumulate ? sums[plane] : 0.0;
    for (std::int64_t i = begin; i < end; ++i) sum += static_cast<double>(x[i]) * dy[i];
    sums[plane] = static_cast<float>(sum);
  });
}

}  // namespace

// Forward reads {first, second}, or {both} where they are one tensor; the gradient of the first factor {second, gradient},
// that of the second {first, gradient}.
KernelPtr MakeMultiply(const OpCall& call) {
  const bool per_plane = call.launch.shape.operands == 1, accumulate = call.launch.accumulate;
  const Product product{call.launch.shape.in, per_plane, accumulate};
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>(
        [product](const CpuArguments& a) { product.Run(Read(a, 0), Read(a, a.reads.size() - 1), Write(a, 0)); });
  }
  if (call.launch.pass == Pass::kBackward && per_plane) {
    return std::make_unique<LoopKernel>([shape = call.launch.shape.in, accumulate](const CpuArguments& a) {
      SumPlanes(shape, accumulate, Read(a, 0), Read(a, 1), Write(a, 0));
    });
  }
  return std::make_unique<LoopKernel>(
      [product](const CpuArguments& a) { product.Run(Read(a, 1), Read(a, 0), Write(a, 0)); });
}

}  // namespace spillway::cpu
