// Whether a product that may be made in TF32 is.
//
// CUDNN_DEFAULT_MATH and cuBLAS's TF32 mode allow the library to round operands to ten bits; whether a kernel does, no
// call tells. What comes out does: the same operands through the same algorithm in fp32 differ by what the order of sums
// makes, some 1e-7 of the result; rounded operands differ by some 3e-4. Rows of kernels that do not round are no rows of
// TF32.
#ifndef SPILLWAY_CALIBRATE_DEVICES_CUDA_TF32_CHECK_H_
#define SPILLWAY_CALIBRATE_DEVICES_CUDA_TF32_CHECK_H_

#include <span>

#include "calibrate/devices/cuda/bench_memory.h"
#include "calibrate/devices/cuda/calls.h"
#include "model/step/training_step.h"

namespace spillway {

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

#endif  // SPILLWAY_CALIBRATE_DEVICES_CUDA_TF32_CHECK_H_
