#include "calibrate/devices/cuda/tf32_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "calibrate/ops/operands.h"
#include "sim/execute/device.h"

namespace spillway {
namespace {

constexpr double kFarthestFp32 = 3e-5;
constexpr Bytes kCompared = 256 * kKiB;

// One set of operands in the ring, and what is read back of what the op writes.
class Operands {
 public:
  Operands(const TrainingStep& step, OpId op, CudaCalls& calls, CudaBenchMemory& memory, CudaStream* stream)
      : node_(step.ops[static_cast<std::size_t>(op)]),
        operands_(BenchOperands(step, op, 0)),
        calls_(calls),
        memory_(memory),
        stream_(stream) {
    const BenchOperand& last = operands_.back();
    set_ = memory.Block("ring").AtLeast(last.offset + last.bytes);
    for (const BenchOperand& operand : operands_) {
      memory.Fill(set_ + operand.offset, operand.bytes, operand.sparse, stream);
    }
    for (const TensorId tensor : node_.reads) reads_.push_back(set_ + Find(tensor).offset);
    for (const TensorId tensor : node_.writes) writes_.push_back(set_ + Find(tensor).offset);
  }

  // The middle of the first result.
  std::vector<float> ResultOf(CudaKernel& kernel) {
    const BenchOperand& result = Find(node_.writes.front());
    calls_.Fill(set_ + result.offset, 0, result.bytes, stream_);
    void* const workspace = kernel.workspace() > 0 ? memory_.Block("workspace").AtLeast(kernel.workspace()) : nullptr;
    kernel.Run(stream_, {.reads = reads_, .writes = writes_, .workspace = workspace});
    const Bytes bytes = std::min(kCompared, result.bytes);
    const auto at = (result.bytes - bytes) / 2 / static_cast<Bytes>(sizeof(float)) * static_cast<Bytes>(sizeof(float));
    auto* const host = memory_.Block("compared", CudaPlace::kPinned).AtLeast(kCompared);
    calls_.Copy(host, set_ + result.offset + at, bytes, Direction::kDeviceToHost, stream_);
    calls_.Synchronize(stream_);
    const auto* const numbers = reinterpret_cast<const float*>(host);
    return {numbers, numbers + bytes / static_cast<Bytes>(sizeof(float))};
  }

 private:
  const BenchOperand& Find(TensorId tensor) const {
    return *std::find_if(operands_.begin(), operands_.end(),
                         [tensor](const BenchOperand& operand) { return operand.tensor == tensor; });
  }
  const Op& node_;
  std::vector<BenchOperand> operands_;
  CudaCalls& calls_;
  CudaBenchMemory& memory_;
  CudaStream* stream_;
  std::byte* set_ = nullptr;
  std::vector<void*> reads_, writes_;
};

// Empty: the library does not make it in fp32, which it may say only when it runs.
std::vector<float> ResultInFp32(OpCall call, CudaCalls& calls, Operands& operands) {
  call.launch.math = MathMode::kFp32;
  try {
    return operands.ResultOf(*calls.Prepare(call));
  } catch (const DeviceError& error) {
    if (error.fault() != Fault::kRefused) throw;
    return {};
  }
}

}  // namespace

Rounding RoundingBetween(std::span<const float> tf32, std::span<const float> fp32) {
  double apart = 0, size = 0;
  for (std::size_t k = 0; k < std::min(tf32.size(), fp32.size()); ++k) {
    const double b = fp32[k], difference = tf32[k] - b;
    apart += difference * difference;
    size += b * b;
  }
  if (!(size > 0) || !std::isfinite(apart)) return Rounding::kNotKnown;
  return std::sqrt(apart / size) > kFarthestFp32 ? Rounding::kAsTf32 : Rounding::kAsFp32;
}

Rounding RoundingOf(const OpCall& call, const TrainingStep& step, OpId op, CudaCalls& calls, CudaBenchMemory& memory,
                    CudaStream* stream) {
  const std::unique_ptr<CudaKernel> tf32 = calls.Prepare(call);
  Operands operands(step, op, calls, memory, stream);
  const std::vector<float> expected = ResultInFp32(call, calls, operands);
  return RoundingBetween(operands.ResultOf(*tf32), expected);
}

}  // namespace spillway
