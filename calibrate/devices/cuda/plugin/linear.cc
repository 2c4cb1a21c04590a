// Inner products by cuBLAS. It takes matrices by columns: a row-major m x n matrix is its n x m one.
#include "calibrate/devices/cuda/plugin/kernel.h"

namespace spillway::cuda {
namespace {

// Below, with n samples, c inputs and k outputs: input n x c, weight k x c, output n x k, all by rows.
class Linear : public Kernel {
 public:
  Linear(const LibrariesPtr& libraries, const OpCall& call)
      : Kernel(libraries, call.launch.math == MathMode::kTf32 ? "sgemm, tf32" : "sgemm"),
        pass_(call.launch.pass),
        math_(call.launch.math == MathMode::kTf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
        beta_(BetaOf(call.launch.accumulate)),
        n_(IntOf(call.launch.shape.in.n)),
        c_(IntOf(call.launch.shape.in.c * call.launch.shape.in.Spatial())),
        k_(IntOf(call.launch.shape.out.c)) {}

 protected:
  // Reads as a convolution does.
  void Launch(const CudaArguments& a) const override {
    const cublasHandle_t handle = libraries().cublas();
    SPILLWAY_CHECK(cublasSetMathMode(handle, math_));
    if (pass_ == Pass::kForward) {  // reads {input, weight}
      SPILLWAY_CHECK(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, k_, n_, c_, &kOne, Read(a, 1), c_, Read(a, 0), c_,
                                 beta_, Write(a, 0), k_));
    } else if (pass_ == Pass::kBackwardData) {  // reads {weight, gradient}
      SPILLWAY_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, c_, n_, k_, &kOne, Read(a, 0), c_, Read(a, 1), k_,
                                 beta_, Write(a, 0), c_));
    } else {  // reads {input, gradient}
      SPILLWAY_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, c_, k_, n_, &kOne, Read(a, 0), c_, Read(a, 1), k_,
                                 beta_, Write(a, 0), c_));
    }
  }

 private:
  Pass pass_;
  cublasMath_t math_;
  const float* beta_;
  int n_, c_, k_;
};

// Computes with one position of a tensor that has more.
bool OfFirstPosition(const OpCall& call) { return call.details.whole.Spatial() > 1; }

}  // namespace

KernelPtr MakeLinear(const LibrariesPtr& libraries, const OpCall& call) {
  if (call.launch.shape.out.Spatial() > 1 || OfFirstPosition(call)) {
    Refuse(
        "the CUDA device has no kernel for linear layers of single positions yet; the CPU device has (--device cpu)");
  }
  return std::make_unique<Linear>(libraries, call);
}

}  // namespace spillway::cuda
