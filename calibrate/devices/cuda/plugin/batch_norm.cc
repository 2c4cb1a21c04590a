// Batch normalisation by cuDNN, in its plain spatial mode: the persistent one is faster for some shapes but less exact
// (PyTorch left it for that). The second saved vector holds the inverse deviation; only this file's backward reads it.
#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

constexpr double kEpsilon = 1e-5;        // calibrate/devices/cpu/kernels/batch_norm.cc has the same two
constexpr double kStatisticsRate = 0.1;  // weight of a new batch in the running statistics
constexpr cudnnBatchNormMode_t kMode = CUDNN_BATCHNORM_SPATIAL;

class BatchNorm : public Kernel {
 public:
  BatchNorm(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "spatial"), channels_(static_cast<std::size_t>(call.launch.shape.in.c)) {
    SetPlanes(data_, call.launch.shape.in);
    SPILLWAY_CHECK(cudnnDeriveBNTensorDescriptor(vector_.get(), data_.get(), kMode));
  }

 protected:
  std::size_t channels_;
  TensorDescriptor data_, vector_;
};

// Reads {input, scale, shift} and writes {result, mean, inverse deviation}.
class Training : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;

 protected:
  void Launch(const CudaArguments& a) const override {
    float* const means = static_cast<float*>(a.running_statistics);
    float* const variances = means == nullptr ? nullptr : means + channels_;
    SPILLWAY_CHECK(cudnnBatchNormalizationForwardTraining(
        libraries().cudnn(), kMode, &kOne, &kZero, data_.get(), Read(a, 0), data_.get(), Write(a, 0), vector_.get(),
        Read(a, 1), Read(a, 2), kStatisticsRate, means, variances, kEpsilon, Write(a, 1), Write(a, 2)));
  }
};

// Reads {input, scale, shift} and writes {result}.
class Inference : public BatchNorm {
 public:
  using BatchNorm::BatchNorm;

 protected:
  void Launch(const CudaArguments& a) const override {
    const float* const means = static_cast<const float*>(a.running_statistics);
    if (means == nullptr) Refuse("inference needs running statistics");
    SPILLWAY_CHECK(cudnnBatchNormalizationForwardInference(libraries().cudnn(), kMode, &kOne, &kZero, data_.get(),
                                                           Read(a, 0), data_.get(), Write(a, 0), vector_.get(),
                                                           Read(a, 1), Read(a, 2), means, means + channels_, kEpsilon));
  }
};

// Reads {input, gradient, scale, mean, inverse deviation} and writes {input's gradient where wanted, scale's, shift's}.
// cuDNN computes the input's gradient always; where nobody wants it, it goes to the workspace.
class Backward : public BatchNorm {
 public:
  Backward(const LibrariesPtr& libraries, const OpCall& call)
      : BatchNorm(libraries, call),
        input_gradient_(call.details.input_gradient),
        beta_(BetaOf(call.launch.accumulate)) {
    if (input_gradient_) return;
    if (call.launch.accumulate) Refuse("the gradients of scale and shift cannot be added to");
    workspace_ = call.launch.shape.in.Elements() * static_cast<Bytes>(sizeof(float));
  }

 protected:
  void Launch(const CudaArguments& a) const override {
    const std::size_t first = input_gradient_ ? 1 : 0;
    float* const gradient = input_gradient_ ? Write(a, 0) : static_cast<float*>(a.workspace);
    SPILLWAY_CHECK(cudnnBatchNormalizationBackward(libraries().cudnn(), kMode, &kOne, beta_, &kOne, &kZero, data_.get(),
                                                   Read(a, 0), data_.get(), Read(a, 1), data_.get(), gradient,
                                                   vector_.get(), Read(a, 2), Write(a, first), Write(a, first + 1),
                                                   kEpsilon, Read(a, 3), Read(a, 4)));
  }

 private:
  bool input_gradient_;
  const float* beta_;
};

}  // namespace

KernelPtr MakeBatchNorm(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.launch.pass != Pass::kForward) return std::make_unique<Backward>(libraries, call);
  if (call.launch.shape.operands == 0) return std::make_unique<Inference>(libraries, call);
  return std::make_unique<Training>(libraries, call);
}

}  // namespace spillway::cuda
