// The plugin's own kernels, element by element on the host.
#include "calibrate/devices/cuda/plugin/own_kernels.h"

#include <algorithm>

#include "tests/cuda/fake_c/fake.h"

namespace spillway::cuda {
namespace {

std::size_t Bytes(std::int64_t elements, std::size_t size) { return static_cast<std::size_t>(elements) * size; }

template <typename Body>
cudaError_t Each(const Body& body, bool fits) {
  if (!fits) return cudaErrorIllegalAddress;
  for (std::int64_t i = 0; i < body.elements; ++i) body(i);
  return cudaSuccess;
}

}  // namespace

cudaError_t LaunchSpin(std::uint64_t nanoseconds, cudaStream_t) {
  cuda_fake::Log("spin " + std::to_string(nanoseconds));
  return cudaSuccess;
}
// Nobody lets go meanwhile: the hold runs out.
cudaError_t LaunchHold(volatile int* flag, std::uint64_t longest, int ran_out, cudaStream_t) {
  cuda_fake::Log("hold " + std::to_string(longest));
  if (*flag == 0) *flag = ran_out;
  return cudaSuccess;
}

// A clock of 1.5 GHz, a timer that ticks every 32 ns; each call is a microsecond later.
cudaError_t LaunchMark(long long* moments, int most, int multiprocessors, cudaStream_t) {
  static long long now = 0;
  now += 1000;
  for (int m = 0; m < std::min(most, multiprocessors); ++m) {
    moments[2 * m] = now * 3 / 2 + m;
    moments[2 * m + 1] = now;
  }
  return cudaSuccess;
}
cudaError_t LaunchTicks(long long* nanoseconds, int count, cudaStream_t) {
  for (int k = 0; k < count; ++k) nanoseconds[k] = 32LL * (k + 1);
  return cudaSuccess;
}

cudaError_t LaunchElements(const DropoutForward& b, cudaStream_t) {
  using cuda_fake::OnDevice;
  return Each(b, OnDevice(b.x, Bytes(b.elements, 4)) && OnDevice(b.y, Bytes(b.elements, 4)) &&
                     OnDevice(b.mask, Bytes(b.elements, 1)));
}
cudaError_t LaunchElements(const DropoutBackward& b, cudaStream_t) {
  using cuda_fake::OnDevice;
  return Each(b, OnDevice(b.dy, Bytes(b.elements, 4)) && OnDevice(b.dx, Bytes(b.elements, 4)) &&
                     OnDevice(b.mask, Bytes(b.elements, 1)));
}
cudaError_t LaunchElements(const MomentumUpdate& b, cudaStream_t) {
  using cuda_fake::OnDevice;
  return Each(b, OnDevice(b.gradient, Bytes(b.elements, 4)) && OnDevice(b.parameter, Bytes(b.elements, 4)) &&
                     (b.velocity == nullptr || OnDevice(b.velocity, Bytes(b.elements, 4))));
}

}  // namespace spillway::cuda
