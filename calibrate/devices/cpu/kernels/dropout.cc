// Dropout. Whether an element stays is a hash of its index and the stream's number: recomputing repeats the mask
// without keeping a generator's state.
#include "calibrate/devices/cpu/kernels/makers.h"
#include "model/util/hash.h"

namespace spillway::cpu {
namespace {

void Forward(const CpuArguments& a, std::int64_t elements, double rate) {
  // An element goes if the upper half of its hash is below this.
  const std::uint64_t bound = static_cast<std::uint64_t>(rate * 4294967296.0);
  const float scale = rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0f;
  const float* x = Read(a, 0);
  float* y = Write(a, 0);
  std::uint8_t* mask = static_cast<std::uint8_t*>(a.writes[1]);
  for (std::int64_t i = 0; i < elements; ++i) {
    const std::uint64_t hash = SplitMix(a.random_stream + kGolden * static_cast<std::uint64_t>(i + 1));
    mask[i] = (hash >> 32) >= bound ? 1 : 0;
    y[i] = mask[i] != 0 ? x[i] * scale : 0.0f;
  }
}

void Backward(const CpuArguments& a, std::int64_t elements, double rate, bool accumulate) {
  const float scale = rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0f;
  const std::uint8_t* mask = static_cast<const std::uint8_t*>(a.reads[0]);
  const float* dy = Read(a, 1);
  float* dx = Write(a, 0);
  for (std::int64_t i = 0; i < elements; ++i) {
    const float gradient = mask[i] != 0 ? dy[i] * scale : 0.0f;
    dx[i] = accumulate ? dx[i] + gradient : gradient;
  }
}

}  // namespace

// Forward writes {result, mask}; backward reads {mask, gradient}.
KernelPtr MakeDropout(const OpCall& call) {
  const std::int64_t elements = call.launch.shape.in.Elements();
  const double rate = call.details.dropout_rate;
  if (call.launch.pass == Pass::kForward) {
    return std::make_unique<LoopKernel>([=](const CpuArguments& a) { Forward(a, elements, rate); });
  }
  const bool accumulate = call.launch.accumulate;
  return std::make_unique<LoopKernel>([=](const CpuArguments& a) { Backward(a, elements, rate, accumulate); });
}

}  // namespace spillway::cpu
