#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "calibrate/devices/cuda/bench_checks.h"
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
      : ring_(step, op, BenchProtocol::kWarm, {}), calls_(calls), memory_(memory), stream_(stream) {
    ring_.Use(memory.Block("ring").AtLeast(ring_.bytes()));
    for (const BenchOperand& operand : ring_.operands()) {
      memory.Fill(ring_.Set(0) + operand.offset, operand.bytes, operand.sparse, stream);
    }
    ring_.PlaceIn(ring_.Set(0), &places_);
  }

  // The middle of the first result.
  std::vector<float> ResultOf(CudaKernel& kernel) {
    const BenchOperand& result =
        *std::find_if(ring_.operands().begin(), ring_.operands().end(),
                      [&](const auto& operand) { return operand.tensor == ring_.op().writes.front(); });
    std::byte* const written = ring_.Set(0) + result.offset;
    calls_.Fill(written, 0, result.bytes, stream_);
    void* const workspace = kernel.workspace() > 0 ? memory_.Block("workspace").AtLeast(kernel.workspace()) : nullptr;
    kernel.Run(stream_, {.reads = places_.reads, .writes = places_.writes, .workspace = workspace});
    const Bytes bytes = std::min(kCompared, result.bytes);
    const auto at = (result.bytes - bytes) / 2 / static_cast<Bytes>(sizeof(float)) * static_cast<Bytes>(sizeof(float));
    auto* const host = memory_.Block("compared", CudaPlace::kPinned).AtLeast(kCompared);
    calls_.Copy(host, written + at, bytes, Direction::kDeviceToHost, stream_);
    calls_.Synchronize(stream_);
    const auto* const numbers = reinterpret_cast<const float*>(host);
    return {numbers, numbers + bytes / static_cast<Bytes>(sizeof(float))};
  }

 private:
  OperandRing ring_;
  OperandRing::Places places_;
  CudaCalls& calls_;
  CudaBenchMemory& memory_;
  CudaStream* stream_;
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
