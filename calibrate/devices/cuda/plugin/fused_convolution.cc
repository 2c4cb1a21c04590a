// Convolution, bias and activation in one call of cuDNN's legacy interface: y = act(conv(x, w) + 0 z + b).
#include "calibrate/devices/cuda/plugin/descriptors.h"
#include "calibrate/devices/cuda/plugin/kernel.h"
#include "model/cost/kernel_form.h"

namespace spillway::cuda {
namespace {

constexpr std::int32_t kPrecompGemm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM + 1;

// Reads {input, weight, bias}.
class FusedConvolution : public Kernel {
 public:
  FusedConvolution(const LibrariesPtr& libraries, const OpCall& call, bool relu)
      : Kernel(libraries, "cudnnConvolutionBiasActivationForward"), problem_(call) {
    const std::int32_t algorithm = call.launch.algorithm == 0 ? kPrecompGemm : call.launch.algorithm;
    if (algorithm > CUDNN_CONVOLUTION_FWD_ALGO_COUNT) Refuse("not an algorithm of cuDNN");
    algorithm_ = static_cast<cudnnConvolutionFwdAlgo_t>(algorithm - 1);
    SetBias(call.launch.shape.out.c);
    // The one way to treat NaN that this call takes.
    SPILLWAY_CHECK(cudnnSetActivationDescriptor(
        activation_.get(), relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY, CUDNN_NOT_PROPAGATE_NAN, 0.0));
    TakeWorkspace(call.launch);
    implementation_ = AlgorithmNames(OpKind::kConvolution, Pass::kForward)[static_cast<std::size_t>(algorithm_)];
    if (call.launch.math == MathMode::kTf32) implementation_ += ", tf32";
  }

 protected:
  // What is added beside the bias is added zero times, and is the result itself, so that nothing else is read.
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudnnConvolutionBiasActivationForward(
        libraries().cudnn(), &kOne, problem_.in.get(), Read(a, 0), problem_.weight.get(), Read(a, 1),
        problem_.convolution.get(), algorithm_, a.workspace, static_cast<std::size_t>(workspace_), &kZero,
        problem_.out.get(), Write(a, 0), bias_.get(), Read(a, 2), activation_.get(), problem_.out.get(), Write(a, 0)));
  }

 private:
  // With as many dimensions as the result.
  void SetBias(std::int64_t channels) {
    std::vector<std::int64_t> sizes{1, channels, 1, 1};
    if (problem_.deep) sizes.push_back(1);
    SetDense(bias_, sizes);
  }

  void TakeWorkspace(const spillway::Launch& launch) {
    std::size_t bytes = 0;
    SPILLWAY_CHECK(cudnnGetConvolutionForwardWorkspaceSize(libraries().cudnn(), problem_.in.get(),
                                                           problem_.weight.get(), problem_.convolution.get(),
                                                           problem_.out.get(), algorithm_, &bytes));
    workspace_ = static_cast<Bytes>(bytes);
    if (launch.workspace == kUsualWorkspace || workspace_ <= launch.workspace) return;
    Refuse("a workspace of " + std::to_string(workspace_) + " bytes is more than " + std::to_string(launch.workspace));
  }

  ConvolutionProblem problem_;
  TensorDescriptor bias_;
  ActivationDescriptor activation_;
  cudnnConvolutionFwdAlgo_t algorithm_{};
};

}  // namespace

KernelPtr MakeFusedConvolution(const LibrariesPtr& libraries, const OpCall& call, bool relu) {
  return std::make_unique<FusedConvolution>(libraries, call, relu);
}

}  // namespace spillway::cuda
