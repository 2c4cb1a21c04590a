// Passes over lists of tensors, one for each parameter: clipping by the norm of all gradients, and updates in two passes with
// temporary results in between (model/unroll/step_updates.cc). Operands of `n` parameters:
//
//   norm     gradients -> norm
//   clip     gradients, norm -> gradients
//   before   gradients, parameters, states -> states, temporaries
//   last     gradients, parameters, states, temporaries -> parameters
#include <algorithm>
#include <cmath>

#include "calibrate/devices/cpu/kernels/adam.h"
#include "calibrate/devices/cpu/kernels/makers.h"
#include "hw/text/document.h"

namespace spillway::cpu {
namespace {

using Sizes = std::vector<std::int64_t>;

void TakeNorm(const CpuArguments& a, const Sizes& sizes) {
  double sum = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const float* gradient = Read(a, k);
    for (std::int64_t i = 0; i < sizes[k]; ++i)
      sum += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
  }
  *Write(a, 0) = static_cast<float>(std::sqrt(sum));
}

// To a norm of at most 1, as torch.nn.utils.clip_grad_norm_ does.
void Clip(const CpuArguments& a, const Sizes& sizes) {
  const float factor = std::min(1.0f, 1 / (*Read(a, sizes.size()) + 1e-6f));
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    float* gradient = Write(a, k);
    for (std::int64_t i = 0; i < sizes[k]; ++i) gradient[i] *= factor;
  }
}

void MomentumBefore(const CpuArguments& a, const Sizes& sizes, float weight_decay) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const float *gradient = Read(a, k), *parameter = Read(a, sizes.size() + k);
    float *velocity = Write(a, k), *decayed = Write(a, sizes.size() + k);
    for (std::int64_t i = 0; i < sizes[k]; ++i) {
      decayed[i] = gradient[i] + weight_decay * parameter[i];
      velocity[i] = a.momentum * velocity[i] + decayed[i];
    }
  }
}

void MomentumLast(const CpuArguments& a, const Sizes& sizes) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const float* velocity = Read(a, 2 * sizes.size() + k);
    float* parameter = Write(a, k);
    for (std::int64_t i = 0; i < sizes[k]; ++i) parameter[i] -= a.learning_rate * velocity[i];
  }
}

void AdamBefore(const CpuArguments& a, const Sizes& sizes, const AdamStep& adam) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const float* gradient = Read(a, k);
    float *mean = Write(a, 2 * k), *square = Write(a, 2 * k + 1), *divisor = Write(a, 2 * sizes.size() + k);
    for (std::int64_t i = 0; i < sizes[k]; ++i) divisor[i] = adam.Divisor(gradient[i], mean[i], square[i]);
  }
}

void AdamLast(const CpuArguments& a, const Sizes& sizes, const AdamStep& adam) {
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const float *mean = Read(a, 2 * sizes.size() + 2 * k), *divisor = Read(a, 4 * sizes.size() + k);
    float* parameter = Write(a, k);
    for (std::int64_t i = 0; i < sizes[k]; ++i) parameter[i] = adam.Moved(parameter[i], mean[i], divisor[i]);
  }
}

// By the number of states: momentum has one, Adam two.
void Update(const CpuArguments& a, const OpDetails& details) {
  const Sizes& sizes = details.list;
  const bool before = details.list_pass == ListPass::kBefore;
  const std::size_t states = a.reads.size() / sizes.size() - (before ? 2 : 3);
  const AdamStep adam(a, details.weight_decay);
  if (states == 2) return before ? AdamBefore(a, sizes, adam) : AdamLast(a, sizes, adam);
  return before ? MomentumBefore(a, sizes, static_cast<float>(details.weight_decay)) : MomentumLast(a, sizes);
}

}  // namespace

KernelPtr MakeForeach(const OpCall& call) {
  if (call.details.list_pass == ListPass::kUnscale) {
    throw UserError("the CPU device computes in fp32 only: it has no scaled gradients");
  }
  return std::make_unique<LoopKernel>([details = call.details](const CpuArguments& a) {
    if (details.list_pass == ListPass::kNorm) return TakeNorm(a, details.list);
    if (details.list_pass == ListPass::kClip) return Clip(a, details.list);
    Update(a, details);
  });
}

}  // namespace spillway::cpu
