// What the kernels of the plugin have in common. Private to calibrate/devices/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_KERNEL_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_KERNEL_H_

#include "calibrate/devices/cuda/plugin/libraries.h"
#ifdef SPILLWAY_HAS_CUDA_HEADERS

#include <memory>
#include <string>
#include <vector>

#include "calibrate/devices/cuda/calls.h"

namespace spillway::cuda {

// A stream that was destroyed may come back at the same address, which Libraries::Use takes for the same stream; both
// are then equal to the libraries too.
class Kernel : public CudaKernel {
 public:
  Kernel(std::shared_ptr<Libraries> libraries, const char* implementation) : libraries_(std::move(libraries)) {
    implementation_ = implementation;
  }
  void Run(CudaStream* stream, const CudaArguments& arguments) final {
    try {
      libraries_->Use(reinterpret_cast<cudaStream_t>(stream));
      Launch(arguments);
    } catch (const DeviceError& error) {
      throw DeviceError(error.fault(), error.instruction(), text_ + ": " + error.what());
    }
  }
  void set_text(std::string text) { text_ = std::move(text); }  // how errors name the op

 protected:
  virtual void Launch(const CudaArguments& arguments) const = 0;  // on the stream of libraries()
  Libraries& libraries() const { return *libraries_; }

 private:
  std::shared_ptr<Libraries> libraries_;
  std::string text_;
};
using KernelPtr = std::unique_ptr<Kernel>;
using LibrariesPtr = std::shared_ptr<Libraries>;

// Factors of cuDNN and cuBLAS: result = alpha * computed + beta * what was there.
inline constexpr float kOne = 1, kZero = 0;
inline const float* BetaOf(bool accumulate) { return accumulate ? &kOne : &kZero; }

inline const float* Read(const CudaArguments& a, std::size_t k) { return static_cast<const float*>(a.reads[k]); }
inline float* Write(const CudaArguments& a, std::size_t k) { return static_cast<float*>(a.writes[k]); }

// One for each kind of op, MakeConvolution to MakeUpdate, each with the kind's own file. Operands are those of
// calibrate/devices/cpu/. They throw DeviceError where the library refuses. Of a convolution launch.algorithm chooses; 0: the
// library's first choice within launch.workspace.
#define OP_KIND(KIND, ...) KernelPtr Make##KIND(const LibrariesPtr& libraries, const OpCall& call);
#include "model/step/op_kinds.inc"
#undef OP_KIND

std::vector<CudaAlgorithm> ConvolutionAlgorithms(const LibrariesPtr& libraries, const OpCall& asked);

}  // namespace spillway::cuda

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_KERNEL_H_
