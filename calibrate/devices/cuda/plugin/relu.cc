// ReLU; backward looks at the result, so that it may have taken its input's place.
#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

class Relu : public Kernel {
 public:
  Relu(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "cudnnActivation"), beta_(BetaOf(call.launch.accumulate)) {
    SetPlanes(data_, call.launch.shape.in);
    // NaN stays NaN, so that reading freed memory shows in debug runs.
    SPILLWAY_CHECK(cudnnSetActivationDescriptor(relu_.get(), CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0.0));
  }

 protected:
  const float* beta_;
  TensorDescriptor data_;
  ActivationDescriptor relu_;
};

class Forward : public Relu {
 public:
  using Relu::Relu;

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnActivationForward(libraries().cudnn(), relu_.get(), &kOne, data_.get(), Read(a, 0), &kZero,
                                          data_.get(), Write(a, 0)));
  }
};

// Reads {result, gradient}. The result stands for the input: one is positive where the other is.
class Backward : public Relu {
 public:
  using Relu::Relu;

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnActivationBackward(libraries().cudnn(), relu_.get(), &kOne, data_.get(), Read(a, 0),
                                           data_.get(), Read(a, 1), data_.get(), Read(a, 0), beta_, data_.get(),
                                           Write(a, 0)));
  }
};

}  // namespace

KernelPtr MakeRelu(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.launch.pass == Pass::kForward) return std::make_unique<Forward>(libraries, call);
  return std::make_unique<Backward>(libraries, call);
}

}  // namespace spillway::cuda
