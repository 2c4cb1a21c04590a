// Kernels that pass once over their tensors: bias, ReLU, dropout, concat, add, copy, parameter update.
//
//   time = latency + bytes / (bandwidth_fraction x bandwidth)
//
// Nothing else was found in published times of the element-wise kernels of three generations of GPUs: what looks like a
// rate that rises with the size is the constant part (0.3 % median residual above the floor of the harness). Chips with
// a large L2 cache (tens of MB) move smaller tensors faster.
#include "model/kernels/kernel_form.h"
#include "model/kernels/streaming.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

// What is copied in pieces (concat) reaches half of what a plain sum does, hence the wide prior.
constexpr auto kParameters = StreamRows(0.82, 0.3);
using Values = ParameterValues<kParameters>;

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless(TraitsOf(kind).elementwise && HasPass(kind, pass));
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const double bytes = CountWork(launch).bytes;
  return p["latency"] + StreamTime(bytes, chip, p);
}

}  // namespace

KernelForm ElementwiseForm() {
  return FormOf<Time>({.name = "elementwise",
                       .description = "latency and one pass over every tensor at a fraction of the memory bandwidth",
                       .algorithms = Algorithms});
}

}  // namespace spillway
