// A box of a tensor, copied row by row; backward, zeros around the gradient.
#include <algorithm>
#include <cstring>

#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

// Calls body(place in the whole, place in the slice) for each row of the slice.
template <typename Body>
void ForEachRow(const Shape& whole, const Shape& slice, const Box& box, Body body) {
  const auto& at = box.begin;
  std::int64_t row = 0;
  for (std::int64_t n = 0; n < slice.n; ++n) {
    for (std::int64_t c = at[kChannelAxis]; c < at[kChannelAxis] + slice.c; ++c) {
      for (std::int64_t d = at[kDepthAxis]; d < at[kDepthAxis] + slice.d; ++d) {
        for (std::int64_t h = at[kHeightAxis]; h < at[kHeightAxis] + slice.h; ++h, row += slice.w) {
          body((((n * whole.c + c) * whole.d + d) * whole.h + h) * whole.w + at[kWidthAxis], row);
        }
      }
    }
  }
}

}  // namespace

// Backward reads {gradient of the slice}.
KernelPtr MakeSlice(const OpCall& call) {
  const Shape whole = call.launch.shape.in, slice = call.launch.shape.out;
  const Box box = call.details.slices.front().box;
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([=](const CpuArguments& a) {
      ForEachRow(whole, slice, box, [&](std::int64_t from, std::int64_t to) {
        std::memcpy(Write(a, 0) + to, Read(a, 0) + from, sizeof(float) * static_cast<std::size_t>(slice.w));
      });
    });
  }
  return std::make_unique<LoopKernel>([=, accumulate = call.launch.accumulate](const CpuArguments& a) {
    if (!accumulate) std::fill_n(Write(a, 0), whole.Elements(), 0.0f);
    ForEachRow(whole, slice, box, [&](std::int64_t to, std::int64_t from) {
      for (std::int64_t w = 0; w < slice.w; ++w) Write(a, 0)[to + w] += Read(a, 0)[from + w];
    });
  });
}

}  // namespace spillway::cpu
