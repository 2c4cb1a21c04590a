// Local response normalisation across channels, constants as in calibrate/devices/cpu/kernels/lrn.cc.
#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

constexpr double kAlpha = 1e-4, kBeta = 0.75, kOffset = 2.0;
constexpr cudnnLRNMode_t kMode = CUDNN_LRN_CROSS_CHANNEL_DIM1;

class Lrn : public Kernel {
 public:
  Lrn(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "cross_channel"), beta_(BetaOf(call.launch.accumulate)) {
    const std::int64_t size = call.launch.shape.window[0];
    if (size % 2 == 0) Refuse("sums over an even number of channels, which libraries place differently");
    SetPlanes(data_, call.launch.shape.in);
    // cuDNN divides alpha by the number of channels.
    SPILLWAY_CHECK(cudnnSetLRNDescriptor(lrn_.get(), static_cast<unsigned>(IntOf(size)),
                                         kAlpha * static_cast<double>(size), kBeta, kOffset));
  }

 protected:
  const float* beta_;
  TensorDescriptor data_;
  LrnDescriptor lrn_;
};

class Forward : public Lrn {
 public:
  using Lrn::Lrn;

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnLRNCrossChannelForward(libraries().cudnn(), lrn_.get(), kMode, &kOne, data_.get(), Read(a, 0),
                                               &kZero, data_.get(), Write(a, 0)));
  }
};

// Reads {input, result, gradient}.
class Backward : public Lrn {
 public:
  using Lrn::Lrn;

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnLRNCrossChannelBackward(libraries().cudnn(), lrn_.get(), kMode, &kOne, data_.get(), Read(a, 1),
                                                data_.get(), Read(a, 2), data_.get(), Read(a, 0), beta_, data_.get(),
                                                Write(a, 0)));
  }
};

}  // namespace

KernelPtr MakeLrn(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.launch.pass == Pass::kForward) return std::make_unique<Forward>(libraries, call);
  return std::make_unique<Backward>(libraries, call);
}

}  // namespace spillway::cuda
