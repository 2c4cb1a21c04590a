// Kernels that no library has, in own_kernels.cu; tests have them on the host (tests/cuda/fake_c/own_kernels.cc).
// Private to calibrate/devices/cuda/plugin/; C++17, as element.h.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_OWN_KERNELS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_OWN_KERNELS_H_
#if __has_include(<cuda_runtime_api.h>)

#include <cuda_runtime_api.h>

#include "calibrate/devices/cuda/plugin/element.h"

namespace spillway::cuda {

// Keeps one thread busy until the device's timer, which ticks every 32 ns to 1 us by model, has moved on so far.
cudaError_t LaunchSpin(std::uint64_t nanoseconds, cudaStream_t stream);
// Waits until *flag, in pinned memory, is not 0; after `longest` nanoseconds sets it to `ran_out` instead.
cudaError_t LaunchHold(volatile int* flag, std::uint64_t longest, int ran_out, cudaStream_t stream);

// moments[2 m] the cycles and moments[2 m + 1] the nanoseconds of multiprocessor m, of at most `most`, in pinned memory;
// `multiprocessors`: of the device, so that each gets a block.
cudaError_t LaunchMark(long long* moments, int most, int multiprocessors, cudaStream_t stream);
// The next `count` values of the device's timer, to pinned memory.
cudaError_t LaunchTicks(long long* nanoseconds, int count, cudaStream_t stream);

cudaError_t LaunchElements(const DropoutForward& body, cudaStream_t stream);
cudaError_t LaunchElements(const DropoutBackward& body, cudaStream_t stream);
cudaError_t LaunchElements(const MomentumUpdate& body, cudaStream_t stream);

}  // namespace spillway::cuda

#endif
#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_OWN_KERNELS_H_
