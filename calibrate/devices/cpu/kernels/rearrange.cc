// Elements moved within each sample, by a list of where each comes from.
#include <algorithm>
#include <memory>
#include <vector>

#include "calibrate/devices/cpu/kernels/makers.h"
#include "model/step/rearrangement.h"

namespace spillway::cpu {

// Backward reads {gradient}: zeros where nothing of the input went.
KernelPtr MakeRearrange(const OpCall& call) {
  const Shape &in = call.launch.shape.in, &out = call.launch.shape.out;
  const std::int64_t from_size = in.c * in.Spatial(), to_size = out.c * out.Spatial(), samples = out.n;
  const auto sources =
      std::make_shared<const std::vector<std::int64_t>>(SourcesOf(call.details.rearrangement, in, out));
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([=](const CpuArguments& a) {
      float* y = Write(a, 0);
      for (std::int64_t n = 0; n < samples; ++n) {
        const float* const x = Read(a, 0) + n * from_size;
        for (const std::int64_t source : *sources) *y++ = source == kZeroElement ? 0.0f : x[source];
      }
    });
  }
  return std::make_unique<LoopKernel>([=, accumulate = call.launch.accumulate](const CpuArguments& a) {
    if (!accumulate) std::fill_n(Write(a, 0), samples * from_size, 0.0f);
    for (std::int64_t n = 0; n < samples; ++n) {
      const float* dy = Read(a, 0) + n * to_size;
      float* const dx = Write(a, 0) + n * from_size;
      for (const std::int64_t source : *sources) {
        if (source != kZeroElement) dx[source] += *dy;
        ++dy;
      }
    }
  });
}

}  // namespace spillway::cpu
