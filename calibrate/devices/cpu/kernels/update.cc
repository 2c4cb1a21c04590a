// SGD, v = momentum * v + gradient, parameter -= rate * v; Adam; and the copy of a tensor.
#include <cstring>

#include "calibrate/devices/cpu/kernels/adam.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

void UpdatePlain(const CpuArguments& a, std::int64_t elements) {
  const float* gradient = Read(a, 0);
  float* parameter = Write(a, 0);
  for (std::int64_t i = 0; i < elements; ++i) parameter[i] -= a.learning_rate * gradient[i];
}

void UpdateMomentum(const CpuArguments& a, std::int64_t elements) {
  const float* gradient = Read(a, 0);
  float *parameter = Write(a, 0), *velocity = Write(a, 1);
  const float rate = a.learning_rate, momentum = a.momentum;
  for (std::int64_t i = 0; i < elements; ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    parameter[i] -= rate * velocity[i];
  }
}

void UpdateAdam(const CpuArguments& a, std::int64_t elements, double weight_decay) {
  const AdamStep adam(a, weight_decay);
  const float* gradient = Read(a, 0);
  float *parameter = Write(a, 0), *mean = Write(a, 1), *square = Write(a, 2);
  for (std::int64_t i = 0; i < elements; ++i) {
    const float divisor = adam.Divisor(gradient[i], mean[i], square[i]);
    parameter[i] = adam.Moved(parameter[i], mean[i], divisor);
  }
}

}  // namespace

// Reads {gradient, parameter, states} and writes {parameter, states}: of SGD none or the velocity, of Adam two means.
KernelPtr MakeUpdate(const OpCall& call) {
  const std::int64_t elements = call.launch.shape.in.Elements(), states = call.launch.shape.operands - 2;
  const double weight_decay = call.details.weight_decay;
  return std::make_unique<LoopKernel>([elements, states, weight_decay](const CpuArguments& a) {
    if (states < 1) return UpdatePlain(a, elements);
    if (states == 1) return UpdateMomentum(a, elements);
    UpdateAdam(a, elements, weight_decay);
  });
}

KernelPtr MakeCopy(const OpCall& call) {
  const std::size_t bytes = sizeof(float) * static_cast<std::size_t>(call.launch.shape.in.Elements());
  return std::make_unique<LoopKernel>([bytes](const CpuArguments& a) { std::memcpy(Write(a, 0), Read(a, 0), bytes); });
}

}  // namespace spillway::cpu
