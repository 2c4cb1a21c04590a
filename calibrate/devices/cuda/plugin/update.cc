// SGD with momentum, v = momentum * v + gradient, parameter -= rate * v, in one pass over memory; and the copy of a
// tensor.
#include "calibrate/devices/cuda/plugin/kernel.h"
#include "calibrate/devices/cuda/plugin/own_kernels.h"

namespace spillway::cuda {
namespace {

class Update : public Kernel {
 public:
  Update(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "own"),
        elements_(call.launch.shape.in.Elements()),
        momentum_(call.launch.shape.operands >= 3) {
    if (call.launch.shape.operands > 3) Refuse("the CUDA device has no kernel for optimizers but sgd and sgd-momentum");
  }

 protected:
  // Reads {gradient, parameter, velocity if there is momentum} and writes {parameter, velocity}.
  void Launch(const CudaArguments& a) const override {
    const MomentumUpdate body{.gradient = Read(a, 0),
                              .parameter = Write(a, 0),
                              .velocity = momentum_ ? Write(a, 1) : nullptr,
                              .elements = elements_,
                              .rate = a.learning_rate,
                              .momentum = a.momentum};
    SPILLWAY_CHECK(LaunchElements(body, libraries().stream()));
  }

 private:
  std::int64_t elements_;
  bool momentum_;
};

class CopyTensor : public Kernel {
 public:
  CopyTensor(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, "cudaMemcpyAsync"),
        bytes_(static_cast<std::size_t>(call.launch.shape.in.Elements()) * sizeof(float)) {}

 protected:
  void Launch(const CudaArguments& a) const override {
    SPILLWAY_CHECK(cudaMemcpyAsync(Write(a, 0), Read(a, 0), bytes_, cudaMemcpyDeviceToDevice, libraries().stream()));
  }

 private:
  std::size_t bytes_;
};

}  // namespace

KernelPtr MakeUpdate(const LibrariesPtr& libraries, const OpCall& call) {
  return std::make_unique<Update>(libraries, call);
}
KernelPtr MakeCopy(const LibrariesPtr& libraries, const OpCall& call) {
  return std::make_unique<CopyTensor>(libraries, call);
}

}  // namespace spillway::cuda
