// Checks that copies deliver the bytes that were sent. Timing alone does not show lost bytes, and a profile must not be
// made from a link that loses bytes.
//
// One copy in each direction, not timed: of random bytes, between the memory that copies are timed on, in one piece as
// they are. The other way they go as differently as can be, in small pieces through ordinary memory, which the driver
// stages. So a wrong byte is most likely the checked direction's; the message says which way both ways went.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_CHECKS_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_CHECKS_H_

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/calls.h"
#include "calibrate/measure/refused.h"
#include "model/step/training_step.h"

namespace spillway {

// Thrown if bytes were lost. This concerns one machine and not the kind of device, so the journal does not remember it.
class WrongCopy : public NotRemembered {
 public:
  using NotRemembered::NotRemembered;
};

class CudaCopyCheck {
 public:
  // `bytes`: the size of the copy, rounded down to a multiple of 8; 0: nothing is checked. `calls` and `memory` must
  // outlive this.
  CudaCopyCheck(CudaCalls& calls, CudaBenchMemory& memory, Bytes bytes)
      : calls_(calls), memory_(memory), bytes_(bytes / 8 * 8) {}

  // The first call for a direction checks a pinned copy and waits for it. If it failed, this and every later call
  // throws WrongCopy with the direction, the first wrong byte, and the checksums sent and found. Other exceptions of
  // memory and calls pass; then the next call checks again.
  void Check(Direction direction, CudaStream* stream);

 private:
  std::string CheckToDevice(CudaStream* stream);
  std::string CheckToHost(CudaStream* stream);
  std::byte* Device() { return memory_.Block("copied").AtLeast(bytes_); }
  std::byte* Pinned() { return memory_.Block("pinned", CudaPlace::kPinned).AtLeast(bytes_); }
  CudaCalls& calls_;
  CudaBenchMemory& memory_;
  Bytes bytes_;
  std::array<std::optional<std::string>, 2>
      found_;  // by Direction: the mistake found; "": none; nullopt: not checked yet
};

// ---- Whether a product that may be made in TF32 is.
//
// CUDNN_DEFAULT_MATH and cuBLAS's TF32 mode allow the library to round operands to ten bits; whether a kernel does, no
// call tells. What comes out does: the same operands through the same algorithm in fp32 differ by what the order of sums
// makes, some 1e-7 of the result; rounded operands differ by some 3e-4. Rows of kernels that do not round are no rows of
// TF32.

enum class Rounding : std::uint8_t {
  kAsTf32,
  kAsFp32,    // to the bit, or nearly
  kNotKnown,  // the library has no such algorithm in fp32, or nothing was computed
};

// Of two results: |a - b| over |b|, both as vectors; more than 3e-5 is TF32's.
Rounding RoundingBetween(std::span<const float> tf32, std::span<const float> fp32);

// Runs `call`, a convolution or product of `op` with math kTf32, and the same with kFp32, on random numbers in the block
// "ring", and compares 256 KiB of what each writes. Errors as in CudaCalls and CudaBlock, but for fp32's refusal.
Rounding RoundingOf(const OpCall& call, const TrainingStep& step, OpId op, CudaCalls& calls, CudaBenchMemory& memory,
                    CudaStream* stream);

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_BENCH_CHECKS_H_
