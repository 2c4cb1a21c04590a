// Kernels that pass once over their tensors: bias, ReLU, dropout, concat, add, copy, parameter update.
//
//   time = latency + bytes / (bandwidth_fraction x bandwidth)
//
// Nothing else was found in published times of the element-wise kernels of three generations of GPUs: what looks like a
// rate that rises with the size is the constant part (0.3 % median residual above the floor of the harness). Chips with
// a large L2 cache (tens of MB) move smaller tensors faster.
#include "model/cost/kernel_form.h"
#include "model/kernels/streaming.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

// What is copied in pieces (concat) reaches half of what a plain sum does, hence the wide prior.
constexpr FormParameter kParameters[] = {
    kLatencyParameter,
    {"bandwidth_fraction", "fraction of the memory bandwidth that large tensors reach", 0.82, 0.1, 1.0, true, 0.3},
    kCacheParameter,
};
enum : std::size_t { kLatency, kBandwidth, kCache };

bool Serves(OpKind kind, Pass pass) { return TraitsOf(kind).elementwise && HasPass(kind, pass); }

std::span<const char* const> Algorithms(OpKind kind, Pass pass) { return Nameless(Serves(kind, pass)); }

bool Applies(const Launch& launch) { return Serves(launch.kind, launch.pass); }

double Time(const Launch& launch, const Chip& chip, std::span<const double> p) {
  const double bytes = CountWork(launch).bytes;
  return p[kLatency] + StreamTime(bytes, bytes, chip, p[kBandwidth], p[kCache]);
}

}  // namespace

KernelForm ElementwiseForm() {
  return {.name = "elementwise",
          .description = "latency and one pass over every tensor at a fraction of the memory bandwidth",
          .parameters = kParameters,
          .algorithms = Algorithms,
          .applies = Applies,
          .time = Time,
          .workspace = NoWorkspace};
}

}  // namespace spillway
