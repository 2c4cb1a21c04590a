// SGD with momentum, v = momentum * v + gradient, parameter -= rate * v, and the copy of a tensor.
#include <cstring>

#include "calibrate/devices/cpu/kernels/makers.h"
#include "hw/text/document.h"

namespace spillway::cpu {

// Reads {gradient, parameter, velocity if there is momentum} and writes {parameter, velocity}.
KernelPtr MakeUpdate(const OpCall& call) {
  const std::int64_t elements = call.launch.shape.in.Elements();
  if (call.launch.shape.operands > 3) {
    throw UserError("the CPU device has no kernel for optimizers but sgd and sgd-momentum");
  }
  if (call.launch.shape.operands < 3) {
    return std::make_unique<LoopKernel>([elements](const CpuArguments& a) {
      const float* gradient = Read(a, 0);
      float* parameter = Write(a, 0);
      for (std::int64_t i = 0; i < elements; ++i) parameter[i] -= a.learning_rate * gradient[i];
    });
  }
  return std::make_unique<LoopKernel>([elements](const CpuArguments& a) {
    const float* gradient = Read(a, 0);
    float *parameter = Write(a, 0), *velocity = Write(a, 1);
    const float rate = a.learning_rate, momentum = a.momentum;
    for (std::int64_t i = 0; i < elements; ++i) {
      velocity[i] = momentum * velocity[i] + gradient[i];
      parameter[i] -= rate * velocity[i];
    }
  });
}

KernelPtr MakeCopy(const OpCall& call) {
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(call.launch.shape.in.Elements());
  return std::make_unique<LoopKernel>([bytes](const CpuArguments& a) { std::memcpy(Write(a, 0), Read(a, 0), bytes); });
}

}  // namespace spillway::cpu
