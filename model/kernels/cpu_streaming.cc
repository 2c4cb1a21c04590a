// Everything that memory bounds, on a processor: kernels of oneDNN and plain loops that pass over their tensors. Products of
// activations and attention are plain loops as well, which their operations bind.
//
//   time = fixed + planes x plane_cost + added elements x accumulate_cost
//          + overlapped(bytes / bandwidth, operations / (operation_rate x peak))
//
// A plane is one channel of one sample: loops start anew for each, and short ones never get going. Operations bind where
// a loop does not become vector code: dropout's random numbers, the search for the maximum of a window, sums of few
// neighbours. Where a gradient is added to another one, oneDNN computes it beside and adds it in a second pass.
// Tested by tests/calibrate/kernel_forms_cpu_test.cc.
#include "model/kernels/cpu_cost.h"
#include "model/kernels/kernel_form.h"
#include "model/step/launch.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kCpuFixed,
    kCpuMemoryRows,
    Row{"plane_cost", "nanoseconds per plane of a sample and channel", 1.5, 0.01, 3000, 1.4},
    Row{"accumulate_cost", "nanoseconds per element that is added to what is there, beside the traffic", 0.2, 0.002, 20,
        1.5},
    Row{"operation_rate", "fraction of peak at which other operations than products go", 0.03, 1e-4, 4, 2.5},
};
using Values = ParameterValues<kParameters>;

constexpr bool ByLoops(OpKind kind) {
  return !IsProduct(kind) || kind == OpKind::kProduct || kind == OpKind::kAttention;
}

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Nameless(ByLoops(kind) && HasPass(kind, pass));
}

// Windows cost what they look at, in either direction, and an output as much as some comparisons.
double Operations(const Launch& launch) {
  const OpShape& s = launch.shape;
  if (HasWindow(launch.kind)) {
    constexpr std::int64_t kPerOutput = 3;
    return static_cast<double>(s.out.Elements() * (s.window[0] * s.window[1] * s.window[2] + kPerOutput));
  }
  return CountWork(launch).flops;
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const double bytes = CountWork(launch).bytes;
  const double traffic = CpuTraffic(bytes, bytes, chip, p["bandwidth_fraction"], p);
  const auto planes = static_cast<double>(launch.shape.in.n * launch.shape.in.c);
  const double added = launch.accumulate ? static_cast<double>(launch.shape.in.Elements()) * p["accumulate_cost"] : 0;
  return p["fixed"] + added + (TraitsOf(launch.kind).planes ? planes * p["plane_cost"] : 0) +
         Overlapped(traffic, Operations(launch) / (p["operation_rate"] * chip.peak_flops));
}

}  // namespace

KernelForm CpuStreamingForm() {
  return FormOf<Time>({.name = "cpu_streaming",
                       .description = "passes over the tensors at the rate of cache or memory, or of the arithmetic",
                       .algorithms = Algorithms,
                       .platform = Platform::kCpu});
}

}  // namespace spillway
