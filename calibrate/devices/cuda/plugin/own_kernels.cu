#include "calibrate/devices/cuda/plugin/own_kernels.h"

namespace spillway::cuda {
namespace {

__global__ void SpinKernel(unsigned long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < nanoseconds);
}

__global__ void HoldKernel(volatile int* flag, unsigned long long longest, int ran_out) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  while (*flag == 0) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (now - begin >= longest) {
      *flag = ran_out;
      __threadfence_system();
      return;
    }
#if __CUDA_ARCH__ >= 700
    __nanosleep(200);
#endif
  }
}

// Both numbers in one store, since two blocks of a multiprocessor may write the same place.
__global__ void MarkKernel(longlong2* moments, int most) {
  unsigned multiprocessor;
  long long cycles, now;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (threadIdx.x == 0 && static_cast<int>(multiprocessor) < most) {
    moments[multiprocessor] = make_longlong2(cycles, now);
  }
}

__global__ void TicksKernel(long long* nanoseconds, int count) {
  long long last = 0, now;
  for (int k = 0; k < count; ++k) {
    do {
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now == last);
    nanoseconds[k] = last = now;
  }
}

template <typename Body>
__global__ void ElementsKernel(Body body) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < body.elements;
       i += step) {
    body(i);
  }
}

// Blocks enough to fill any device of today; each thread walks over what is left.
constexpr std::int64_t kThreads = 256, kMostBlocks = 4096;

template <typename Body>
cudaError_t Elements(const Body& body, cudaStream_t stream) {
  if (body.elements == 0) return cudaSuccess;
  const std::int64_t blocks = (body.elements + kThreads - 1) / kThreads;
  ElementsKernel<<<static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks), kThreads, 0, stream>>>(body);
  return cudaPeekAtLastError();
}

}  // namespace

cudaError_t LaunchSpin(std::uint64_t nanoseconds, cudaStream_t stream) {
  SpinKernel<<<1, 1, 0, stream>>>(nanoseconds);
  return cudaPeekAtLastError();
}

cudaError_t LaunchHold(volatile int* flag, std::uint64_t longest, int ran_out, cudaStream_t stream) {
  HoldKernel<<<1, 1, 0, stream>>>(flag, longest, ran_out);
  return cudaPeekAtLastError();
}

// Twice as many blocks as multiprocessors: an idle device then gives each of them one.
cudaError_t LaunchMark(long long* moments, int most, int multiprocessors, cudaStream_t stream) {
  MarkKernel<<<2 * static_cast<unsigned>(multiprocessors), 32, 0, stream>>>(reinterpret_cast<longlong2*>(moments), most);
  return cudaPeekAtLastError();
}

cudaError_t LaunchTicks(long long* nanoseconds, int count, cudaStream_t stream) {
  TicksKernel<<<1, 1, 0, stream>>>(nanoseconds, count);
  return cudaPeekAtLastError();
}

cudaError_t LaunchElements(const DropoutForward& body, cudaStream_t stream) { return Elements(body, stream); }
cudaError_t LaunchElements(const DropoutBackward& body, cudaStream_t stream) { return Elements(body, stream); }
cudaError_t LaunchElements(const MomentumUpdate& body, cudaStream_t stream) { return Elements(body, stream); }

}  // namespace spillway::cuda
