// Pooling by cuDNN. Averages are over the whole window: padding counts as zeros. Maxima by the deterministic variant,
// whose backward adds in a fixed order where windows overlap.
#include "calibrate/devices/cuda/plugin/check.h"
#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

class Pooling : public Kernel {
 public:
  Pooling(const LibrariesPtr& libraries, const OpCall& call, cudnnPoolingMode_t mode)
      : Kernel(libraries, mode == CUDNN_POOLING_MAX_DETERMINISTIC ? "max_deterministic" : "average"),
        beta_(BetaOf(call.launch.accumulate)) {
    const OpShape& s = call.launch.shape;
    if (s.PadBegin() != s.PadEnd()) Refuse("cuDNN pads as much behind as before");
    const bool deep = s.in.d != 1 || s.out.d != 1 || s.window[0] != 1;
    SetDense(in_, SizesOf(s.in, deep));
    SetDense(out_, SizesOf(s.out, deep));  // sizes rounded up too: the last windows reach beyond the padding
    const std::vector<int> window = Spatial(s.window, deep), pad = Spatial(s.PadBegin(), deep),
                           stride = Spatial(s.stride, deep);
    SPILLWAY_CHECK(cudnnSetPoolingNdDescriptor(pooling_.get(), mode, CUDNN_PROPAGATE_NAN,
                                               static_cast<int>(window.size()), window.data(), pad.data(),
                                               stride.data()));
  }

 protected:
  const float* beta_;
  TensorDescriptor in_, out_;
  PoolingDescriptor pooling_;
};

class Forward : public Pooling {
 public:
  using Pooling::Pooling;

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnPoolingForward(libraries().cudnn(), pooling_.get(), &kOne, in_.get(), Read(a, 0), &kZero,
                                       out_.get(), Write(a, 0)));
  }
};

// Reads {input, result, gradient}.
class MaxBackward : public Pooling {
 public:
  using Pooling::Pooling;

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnPoolingBackward(libraries().cudnn(), pooling_.get(), &kOne, out_.get(), Read(a, 1), out_.get(),
                                        Read(a, 2), in_.get(), Read(a, 0), beta_, in_.get(), Write(a, 0)));
  }
};

// Reads {gradient}. cuDNN asks for result and input too, though no average's gradient depends on their values: it is
// given the gradient and its own result, which are as large.
class AverageBackward : public Pooling {
 public:
  using Pooling::Pooling;

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnPoolingBackward(libraries().cudnn(), pooling_.get(), &kOne, out_.get(), Read(a, 0), out_.get(),
                                        Read(a, 0), in_.get(), Write(a, 0), beta_, in_.get(), Write(a, 0)));
  }
};

}  // namespace

KernelPtr MakeMaxPool(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.details.saved_indices) Refuse("cuDNN keeps no places of maxima; other step options save the result instead");
  constexpr cudnnPoolingMode_t kMode = CUDNN_POOLING_MAX_DETERMINISTIC;
  if (call.launch.pass == Pass::kForward) return std::make_unique<Forward>(libraries, call, kMode);
  return std::make_unique<MaxBackward>(libraries, call, kMode);
}

KernelPtr MakeAveragePool(const LibrariesPtr& libraries, const OpCall& call) {
  constexpr cudnnPoolingMode_t kMode = CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
  if (call.launch.pass == Pass::kForward) return std::make_unique<Forward>(libraries, call, kMode);
  return std::make_unique<AverageBackward>(libraries, call, kMode);
}

}  // namespace spillway::cuda
