// Batch normalisation by oneDNN on the plain layout. The second saved vector holds the variance, from which oneDNN's
// backward takes the inverse deviation itself; nobody else reads it.
#include "calibrate/devices/cpu/kernels/dnnl_kernel.h"
#include "calibrate/devices/cpu/kernels/makers.h"

namespace spillway::cpu {
namespace {

using dnnl::normalization_flags;

constexpr float kEpsilon = 1e-5f;
constexpr float kStatisticsRate = 0.1f;  // weight of a new batch in the running statistics, as in PyTorch

dnnl::batch_normalization_forward::desc Operation(dnnl::prop_kind kind, const Desc& data, bool given_statistics) {
  normalization_flags flags = normalization_flags::use_scale | normalization_flags::use_shift;
  if (given_statistics) flags |= normalization_flags::use_global_stats;
  return {kind, data, kEpsilon, flags};
}

class Forward : public DnnlKernel {
 public:
  Forward(const dnnl::primitive_desc& primitive, const std::vector<Binding>& bindings, const Shape& shape)
      : DnnlKernel(primitive, bindings, false), shape_(shape) {}

  void Run(const CpuArguments& arguments) const override {
    DnnlKernel::Run(arguments);
    if (arguments.running_statistics.empty()) return;
    const std::size_t channels = static_cast<std::size_t>(shape_.c);
    const float count = static_cast<float>(shape_.n * shape_.Spatial());
    const float unbiased = count > 1 ? count / (count - 1) : 1;
    float* mean = arguments.running_statistics.data();
    float* variance = mean + channels;
    for (std::size_t c = 0; c < channels; ++c) {
      mean[c] += kStatisticsRate * (Write(arguments, 1)[c] - mean[c]);
      variance[c] += kStatisticsRate * (unbiased * Write(arguments, 2)[c] - variance[c]);
    }
  }

 private:
  Shape shape_;
};

// Normalises with the running statistics, as extra reads behind the op's own.
class Inference : public DnnlKernel {
 public:
  using DnnlKernel::DnnlKernel;
  void Run(const CpuArguments& arguments) const override {
    CpuArguments extended = arguments;
    float* mean = arguments.running_statistics.data();
    const std::array<void*, 5> reads{arguments.reads[0], arguments.reads[1], arguments.reads[2], mean,
                                     mean + arguments.running_statistics.size() / 2};
    extended.reads = reads;
    DnnlKernel::Run(extended);
  }
};

}  // namespace

// Forward reads {input, scale, shift} and writes {result, mean, variance}.
// Backward reads {input, gradient, scale, mean, variance} and writes {input's gradient where wanted, scale's, shift's}.
KernelPtr MakeBatchNorm(const OpCall& call) {
  const Shape& shape = call.launch.shape.in;
  const Desc data = Dense(DimsOf(shape, false)), vector = Dense({shape.c});
  if (call.launch.pass == Pass::kForward && call.launch.shape.operands == 0) {
    const auto operation = Operation(dnnl::prop_kind::forward_inference, data, true);
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, data),        Reads(DNNL_ARG_SCALE, 1, vector),
                                        Reads(DNNL_ARG_SHIFT, 2, vector),    Reads(DNNL_ARG_MEAN, 3, vector),
                                        Reads(DNNL_ARG_VARIANCE, 4, vector), Writes(DNNL_ARG_DST, 0, data)};
    return std::make_unique<Inference>(FirstImplementation(operation), bindings, false);
  }
  const auto operation = Operation(dnnl::prop_kind::forward_training, data, false);
  const dnnl::primitive_desc forward = FirstImplementation(operation);
  if (call.launch.pass == Pass::kForward) {
    const std::vector<Binding> bindings{Reads(DNNL_ARG_SRC, 0, data),     Reads(DNNL_ARG_SCALE, 1, vector),
                                        Reads(DNNL_ARG_SHIFT, 2, vector), Writes(DNNL_ARG_DST, 0, data),
                                        Writes(DNNL_ARG_MEAN, 1, vector), Writes(DNNL_ARG_VARIANCE, 2, vector)};
    return std::make_unique<Forward>(forward, bindings, shape);
  }
  const dnnl::batch_normalization_backward::desc backward(
      dnnl::prop_kind::backward, data, data, kEpsilon, normalization_flags::use_scale | normalization_flags::use_shift);
  const std::size_t first = call.details.input_gradient ? 1 : 0;
  const std::vector<Binding> bindings{
      Reads(DNNL_ARG_SRC, 0, data),
      Reads(DNNL_ARG_DIFF_DST, 1, data),
      Reads(DNNL_ARG_SCALE, 2, vector),
      Reads(DNNL_ARG_SHIFT, 2, vector),  // asked for, though no gradient depends on it: any vector will do
      Reads(DNNL_ARG_MEAN, 3, vector),
      Reads(DNNL_ARG_VARIANCE, 4, vector),
      call.details.input_gradient ? Writes(DNNL_ARG_DIFF_SRC, 0, data) : Unwanted(DNNL_ARG_DIFF_SRC, data),
      Writes(DNNL_ARG_DIFF_SCALE, first, vector),
      Writes(DNNL_ARG_DIFF_SHIFT, first + 1, vector)};
  return std::make_unique<DnnlKernel>(FirstImplementation(backward, &forward), bindings, call.launch.accumulate);
}

}  // namespace spillway::cpu
