// Losses of two tensors: mean square, and binary cross-entropy of a sigmoid. Plain loops; sums in double.
#include <algorithm>
#include <cmath>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// As PyTorch does, without overflow: max(x, 0) - x t + log(1 + exp(-|x|)).
float Loss(PairFunction function, float x, float t) {
  if (function == PairFunction::kMeanSquare) return (x - t) * (x - t);
  return std::max(x, 0.0f) - x * t + std::log1p(std::exp(-std::abs(x)));
}

float Slope(PairFunction function, bool of_target, float x, float t) {
  if (function == PairFunction::kMeanSquare) return of_target ? 2 * (t - x) : 2 * (x - t);
  return of_target ? -x : Sigmoid(x) - t;
}

}  // namespace

// Reads {x, target}, or {both} where they are one tensor. Forward writes a mean for each sample.
KernelPtr MakePairLoss(const OpCall& call) {
  const Shape shape = call.launch.shape.in;
  const PairFunction function = call.details.loss.function;
  const std::size_t second = call.launch.shape.operands == 1 ? 0 : 1;
  const std::int64_t each = shape.Elements() / shape.n;
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([=](const CpuArguments& a) {
      const float *x = Read(a, 0), *t = Read(a, second);
      for (std::int64_t n = 0; n < shape.n; ++n) {
        double sum = 0;
        for (std::int64_t i = n * each; i < (n + 1) * each; ++i) sum += Loss(function, x[i], t[i]);
        Write(a, 0)[n] = static_cast<float>(sum / static_cast<double>(each));
      }
    });
  }
  const std::int64_t samples = std::max(call.details.mean_over, shape.n);
  const float share = static_cast<float>(call.details.loss_weight / static_cast<double>(samples * each));
  const bool of_target = call.launch.pass == Pass::kBackward, accumulate = call.launch.accumulate;
  return std::make_unique<LoopKernel>([=](const CpuArguments& a) {
    const float *x = Read(a, 0), *t = Read(a, second);
    float* gradient = Write(a, 0);
    for (std::int64_t i = 0; i < shape.Elements(); ++i) {
      const float part = share * Slope(function, of_target, x[i], t[i]);
      gradient[i] = accumulate ? gradient[i] + part : part;
    }
  });
}

}  // namespace spillway::cpu
