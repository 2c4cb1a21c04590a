// Local response normalisation across channels, with the constants of Krizhevsky et al. 2012, section 3.3:
//   s_i = k + alpha * sum of x_j^2 over the window around channel i,   y_i = x_i * s_i^-beta
// Forward by oneDNN. Its backward needs what its forward saves besides the result, which no tensor of the step holds;
// the loop here needs input and result only:
//   dx_i = dy_i * s_i^-beta - 2 alpha beta x_i * sum of dy_j y_j / s_j over the same window
#include <algorithm>
#include <cmath>

#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

constexpr float kAlpha = 1e-4f, kBeta = 0.75f, kOffset = 2.0f;
constexpr std::int64_t kBlock = 64;  // positions done together

// s^-3/4
float Power(float s) { return 1.0f / (std::sqrt(s) * std::sqrt(std::sqrt(s))); }

struct Block {
  std::int64_t channels, stride, count, reach;  // stride from channel to channel; channels on each side of the window
};

// out[c * kBlock + i] = sum of in over the window of channel c, `in` being laid out alike.
void WindowSums(const Block& b, const float* in, float* out) {
  std::fill_n(out, b.channels * kBlock, 0.0f);
  for (std::int64_t c = 0; c < b.channels; ++c) {
    const std::int64_t end = std::min(c + b.reach + 1, b.channels);
    for (std::int64_t j = std::max<std::int64_t>(c - b.reach, 0); j < end; ++j) {
      for (std::int64_t i = 0; i < b.count; ++i) out[c * kBlock + i] += in[j * kBlock + i];
    }
  }
}

struct Pointers {
  const float *x, *y, *dy;
  float* dx;
};

void BackwardBlock(const Block& b, const Pointers& p, bool accumulate, float* scratch) {
  float *terms = scratch, *scale = scratch + b.channels * kBlock, *sums = scale + b.channels * kBlock;
  const auto each = [&](auto&& body) {
    for (std::int64_t c = 0; c < b.channels; ++c) {
      for (std::int64_t i = 0; i < b.count; ++i) body(c * kBlock + i, c * b.stride + i);
    }
  };
  each([&](std::int64_t at, std::int64_t from) { terms[at] = p.x[from] * p.x[from]; });
  WindowSums(b, terms, scale);
  each([&](std::int64_t at, std::int64_t from) {
    scale[at] = kOffset + kAlpha * scale[at];
    terms[at] = p.dy[from] * p.y[from] / scale[at];
  });
  WindowSums(b, terms, sums);
  each([&](std::int64_t at, std::int64_t from) {
    const float gradient = p.dy[from] * Power(scale[at]) - 2 * kAlpha * kBeta * p.x[from] * sums[at];
    p.dx[from] = accumulate ? p.dx[from] + gradient : gradient;
  });
}

KernelPtr Backward(const OpCall& call) {
  const Shape& shape = call.launch.shape.in;
  const std::int64_t reach = (call.launch.shape.window[0] - 1) / 2;  // as oneDNN has it, for even sizes too
  const Bytes workspace = 3 * shape.c * kBlock * static_cast<Bytes>(sizeof(float));
  const auto body = [shape, reach, accumulate = call.launch.accumulate](const CpuArguments& a) {
    const std::int64_t positions = shape.Spatial();
    for (std::int64_t n = 0; n < shape.n; ++n) {
      for (std::int64_t i = 0; i < positions; i += kBlock) {
        const std::int64_t at = n * shape.c * positions + i;
        const Block block{shape.c, positions, std::min(kBlock, positions - i), reach};
        BackwardBlock(block, {Read(a, 0) + at, Read(a, 1) + at, Read(a, 2) + at, Write(a, 0) + at}, accumulate,
                      static_cast<float*>(a.workspace));
      }
    }
  };
  return std::make_unique<LoopKernel>(body, workspace);
}

}  // namespace

// Backward reads {input, result, gradient}.
KernelPtr MakeLrn(const OpCall& call) {
  if (call.launch.pass != Pass::kForward) return Backward(call);
  const Desc data = Dense(DimsOf(call.launch.shape.in, false));
  const std::int64_t size = call.launch.shape.window[0];
  // oneDNN divides alpha by the number of channels.
  const dnnl::lrn_forward::desc operation(dnnl::prop_kind::forward_inference, dnnl::algorithm::lrn_across_channels,
                                          data, size, kAlpha * static_cast<float>(size), kBeta, kOffset);
  const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, data), Writes(DNNL_ARG_DST, 0, data)};
  return std::make_unique<DnnlKernel>(FirstImplementation(operation), bindings, false);
}

}  // namespace spillway::cpu
