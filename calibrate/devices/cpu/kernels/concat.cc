// Concatenation along channels: one piece of memory per image and operand, copied.
#include <cstring>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

void CopyOrAdd(const float* from, float* to, std::int64_t count, bool add) {
  if (!add) {
    std::memcpy(to, from, sizeof(float) * static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

// Backward reads {gradient of the whole}.
KernelPtr MakeConcat(const OpCall& call) {
  const Shape out = call.launch.shape.out;
  const bool forward = call.launch.pass == Pass::kForward;
  const bool accumulate = call.launch.accumulate;
  const std::int64_t channels = call.details.whole.c;
  return std::make_unique<LoopKernel>([=, slices = call.details.slices](const CpuArguments& a) {
    for (const OpSlice& slice : slices) {
      const std::int64_t count = slice.box.Size(kChannelAxis) * out.Spatial();
      for (std::int64_t n = 0; n < out.n; ++n) {
        const std::int64_t whole = (n * channels + slice.box.begin[kChannelAxis]) * out.Spatial();
        if (forward) {
          CopyOrAdd(Read(a, slice.operand) + n * count, Write(a, 0) + whole, count, false);
        } else {
          CopyOrAdd(Read(a, 0) + whole, Write(a, slice.operand) + n * count, count, accumulate && slice.operand == 0);
        }
      }
    }
  });
}

}  // namespace spillway::cpu
