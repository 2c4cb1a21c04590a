// Convolution as a matrix product on a processor, sample by sample on the plain layouts: the image is unfolded into a
// matrix of window elements by output positions (im2col; a 1x1 window with stride 1 needs none), or the result folded
// back.
//
//   forward          rows output channels, columns output positions, depth input channels x window
//   backward data    rows input channels x window, columns output positions, depth output channels
//   backward filter  rows output channels, columns input channels x window, depth output positions
//   time = fixed + samples x (sample_cost + unfolding + product)
//
// Tested by tests/model/kernel_forms_cpu_conv_test.cc.
#include <algorithm>

#include "model/kernels/cpu_conv.h"
#include "model/kernels/cpu_cost.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kCpuProductRows,
    kCpuFixed,
    Row{"sample_cost", "nanoseconds per sample: starting a product", 250, 10, 1e5, 0.5},
    Row{"unfold_cost", "nanoseconds per element of the unfolded matrix", 1.1, 0.005, 20, 0.5},
    Row{"strided_cost", "the same with strides, more than without", 0.2, 0.002, 20, 1.0},
    kCpuMemoryRows,
};
using Values = ParameterValues<kParameters>;

constexpr const char* kNames[] = {"gemm"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Only(kNames, kind == OpKind::kConvolution && HasPass(kind, pass));
}

CpuProduct ProductOf(const Launch& launch, const ConvLaunch& conv) {
  const double unfolded = conv.c * conv.taps;
  if (launch.pass == Pass::kForward) return {conv.k, conv.out_spatial, unfolded};
  if (launch.pass == Pass::kBackwardData) return {unfolded, conv.out_spatial, conv.k};
  return {conv.k, unfolded, conv.out_spatial};
}

double Unfolded(const ConvLaunch& conv) {
  return conv.taps == 1 && conv.strides == 1 ? 0 : conv.groups * conv.c * conv.taps * conv.out_spatial;
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const double sample = p["sample_cost"] +
                        Unfolded(conv) * (p["unfold_cost"] + (conv.strides > 1 ? p["strided_cost"] : 0)) +
                        conv.groups * CpuProductTime(ProductOf(launch, conv), chip, p);
  const double bytes = conv.Moved();
  return p["fixed"] + conv.n * sample + CpuTraffic(bytes, bytes, chip, p["bandwidth_fraction"], p);
}

// Forward unfolds as much as its caches hold, but does not divide the few channels of images. Gradients of the filter
// are summed beside the result, in four copies.
Bytes Workspace(const Launch& launch) {
  constexpr double kMostForward = 2.0 * kMiB, kCopies = 4, kMore = 256;
  const ConvLaunch conv = ConvLaunchOf(launch);
  double scratch = 4 * Unfolded(conv);
  if (launch.pass == Pass::kForward && conv.c >= kVector) scratch = std::min(scratch, kMostForward);
  if (launch.pass == Pass::kBackwardFilter) scratch += kCopies * conv.filter_bytes;
  return (scratch > 0 ? CacheLines(scratch + kMore) : 0) + ResultBeside(launch);
}

}  // namespace

KernelForm CpuGemmForm() {
  return FormOf<Time>({.name = "cpu_gemm",
                       .description = "unfolded image and matrix product, sample by sample",
                       .algorithms = Algorithms,
                       .workspace = Workspace,
                       .platform = Platform::kCpu});
}

}  // namespace spillway
