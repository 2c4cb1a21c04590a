// The handles of cuDNN and cuBLAS. Private to calibrate/devices/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_LIBRARIES_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_LIBRARIES_H_

#include "calibrate/devices/cuda/plugin/check.h"
#ifdef SPILLWAY_HAS_CUDA_HEADERS

#include <vector>

#include "calibrate/devices/cuda/calls.h"
#include "calibrate/devices/cuda/problem_memo.h"

namespace spillway::cuda {

// Kernels share the handles, and cuBLAS its workspace: kernels of one device run on one stream at a time.
class Libraries {
 public:
  // Makes both handles for the device of this thread, and the workspace that cuBLAS wants on GPUs of that compute capability
  // (its major number). Throws DeviceError.
  explicit Libraries(int compute_major);
  ~Libraries();
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  void Use(cudaStream_t stream);  // what follows goes to this stream
  cudaStream_t stream() const { return stream_; }
  cudnnHandle_t cudnn() const { return cudnn_; }
  cublasHandle_t cublas() const { return cublas_; }
  // Of convolutions, as cuDNN told them when they were first asked for.
  ProblemMemo<std::vector<CudaAlgorithm>>& algorithms() { return algorithms_; }

 private:
  void Destroy() noexcept;

  cudnnHandle_t cudnn_ = nullptr;
  cublasHandle_t cublas_ = nullptr;
  void* cublas_workspace_ = nullptr;
  std::size_t cublas_workspace_bytes_ = 0;
  cudaStream_t stream_ = nullptr;
  ProblemMemo<std::vector<CudaAlgorithm>> algorithms_;
};

}  // namespace spillway::cuda

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_LIBRARIES_H_
