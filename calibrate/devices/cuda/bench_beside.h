// Copies that run beside what is measured, for as long as it takes.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_BESIDE_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_BESIDE_H_

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/calls.h"

namespace spillway {

// Copies of one size in one direction on a stream of their own, pinned memory on the host's side.
class CudaCopiesBeside {
 public:
  CudaCopiesBeside(CudaCalls& calls, CudaBenchMemory& memory, Direction direction, Bytes bytes);
  ~CudaCopiesBeside();
  CudaCopiesBeside(const CudaCopiesBeside&) = delete;
  CudaCopiesBeside& operator=(const CudaCopiesBeside&) = delete;

  // Issues them; they begin when `stream` gets this far.
  void Begin(CudaStream* stream);
  // Whether they still run, so that they ran all the time; then waits for them. Where they did not, the next time there
  // are twice as many. REQUIRES: what was measured is done.
  bool EndAndTell();
  // Whether more of them could be had.
  bool CanGrow() const { return copies_ < kMostCopies; }

 private:
  static constexpr int kMostCopies = 256;  // a queue takes about a thousand
  CudaCalls& calls_;
  Direction direction_;
  Bytes bytes_;
  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
  CudaStream* stream_ = nullptr;
  CudaEvent* go_ = nullptr;
  CudaEvent* end_ = nullptr;
  int copies_ = 2;
};

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_BESIDE_H_
