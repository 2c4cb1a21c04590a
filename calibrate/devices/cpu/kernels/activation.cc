// Functions of each element, by the rows of model/step/activation.h. An element is read before its place is written, so that
// results and gradients may lie in their inputs' places.
#include "model/step/activation.h"

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {

// Backward reads {input or result, gradient}.
KernelPtr MakeActivation(const OpCall& call) {
  const std::int64_t elements = call.launch.shape.in.Elements();
  const ActivationTraits& traits = TraitsOf(call.details.function);
  const float slope = static_cast<float>(call.details.slope);
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([elements, slope, value = traits.value](const CpuArguments& a) {
      const float* x = Read(a, 0);
      float* y = Write(a, 0);
      for (std::int64_t i = 0; i < elements; ++i) y[i] = value(x[i], slope);
    });
  }
  const auto derivative = call.details.from_result ? traits.from_result : traits.from_input;
  return std::make_unique<LoopKernel>(
      [elements, slope, derivative, accumulate = call.launch.accumulate](const CpuArguments& a) {
        const float *saved = Read(a, 0), *dy = Read(a, 1);
        float* dx = Write(a, 0);
        for (std::int64_t i = 0; i < elements; ++i) {
          const float gradient = derivative(saved[i], slope) * dy[i];
          dx[i] = accumulate ? dx[i] + gradient : gradient;
        }
      });
}

}  // namespace spillway::cpu
