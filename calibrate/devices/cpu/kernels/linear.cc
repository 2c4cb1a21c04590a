// Inner products by oneDNN: matrix products on the plain layouts.
#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"
#include "calibrate/devices/cpu/kernels/matrices.h"

namespace spillway::cpu {
namespace {

KernelPtr OfSamples(const OpCall& call) {
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

// Each position by itself: a sample is a matrix of channels x positions.
KernelPtr OfPositions(const OpCall& call) {
  const OpShape& s = call.launch.shape;
  return std::make_unique<LoopKernel>(
      [in = s.in, out = s.out, pass = call.launch.pass, accumulate = call.launch.accumulate](const CpuArguments& a) {
        const std::int64_t positions = out.Spatial();
        for (std::int64_t n = 0; n < in.n; ++n) {
          const std::int64_t at_in = n * in.c * positions, at_out = n * out.c * positions;
          if (pass == Pass::kForward) {
            const Matrix x{Read(a, 0) + at_in, in.c, positions}, weight{Read(a, 1), out.c, in.c};
            Multiply(weight, x, Write(a, 0) + at_out, accumulate);
          } else if (pass == Pass::kBackwardData) {
            const Matrix weight{Read(a, 0), out.c, in.c}, dy{Read(a, 1) + at_out, out.c, positions};
            Multiply(weight.T(), dy, Write(a, 0) + at_in, accumulate);
          } else {
            const Matrix x{Read(a, 0) + at_in, in.c, positions}, dy{Read(a, 1) + at_out, out.c, positions};
            Multiply(dy, x.T(), Write(a, 0), accumulate || n > 0);
          }
        }
      });
}

// The first position of each sample of the tensor: channels that lie `stride` apart.
void GatherFirst(const float* from, const Shape& in, std::int64_t stride, float* to) {
  for (std::int64_t i = 0; i < in.n * in.c; ++i) to[i] = from[i * stride];
}

// Nothing comes back to the other positions.
void SpreadFirst(const float* from, const Shape& in, std::int64_t stride, bool add, float* to) {
  for (std::int64_t i = 0; i < in.n * in.c; ++i) {
    for (std::int64_t k = 0; k < stride; ++k) {
      const float value = k == 0 ? from[i] : 0;
      to[i * stride + k] = add ? to[i * stride + k] + value : value;
    }
  }
}

KernelPtr OfFirst(const OpCall& call) {
  const Shape in = call.launch.shape.in, out = call.launch.shape.out;
  const std::int64_t stride = call.details.whole.Spatial();
  const Bytes workspace = in.Elements() * static_cast<Bytes>(sizeof(float));
  const auto body = [in, out, stride, pass = call.launch.pass,
                     accumulate = call.launch.accumulate](const CpuArguments& a) {
    float* const first = static_cast<float*>(a.workspace);
    const Matrix x{first, in.n, in.c};
    if (pass != Pass::kBackwardData) GatherFirst(Read(a, 0), in, stride, first);
    if (pass == Pass::kForward) {
      Multiply(x, Matrix{Read(a, 1), out.c, in.c}.T(), Write(a, 0), accumulate);
    } else if (pass == Pass::kBackwardData) {
      Multiply(Matrix{Read(a, 1), in.n, out.c}, Matrix{Read(a, 0), out.c, in.c}, first, false);
      SpreadFirst(first, in, stride, accumulate, Write(a, 0));
    } else {
      Multiply(Matrix{Read(a, 1), in.n, out.c}.T(), x, Write(a, 0), accumulate);
    }
  };
  return std::make_unique<LoopKernel>(body, workspace);
}

}  // namespace

// Reads as a convolution does.
KernelPtr MakeLinear(const OpCall& call) {
  if (call.details.whole != Shape{}) return OfFirst(call);
  return call.launch.shape.out.Spatial() > 1 ? OfPositions(call) : OfSamples(call);
}

}  // namespace spillway::cpu
