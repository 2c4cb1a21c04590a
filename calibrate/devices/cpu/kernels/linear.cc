// Inner products by oneDNN: matrix products on the plain layouts.
#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {

// Reads as a convolution does.
KernelPtr MakeLinear(const OpCall& call) {
  const OpShape& s = call.launch.shape;
  const std::int64_t features = s.in.c * s.in.Spatial();
  const Desc in = Dense({s.in.n, features}), weight = Dense({s.out.c, features}), out = Dense({s.out.n, s.out.c});
  const dnnl::inner_product_forward::desc forward(dnnl::prop_kind::forward_training, in, weight, out);
  const dnnl::primitive_desc primitive = FirstImplementation(forward);
  const bool accumulate = call.launch.accumulate;
  if (call.launch.pass == Pass::kForward) {
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, in), Reads(DNNL_ARG_WEIGHTS, 1, weight),
                                        Writes(DNNL_ARG_DST, 0, out)};
    return std::make_unique<DnnlKernel>(primitive, bindings, accumulate);
  }
  if (call.launch.pass == Pass::kBackwardData) {
    const dnnl::inner_product_backward_data::desc data(in, weight, out);
    const std::vector<Binding> bindings{Reads(DNNL_ARG_WEIGHTS, 0, weight), Reads(DNNL_ARG_DIFF_DST, 1, out),
                                        Writes(DNNL_ARG_DIFF_SRC, 0, in)};
    return std::make_unique<DnnlKernel>(FirstImplementation(data, &primitive), bindings, accumulate);
  }
  const dnnl::inner_product_backward_weights::desc filter(in, weight, out);
  const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, in), Reads(DNNL_ARG_DIFF_DST, 1, out),
                                      Writes(DNNL_ARG_DIFF_WEIGHTS, 0, weight)};
  return std::make_unique<DnnlKernel>(FirstImplementation(filter, &primitive), bindings, accumulate);
}

}  // namespace spillway::cpu
