// Softmax by oneDNN, the gradient of cross-entropy behind it by a loop: (probability - 1 at the label) / labels.
#include <algorithm>
#include <cassert>

#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

// Writes {probabilities}, and where the step saves them labels and which of these are ignored: none.
class Forward : public DnnlKernel {
 public:
  Forward(const dnnl::primitive_desc& primitive, const std::vector<Binding>& bindings, const Shape& shape)
      : DnnlKernel(primitive, bindings, false), places_(shape.n * shape.Spatial()) {}

  void Run(const CpuArguments& arguments) const override {
    DnnlKernel::Run(arguments);
    if (arguments.writes.size() < 2) return;
    auto* const labels = static_cast<std::int64_t*>(arguments.writes[1]);
    std::fill_n(labels, places_, std::int64_t{0});
    std::copy(arguments.labels.begin(), arguments.labels.end(), labels);
    if (arguments.writes.size() > 2) std::fill_n(static_cast<std::uint8_t*>(arguments.writes[2]), places_, 0);
  }

 private:
  std::int64_t places_;
};

}  // namespace

// Forward reads {input}; backward reads {probabilities}, and the labels from the arguments. It writes {gradient}, and where
// the step has it the gradient of the log-probabilities.
KernelPtr MakeSoftmaxLoss(const OpCall& call) {
  const Shape shape = call.launch.shape.in;
  if (call.launch.pass == Pass::kForward) {
    const Desc data = shape.Spatial() == 1 ? Dense({shape.n, shape.c}) : Dense({shape.n, shape.c, shape.Spatial()});
    const dnnl::softmax_forward::desc operation(dnnl::prop_kind::forward_inference, data, 1);
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, data), Writes(DNNL_ARG_DST, 0, data)};
    return std::make_unique<Forward>(FirstImplementation(operation), bindings, shape);
  }
  const std::int64_t samples = std::max(call.details.mean_over, shape.n);
  const float weight = static_cast<float>(call.details.loss_weight);
  const bool accumulate = call.launch.accumulate;
  const float other = static_cast<float>(call.details.loss.smoothing / static_cast<double>(shape.c));
  const float right = static_cast<float>(1 - call.details.loss.smoothing) + other;
  return std::make_unique<LoopKernel>([shape, samples, weight, accumulate, right, other](const CpuArguments& a) {
    const std::int64_t positions = shape.Spatial();
    const float share = weight / static_cast<float>(samples * positions);
    assert(a.labels.size() == static_cast<std::size_t>(shape.n * positions));
    const float* p = Read(a, 0);
    float* dx = Write(a, 0);
    float* of_log = a.writes.size() > 1 ? Write(a, 1) : nullptr;
    for (std::int64_t i = 0; i < shape.Elements(); ++i) {
      const std::int64_t n = i / (shape.c * positions), c = i / positions % shape.c;
      const std::int32_t label = a.labels[static_cast<std::size_t>(n * positions + i % positions)];
      const float target = c == label ? right : other;
      if (of_log != nullptr) of_log[i] = -target * share;
      const float gradient = (p[i] - target) * share;
      dx[i] = accumulate ? dx[i] + gradient : gradient;
    }
  });
}

}  // namespace spillway::cpu
