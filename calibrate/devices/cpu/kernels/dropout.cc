// Dropout. Whether an element stays is a hash of its index and the stream's number: recomputing repeats the mask
// without keeping a generator's state. A whole sample stays by the hash of its first element, so that parts of the batch
// draw what the whole one does.
#include "calibrate/devices/cpu/kernels/makers.h"
#include "model/util/hash.h"

namespace spillway::cpu {
namespace {

struct Dropout {
  std::int64_t elements = 0;
  std::int64_t share = 1;  // elements that stay or go together
  double rate = 0;
  bool accumulate = false;
  float Scale() const { return rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0f; }
};

template <typename Mask>
void Forward(const Dropout& d, const CpuArguments& a) {
  // An element goes if the upper half of its hash is below this.
  const std::uint64_t bound = static_cast<std::uint64_t>(d.rate * 4294967296.0);
  const float scale = d.Scale();
  const float* x = Read(a, 0);
  float* y = Write(a, 0);
  Mask* mask = static_cast<Mask*>(a.writes[1]);
  for (std::int64_t begin = 0; begin < d.elements; begin += d.share, ++mask) {
    const std::uint64_t hash = SplitMix(a.random_stream + kGolden * static_cast<std::uint64_t>(begin + 1));
    *mask = (hash >> 32) >= bound ? Mask{1} : Mask{0};
    for (std::int64_t i = begin; i < begin + d.share; ++i) y[i] = *mask != Mask{0} ? x[i] * scale : 0.0f;
  }
}

template <typename Mask>
void Backward(const Dropout& d, const CpuArguments& a) {
  const float scale = d.Scale();
  const Mask* mask = static_cast<const Mask*>(a.reads[0]);
  const float* dy = Read(a, 1);
  float* dx = Write(a, 0);
  for (std::int64_t begin = 0; begin < d.elements; begin += d.share, ++mask) {
    for (std::int64_t i = begin; i < begin + d.share; ++i) {
      const float gradient = *mask != Mask{0} ? dy[i] * scale : 0.0f;
      dx[i] = d.accumulate ? dx[i] + gradient : gradient;
    }
  }
}

template <typename Mask>
KernelPtr Make(const Dropout& d, Pass pass) {
  if (pass == Pass::kForward) return std::make_unique<LoopKernel>([d](const CpuArguments& a) { Forward<Mask>(d, a); });
  return std::make_unique<LoopKernel>([d](const CpuArguments& a) { Backward<Mask>(d, a); });
}

}  // namespace

// Forward writes {result, mask}; backward reads {mask, gradient}.
KernelPtr MakeDropout(const OpCall& call) {
  const Shape& in = call.launch.shape.in;
  const Dropout dropout{.elements = in.Elements(),
                        .share = call.details.per_sample ? in.Elements() / in.n : 1,
                        .rate = call.details.dropout_rate,
                        .accumulate = call.launch.accumulate};
  if (call.details.mask_type == DataType::kFp32) return Make<float>(dropout, call.launch.pass);
  return Make<std::uint8_t>(dropout, call.launch.pass);
}

}  // namespace spillway::cpu
