// Softmax by oneDNN, the gradient of cross-entropy behind it by a loop: (probability - 1 at the label) / labels.
#include <algorithm>
#include <cassert>

#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {

// Forward reads {input} and writes {probabilities}; backward reads {probabilities}.
KernelPtr MakeSoftmaxLoss(const OpCall& call) {
  const Shape shape = call.launch.shape.in;
  if (call.launch.pass == Pass::kForward) {
    const Desc data = shape.Spatial() == 1 ? Dense({shape.n, shape.c}) : Dense({shape.n, shape.c, shape.Spatial()});
    const dnnl::softmax_forward::desc operation(dnnl::prop_kind::forward_inference, data, 1);
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, data), Writes(DNNL_ARG_DST, 0, data)};
    return std::make_unique<DnnlKernel>(FirstImplementation(operation), bindings, false);
  }
  const std::int64_t samples = std::max(call.details.mean_over, shape.n);
  return std::make_unique<LoopKernel>([shape, samples, accumulate = call.launch.accumulate](const CpuArguments& a) {
    const std::int64_t positions = shape.Spatial();
    const float share = 1.0f / static_cast<float>(samples * positions);
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

}  // namespace spillway::cpu
