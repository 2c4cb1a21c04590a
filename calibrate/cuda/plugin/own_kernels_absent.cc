// Stands for own_kernels.cu where there is no nvcc: a stream waits for a thread of the driver instead, which adds tens
// of microseconds and serves one stream at a time.
#include <chrono>
#include <memory>
#include <thread>

#include "calibrate/cuda/plugin/own_kernels.h"

namespace spillway::cuda {
namespace {

void CUDART_CB SpinOnHost(void* data) {
  const std::unique_ptr<std::uint64_t> nanoseconds(static_cast<std::uint64_t*>(data));
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(*nanoseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

struct Hold {
  volatile int* flag;
  std::uint64_t longest;
  int ran_out;
};

void CUDART_CB HoldOnHost(void* data) {
  const std::unique_ptr<Hold> hold(static_cast<Hold*>(data));
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(hold->longest);
  while (*hold->flag == 0) {
    if (std::chrono::steady_clock::now() >= end) *hold->flag = hold->ran_out;
    std::this_thread::yield();
  }
}

template <typename T>
cudaError_t CallOnHost(cudaHostFn_t function, T value, cudaStream_t stream) {
  auto data = std::make_unique<T>(value);
  const cudaError_t status = cudaLaunchHostFunc(stream, function, data.get());
  if (status == cudaSuccess) static_cast<void>(data.release());  // the function deletes it
  return status;
}

}  // namespace

bool HasOwnKernels() { return false; }
cudaError_t LaunchSpin(std::uint64_t nanoseconds, cudaStream_t stream) {
  return CallOnHost(SpinOnHost, nanoseconds, stream);
}
cudaError_t LaunchHold(volatile int* flag, std::uint64_t longest, int ran_out, cudaStream_t stream) {
  return CallOnHost(HoldOnHost, Hold{flag, longest, ran_out}, stream);
}
cudaError_t LaunchElements(const DropoutForward&, cudaStream_t) { return cudaErrorNotSupported; }
cudaError_t LaunchElements(const DropoutBackward&, cudaStream_t) { return cudaErrorNotSupported; }
cudaError_t LaunchElements(const MomentumUpdate&, cudaStream_t) { return cudaErrorNotSupported; }

}  // namespace spillway::cuda
