// Bias: added per channel, in place; its gradient is the sum over batch and space.
#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

class Bias : public Kernel {
 public:
  Bias(const LibrariesPtr& libraries, const OpCall& call, const char* implementation)
      : Kernel(libraries, implementation), beta_(BetaOf(call.launch.accumulate)) {
    SetPlanes(data_, call.launch.shape.out);
    SetChannels(vector_, call.launch.shape.out.c);
    SetAddition(addition_);
  }

 protected:
  const float* beta_;
  TensorDescriptor data_, vector_;
  OpTensorDescriptor addition_;
};

// Reads {result so far, bias} and writes {result}.
class Forward : public Bias {
 public:
  using Bias::Bias;

 protected:
  void Launch(const CudaArguments& a) const override {
    if (Read(a, 0) == Write(a, 0)) {
      SPILLWAY_CHECK(
          cudnnAddTensor(libraries().cudnn(), &kOne, vector_.get(), Read(a, 1), &kOne, data_.get(), Write(a, 0)));
      return;
    }
    SPILLWAY_CHECK(cudnnOpTensor(libraries().cudnn(), addition_.get(), &kOne, data_.get(), Read(a, 0), &kOne,
                                 vector_.get(), Read(a, 1), &kZero, data_.get(), Write(a, 0)));
  }
};

// Reads {gradient}.
class Backward : public Bias {
 public:
  using Bias::Bias;

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnConvolutionBackwardBias(libraries().cudnn(), &kOne, data_.get(), Read(a, 0), beta_,
                                                vector_.get(), Write(a, 0)));
  }
};

}  // namespace

KernelPtr MakeBias(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.launch.pass == Pass::kForward) return std::make_unique<Forward>(libraries, call, "cudnnAddTensor");
  return std::make_unique<Backward>(libraries, call, "cudnnConvolutionBackwardBias");
}

}  // namespace spillway::cuda
