// Which kernel computes which op.
#include <array>

#include "calibrate/devices/cuda/plugin/runtime_calls.h"

namespace spillway::cuda {
namespace {

// By OpKind.
#define OP_KIND(KIND, ...) Make##KIND,
constexpr std::array kMakers = {
#include "model/step/op_kinds.inc"
};
#undef OP_KIND

void CheckFormat(const Launch& launch) {
  const bool math = launch.math == MathMode::kFp32 || launch.math == MathMode::kTf32;
  if (launch.type == DataType::kFp32 && launch.layout == Layout::kNchw && math) return;
  Refuse("the CUDA device computes on fp32 NCHW tensors, in fp32 or TF32 arithmetic");
}

// Calls `function`; errors get the op's name in front.
template <typename Function>
auto Named(const std::string& text, Function function) {
  try {
    return function();
  } catch (const DeviceError& error) {
    throw DeviceError(error.fault(), error.instruction(), text + ": " + error.what());
  }
}

}  // namespace

const LibrariesPtr& RuntimeCalls::Handles() {
  if (libraries_ == nullptr) {
    libraries_ = std::make_shared<Libraries>(Attribute(cudaDevAttrComputeCapabilityMajor));
  }
  return libraries_;
}

std::vector<CudaAlgorithm> RuntimeCalls::Algorithms(const OpCall& call) {
  return Named(host_.launch_text(call.launch), [&]() -> std::vector<CudaAlgorithm> {
    CheckFormat(call.launch);
    if (!HasAlgorithms(call.launch.kind)) return {};
    return ConvolutionAlgorithms(Handles(), call);
  });
}

std::unique_ptr<CudaKernel> RuntimeCalls::Prepare(const OpCall& call) {
  const std::string text = host_.launch_text(call.launch);
  return Named(text, [&]() -> std::unique_ptr<CudaKernel> {
    CheckFormat(call.launch);
    KernelPtr kernel = kMakers[static_cast<std::size_t>(call.launch.kind)](Handles(), call);
    kernel->set_text(text);
    return kernel;
  });
}

}  // namespace spillway::cuda
