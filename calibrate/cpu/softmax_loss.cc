// Softmax by oneDNN, the gradient of cross-entropy behind it by a loop: (probability - 1 at the label) / labels.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "calibrate/cpu/dnnl_kernel.h"
#include "calibrate/cpu/makers.h"

namespace spillway {
namespace cpu {

// Forward reads {input} and writes {probabilities}; backward reads {probabilities}.
KernelPtr MakeSoftmaxLoss(const CpuCall& call) {
  const Shape shape = call.launch.shape.in;
  if (call.launch.pass == Pass::kForward) {
    const Desc data = shape.Spatial() == 1 ? Dense({shape.n, shape.c}) : Dense({shape.n, shape.c, shape.Spatial()});
    const dnnl::softmax_forward::desc operation(dnnl::prop_kind::forward_inference, data, 1);
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, data), Writes(DNNL_ARG_DST, 0, data)};
    return std::make_unique<DnnlKernel>(FirstImplementation(operation), bindings, false);
  }
  return std::make_unique<LoopKernel>([shape, accumulate = call.launch.accumulate](const CpuArguments& a) {
    const std::int64_t positions = shape.Spatial();
    const float share = 1.0f / static_cast<float>(shape.n * positions);
    assert(a.labels.size() == static_cast<std::size_t>(shape.n * positions));
    const float* p = Read(a, 0);
    float* dx = Write(a, 0);
    for (std::int64_t i = 0; i < shape.Elements(); ++i) {
      const std::int64_t n = i / (shape.c * positions), c = i / positions % shape.c;
      const std::int32_t label = a.labels[static_cast<std::size_t>(n * positions + i % positions)];
      const float gradient = (p[i] - (c == label ? 1.0f : 0.0f)) * share;
      dx[i] = accumulate ? dx[i] + gradient : gradient;
    }
  });
}

}  // namespace cpu

double CrossEntropy(const Shape& shape, std::span<const float> probabilities, std::span<const std::int32_t> labels) {
  const std::int64_t positions = shape.Spatial();
  assert(probabilities.size() == static_cast<std::size_t>(shape.Elements()));
  assert(labels.size() == static_cast<std::size_t>(shape.n * positions));
  double sum = 0;
  for (std::int64_t i = 0; i < shape.n * positions; ++i) {
    const std::int64_t at = (i / positions * shape.c + labels[static_cast<std::size_t>(i)]) * positions + i % positions;
    sum -= std::log(std::max(probabilities[static_cast<std::size_t>(at)], std::numeric_limits<float>::min()));
  }
  return sum / static_cast<double>(shape.n * positions);
}

}  // namespace spillway
