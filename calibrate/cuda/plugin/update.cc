// SGD with momentum, v = momentum * v + gradient, parameter -= rate * v, in one pass over memory where nvcc was there,
// else in three of cuBLAS; and the copy of a tensor.
#include "calibrate/cuda/plugin/kernel.h"
#include "calibrate/cuda/plugin/own_kernels.h"

namespace spillway::cuda {
namespace {

class Update : public Kernel {
 public:
  Update(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, HasOwnKernels() ? "own" : "cublas"),
        elements_(call.launch.shape.in.Elements()),
        momentum_(call.launch.shape.operands >= 3) {}

 protected:
  // Reads {gradient, parameter, velocity if there is momentum} and writes {parameter, velocity}.
  void Launch(const CudaArguments& a) const override {
    const MomentumUpdate body{.gradient = Read(a, 0),
                              .parameter = Write(a, 0),
                              .velocity = momentum_ ? Write(a, 1) : nullptr,
                              .elements = elements_,
                              .rate = a.learning_rate,
                              .momentum = a.momentum};
    if (!HasOwnKernels()) return LaunchByCublas(body);
    SPILLWAY_CHECK(LaunchElements(body, libraries().stream()));
  }

 private:
  void LaunchByCublas(const MomentumUpdate& body) const {
    const cublasHandle_t handle = libraries().cublas();
    const int count = IntOf(elements_);
    const float* step = body.gradient;
    if (body.velocity != nullptr) {
      SPILLWAY_CHECK(cublasSscal(handle, count, &body.momentum, body.velocity, 1));
      SPILLWAY_CHECK(cublasSaxpy(handle, count, &kOne, body.gradient, 1, body.velocity, 1));
      step = body.velocity;
    }
    const float rate = -body.rate;
    SPILLWAY_CHECK(cublasSaxpy(handle, count, &rate, step, 1, body.parameter, 1));
  }

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
