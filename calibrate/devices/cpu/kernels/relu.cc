// ReLU by oneDNN; backward looks at the result, so that it may have taken its input's place.
#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {

// Backward reads {result, gradient}.
KernelPtr MakeRelu(const OpCall& call) {
  const std::int64_t elements = call.launch.shape.in.Elements();
  if (call.launch.pass != Pass::kForward && call.launch.accumulate) {
    // oneDNN could not add to the gradient without a copy of it.
    return std::make_unique<LoopKernel>([elements](const CpuArguments& a) {
      const float *y = Read(a, 0), *dy = Read(a, 1);
      float* dx = Write(a, 0);
      for (std::int64_t i = 0; i < elements; ++i) dx[i] += y[i] > 0 ? dy[i] : 0.0f;
    });
  }
  const Desc data = Dense({elements});
  const auto method = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
  const dnnl::eltwise_forward::desc operation(dnnl::prop_kind::forward_training, method, data, 0.0f);
  const dnnl::primitive_desc forward = FirstImplementation(operation);
  if (call.launch.pass == Pass::kForward) {
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, data), Writes(DNNL_ARG_DST, 0, data)};
    return std::make_unique<DnnlKernel>(forward, bindings, false);
  }
  const dnnl::eltwise_backward::desc backward(method, data, data, 0.0f);
  const std::vector<Binding> bindings{Reads(DNNL_ARG_DST, 0, data), Reads(DNNL_ARG_DIFF_DST, 1, data),
                                      Writes(DNNL_ARG_DIFF_SRC, 0, data)};
  return std::make_unique<DnnlKernel>(FirstImplementation(backward, &forward), bindings, false);
}

}  // namespace spillway::cpu
