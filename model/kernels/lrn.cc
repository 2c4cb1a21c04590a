// Local response normalisation across channels (Krizhevsky et al. 2012, section 3.3).
//
//   time = latency + sqrt(memory^2 + arithmetic^2)
//   arithmetic = elements x (window + power_cost) / (visit_fraction x peak)
//
// A thread sums the squares of `window` neighbouring channels, which the cache holds, and raises the sum to a power.
// No measurement of it was at hand: the parameters are what the same steps cost elsewhere (a visit as in pooling, a
// power as some ten of them) and a fit should say `assumed` unless it has samples.
#include "model/kernels/kernel_form.h"
#include "model/kernels/streaming.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    StreamRows(0.6, 0.3),
    Row{"visit_fraction", "visits of a neighbouring channel per flop of the chip's fp32 peak", 0.03, 0.001, 1.0, 1.0},
    Row{"power_cost", "the power function, in visits", 10, 1, 100, 0.7},
};
using Values = ParameterValues<kParameters>;

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless(kind == OpKind::kLrn && HasPass(kind, pass));
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const double bytes = CountWork(launch).bytes;
  const double elements = static_cast<double>(launch.shape.in.Elements());
  const double visits = elements * (static_cast<double>(launch.shape.window[0]) + p["power_cost"]);
  return p["latency"] + Overlapped(StreamTime(bytes, chip, p), visits / (p["visit_fraction"] * chip.peak_flops));
}

}  // namespace

KernelForm LrnForm() {
  return FormOf<Time>({.name = "lrn",
                       .description = "memory traffic beside the sums over neighbouring channels",
                       .algorithms = Algorithms});
}

}  // namespace spillway
