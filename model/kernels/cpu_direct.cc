// Direct convolution on a processor: generated code on layouts that keep 16 channels together, the operands reordered
// into them and back.
//
//   time  = fixed + reorders + overlapped(arithmetic, filter traffic)
//   arithmetic = flops of whole vectors of channels / (efficiency x peak) x (1 + short_row / columns of the output)
//                x (1 + short_depth / (summed channels x window)), x (1 + strided) with strides
//
// A vector of outputs is kept in registers for as many columns as there are registers: short rows use few of them.
// Strides use fewer of the inputs that are fetched. Each sum is fetched and stored once per block of the depth.
// Filters larger than the core's cache come from the next one for every sample.
// Tested by tests/model/kernel_forms_cpu_conv_test.cc.
#include "model/kernels/cpu_conv.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    Row{"efficiency", "fraction of peak with long rows and many channels", 0.9, 0.02, 2, 0.3},
    Row{"short_row", "columns of the output for which the arithmetic takes twice the time", 0.85, 0.01, 100, 0.6},
    Row{"short_depth", "the same of summed channels x window", 5, 0.05, 2000, 0.8},
    Row{"strided", "how many times longer the arithmetic takes with strides, less one", 0.2, 0.005, 5, 0.8},
    Row{"filter_bandwidth", "fraction of the memory bandwidth at which filters come from beyond the core's cache", 1.1,
        0.02, 20, 0.5},
    Row{"core_cache", "bytes of filters that a core's own cache keeps", 4.5e5, 5e4, 1e7, 0.5},
    kCpuFixed,
    kCpuReorderRows,
    Row{"filter_reorder", "nanoseconds per filter element reordered", 0.2, 0.005, 50, 0.9},
};
using Values = ParameterValues<kParameters>;

constexpr const char* kNames[] = {"direct"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Only(kNames, kind == OpKind::kConvolution && HasPass(kind, pass));
}

// With groups or depth, and for windows larger than the image, the library has it for some shapes only.
bool Runs(const Launch& launch) {
  const OpShape& s = launch.shape;
  const bool flat = s.groups == 1 && s.in.d == 1 && s.window[0] == 1;
  return flat && s.Extent(1) <= s.in.h && s.Extent(2) <= s.in.w;
}

double Arithmetic(const Launch& launch, const Chip& chip, Values p) {
  const OpShape& s = launch.shape;
  const auto groups = static_cast<double>(s.groups), taps = ConvLaunchOf(launch).taps;
  const bool data = launch.pass == Pass::kBackwardData;
  const std::int64_t in = s.in.c / s.groups, out = s.out.c / s.groups;
  // Outputs in whole vectors; what is summed over in whole vectors only where it is a vector of the operand.
  const double flops = 2 * groups * taps * static_cast<double>(s.out.n * s.out.Spatial()) *
                       (data ? WholeVectors(in) * WholeVectors(out) : static_cast<double>(in) * WholeVectors(out));
  // A window of one position sees rows as one.
  const Shape& rows = data ? s.in : s.out;
  const auto columns = static_cast<double>(taps == 1 ? rows.Spatial() : rows.w);
  const double depth = taps * static_cast<double>(data ? out : in);
  const double strided = ConvLaunchOf(launch).strides > 1 ? 1 + p["strided"] : 1;
  return flops / (p["efficiency"] * chip.peak_flops) * strided * (1 + p["short_row"] / columns) *
         (1 + p["short_depth"] / depth);
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const CpuOperands operands = CpuOperandsOf(launch, launch.pass == Pass::kForward);
  const ConvLaunch conv = ConvLaunchOf(launch);
  const double reorders = CpuReorderTime(operands, launch, chip, p) + operands.filter / 4 * p["filter_reorder"];
  const double beyond = 1 / (1 + std::pow(p["core_cache"] / operands.filter, 2));
  const double filters = conv.n * operands.filter * beyond / (p["filter_bandwidth"] * chip.memory_bandwidth);
  return p["fixed"] + reorders + Overlapped(Arithmetic(launch, chip, p), filters);
}

// Forward packs filters for up to 64 outputs at a time, which may take one vector of them more. A single tap with
// strides gathers what it reads first, and has scratch of its own, but for filters, on processors with AVX2 alone.
Bytes Workspace(const Launch& launch) {
  constexpr double kScratch = 8192, kScratchOfTap = 8704, kPerChannel = 128;
  const ConvLaunch conv = ConvLaunchOf(launch);
  const bool forward = launch.pass == Pass::kForward, gathers = conv.taps == 1 && conv.strides > 1;
  const CpuOperands operands = CpuOperandsOf(launch, forward);
  const double more = forward ? 4 * conv.groups * conv.c * kVector * conv.taps : 0;
  const bool own_scratch = conv.taps == 1 && launch.pass != Pass::kBackwardFilter;
  const double gathered = gathers ? 4 * WholeVectors(launch.shape.in.c) * conv.out_spatial : 0;
  return CacheLines(operands.in.blocked) + CacheLines(operands.out.blocked) + CacheLines(operands.filter + more) +
         CacheLines(kScratch + (own_scratch ? kScratchOfTap : 0) + kPerChannel * conv.c + gathered);
}

}  // namespace

KernelForm CpuDirectForm() {
  return FormOf<Time>({.name = "cpu_direct",
                       .description = "generated code on blocked layouts, operands reordered",
                       .algorithms = Algorithms,
                       .runs = Runs,
                       .workspace = Workspace,
                       .platform = Platform::kCpu});
}

}  // namespace spillway
