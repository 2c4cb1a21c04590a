// Linear layers on a processor: one matrix product on the plain layouts.
//
// Rows are samples, columns outputs, the depth inputs, whichever of the three a pass computes. With few samples every
// weight is used a few times only: reading them takes as long as the arithmetic.
// Tested by tests/calibrate/kernel_forms_cpu_test.cc.
#include "model/kernels/cpu_cost.h"
#include "model/kernels/kernel_form.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kCpuProductRows,
    kCpuFixed,
    kCpuMemoryRows,
    Row{"weight_cost", "nanoseconds per weight put in place, from about 16 samples on", 0.07, 0.002, 10, 1.5},
};
using Values = ParameterValues<kParameters>;

// A product of fewer samples reads the weights where they lie.
constexpr double kFewSamples = 10;

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless(kind == OpKind::kLinear && HasPass(kind, pass));
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const OpShape& s = launch.shape;
  const auto samples = static_cast<double>(s.in.n * s.out.Spatial()), outputs = static_cast<double>(s.out.c),
             inputs = static_cast<double>(s.in.c * s.in.Spatial() / s.out.Spatial());
  const CpuProduct product = launch.pass == Pass::kForward        ? CpuProduct{samples, outputs, inputs}
                             : launch.pass == Pass::kBackwardData ? CpuProduct{samples, inputs, outputs}
                                                                  : CpuProduct{outputs, inputs, samples};
  const double bytes = CountWork(launch).bytes;
  const double placed = outputs * inputs / (1 + std::pow(kFewSamples / samples, 4));
  return p["fixed"] + placed * p["weight_cost"] +
         Overlapped(CpuProductTime(product, chip, p), CpuTraffic(bytes, bytes, chip, p["bandwidth_fraction"], p));
}

}  // namespace

KernelForm CpuLinearForm() {
  return FormOf<Time>({.name = "cpu_linear",
                       .description = "one matrix product, or the time to read the weights",
                       .algorithms = Algorithms,
                       .platform = Platform::kCpu});
}

}  // namespace spillway
