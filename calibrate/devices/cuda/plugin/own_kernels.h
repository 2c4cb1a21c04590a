// Kernels that no library has, in own_kernels.cu, and what they do to one element: the same code on the device and, in tests,
// on the host (tests/cuda/fake_c/own_kernels.cc). C++17: nvcc under CMake 3.25 knows no later one. Private to
// calibrate/devices/cuda/plugin/.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_OWN_KERNELS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_OWN_KERNELS_H_

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

#include <cstdint>

#ifdef __CUDACC__
#define SPILLWAY_ON_DEVICE __host__ __device__
#else
#define SPILLWAY_ON_DEVICE
#endif

namespace spillway::cuda {

// Whether an element stays is a hash of its index and the stream's number, so that recomputing repeats the mask without
// a generator's state. The finaliser of SplitMix64 (Steele et al., OOPSLA 2014): the masks are those of
// calibrate/devices/cpu/kernels/dropout.cc, bit for bit.
SPILLWAY_ON_DEVICE inline std::uint64_t DropoutHash(std::uint64_t random_stream, std::uint64_t index) {
  std::uint64_t z = random_stream + 0x9e3779b97f4a7c15u * (index + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// y = x * scale where the element stays, else 0; what stayed is kept for the way back.
// All pointers are to memory of the device, `elements` long; they own nothing.
struct DropoutForward {
  const float* x;
  float* y;
  std::uint8_t* mask;  // one byte an element
  std::int64_t elements;
  std::uint64_t random_stream;
  std::uint64_t bound;  // an element goes if the upper half of its hash is below this
  float scale;

  SPILLWAY_ON_DEVICE void operator()(std::int64_t i) const {
    const bool stays = (DropoutHash(random_stream, static_cast<std::uint64_t>(i)) >> 32) >= bound;
    mask[i] = stays ? 1 : 0;
    y[i] = stays ? x[i] * scale : 0.0f;
  }
};

// The gradient of the same elements: dy * scale where they stayed. `accumulate`: added to what dx holds.
struct DropoutBackward {
  const std::uint8_t* mask;
  const float* dy;
  float* dx;
  std::int64_t elements;
  float scale;
  bool accumulate;

  SPILLWAY_ON_DEVICE void operator()(std::int64_t i) const {
    const float gradient = mask[i] != 0 ? dy[i] * scale : 0.0f;
    dx[i] = accumulate ? dx[i] + gradient : gradient;
  }
};

// One step of gradient descent with momentum, in PyTorch's form: the velocity is momentum * velocity + gradient, and the
// parameter moves by rate times that.
struct MomentumUpdate {
  const float* gradient;
  float* parameter;
  float* velocity;  // nullptr: no momentum
  std::int64_t elements;
  float rate, momentum;

  SPILLWAY_ON_DEVICE void operator()(std::int64_t i) const {
    float step = gradient[i];
    if (velocity != nullptr) step = velocity[i] = momentum * velocity[i] + step;
    parameter[i] -= rate * step;
  }
};

#if __has_include(<cuda_runtime_api.h>)
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
#endif

}  // namespace spillway::cuda

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_PLUGIN_OWN_KERNELS_H_
