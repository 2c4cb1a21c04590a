// Local response normalisation across channels (Krizhevsky et al. 2012, section 3.3).
//
//   time = latency + sqrt(memory^2 + arithmetic^2)
//   arithmetic = elements x (window + power_cost) / (visit_fraction x peak)
//
// A thread sums the squares of `window` neighbouring channels, which the cache holds, and raises the sum to a power.
// No measurement of it was at hand: the parameters are what the same steps cost elsewhere (a visit as in pooling, a
// power as some ten of them) and a fit should say `assumed` unless it has samples.
#include "model/cost/kernel_form.h"
#include "model/kernels/streaming.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

constexpr FormParameter kParameters[] = {
    kLatencyParameter,
    {"bandwidth_fraction", "fraction of the memory bandwidth that large tensors reach", 0.6, 0.1, 1.0, true, 0.3},
    kCacheParameter,
    {"visit_fraction", "visits of a neighbouring channel per flop of the chip's fp32 peak", 0.03, 0.001, 1.0, true,
     1.0},
    {"power_cost", "the power function, in visits", 10, 1, 100, true, 0.7},
};
enum : std::size_t { kLatency, kBandwidth, kCache, kVisit, kPower };

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless(kind == OpKind::kLrn && ForwardOrBackward(pass));
}

bool Applies(const Launch& launch) { return !Algorithms(launch.kind, launch.pass).empty(); }

double Time(const Launch& launch, const Chip& chip, std::span<const double> p) {
  const double bytes = CountWork(launch).bytes;
  const double elements = static_cast<double>(launch.shape.in.Elements());
  const double visits = elements * (static_cast<double>(launch.shape.window[0]) + p[kPower]);
  return p[kLatency] +
         Overlapped(StreamTime(bytes, bytes, chip, p[kBandwidth], p[kCache]), visits / (p[kVisit] * chip.peak_flops));
}

}  // namespace

KernelForm LrnForm() {
  return {.name = "lrn",
          .description = "memory traffic beside the sums over neighbouring channels",
          .parameters = kParameters,
          .algorithms = Algorithms,
          .applies = Applies,
          .time = Time,
          .workspace = NoWorkspace};
}

}  // namespace spillway
