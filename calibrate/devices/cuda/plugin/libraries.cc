#include "calibrate/devices/cuda/plugin/libraries.h"

namespace spillway::cuda {
namespace {

// What NVIDIA recommends for cublasSetWorkspace: 32 MiB from compute capability 9 on, 4 MiB before.
std::size_t RecommendedWorkspace(int compute_major) {
  return (compute_major >= 9 ? std::size_t{32} : std::size_t{4}) << 20;
}

}  // namespace

Libraries::Libraries(int compute_major) : cublas_workspace_bytes_(RecommendedWorkspace(compute_major)) {
  try {
    SPILLWAY_CHECK(cudnnCreate(&cudnn_));
    SPILLWAY_CHECK(cublasCreate(&cublas_));
    // With a workspace of ours, cuBLAS allocates nothing later and computes the same bits each time.
    SPILLWAY_CHECK(cudaMalloc(&cublas_workspace_, cublas_workspace_bytes_));
    SPILLWAY_CHECK(cublasSetWorkspace(cublas_, cublas_workspace_, cublas_workspace_bytes_));
  } catch (...) {
    Destroy();
    throw;
  }
}

Libraries::~Libraries() { Destroy(); }

void Libraries::Destroy() noexcept {
  if (cublas_ != nullptr) static_cast<void>(cublasDestroy(cublas_));
  if (cudnn_ != nullptr) static_cast<void>(cudnnDestroy(cudnn_));
  if (cublas_workspace_ != nullptr) static_cast<void>(cudaFree(cublas_workspace_));
}

void Libraries::Use(cudaStream_t stream) {
  if (stream == stream_) return;
  SPILLWAY_CHECK(cudnnSetStream(cudnn_, stream));
  SPILLWAY_CHECK(cublasSetStream(cublas_, stream));
  SPILLWAY_CHECK(cublasSetWorkspace(cublas_, cublas_workspace_, cublas_workspace_bytes_));  // the stream took it away
  stream_ = stream;
}

}  // namespace spillway::cuda
