// Softmax, and the gradient of cross-entropy behind it: (probability - 1 at the label) / labels, as one sum of tensors
// with one-hot labels. Where the step has the gradient of the log-probabilities, it is a pass of its own before.
#include <algorithm>

#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

class Forward : public Kernel {
 public:
  Forward(const LibrariesPtr& libraries, const OpCall& call) : Kernel(libraries, "softmax_accurate") {
    const Shape& shape = call.launch.shape.in;
    SetPlanes(data_, shape);
    mode_ = shape.Spatial() == 1 ? CUDNN_SOFTMAX_MODE_INSTANCE : CUDNN_SOFTMAX_MODE_CHANNEL;
  }

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnSoftmaxForward(libraries().cudnn(), CUDNN_SOFTMAX_ACCURATE, mode_, &kOne, data_.get(),
                                       Read(a, 0), &kZero, data_.get(), Write(a, 0)));
  }

 private:
  TensorDescriptor data_;
  cudnnSoftmaxMode_t mode_;
};

// Reads {probabilities}.
class Backward : public Kernel {
 public:
  Backward(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "cudnnOpTensor"),
        share_(static_cast<float>(call.details.loss_weight) /
               static_cast<float>(std::max(call.details.mean_over, call.launch.shape.in.n) *
                                  call.launch.shape.in.Spatial())),
        less_(-share_),
        beta_(BetaOf(call.launch.accumulate)) {
    SetPlanes(data_, call.launch.shape.in);
    SetAddition(addition_);
  }

 protected:
  void Launch(const CudaArguments& a) const override {
    if (a.labels == nullptr) Refuse("the gradient of the loss needs labels");
    if (a.writes.size() > 1) {
      SPILLWAY_CHECK(cudnnOpTensor(libraries().cudnn(), addition_.get(), &less_, data_.get(), a.labels, &kZero,
                                   data_.get(), a.labels, &kZero, data_.get(), Write(a, 1)));
    }
    SPILLWAY_CHECK(cudnnOpTensor(libraries().cudnn(), addition_.get(), &share_, data_.get(), Read(a, 0), &less_,
                                 data_.get(), a.labels, beta_, data_.get(), Write(a, 0)));
  }

 private:
  float share_, less_;
  const float* beta_;
  TensorDescriptor data_;
  OpTensorDescriptor addition_;
};

}  // namespace

KernelPtr MakeSoftmaxLoss(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.details.loss.smoothing != 0) Refuse("the CUDA device has no loss with smoothed labels yet");
  if (call.launch.pass == Pass::kForward) return std::make_unique<Forward>(libraries, call);
  return std::make_unique<Backward>(libraries, call);
}

}  // namespace spillway::cuda
