// Fused Winograd convolution, F(2x2, 3x3): forward and, with the roles of the channels swapped, backward data.
//
// A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016: a 4x4 patch of the input gives a
// 2x2 patch of the output by 16 multiplications per pair of channels. A block of the kernel holds 32 output channels
// and 32 patches, 16 products of 32 x 32 at once, and walks down the input channels. Its 32 patches are 4 rows of 8 in
// one image, so output sizes that 8 x 16 positions do not divide waste work: a 7x7 output uses 49 of 128. (On Pascal,
// cuDNN 8 packs 2 or 4 small images into a block; times of cuDNN 5 to 7, and on Volta, show none of that, and it is
// left out.)
// Tested by tests/model/kernel_forms_conv_test.cc.
#include "model/kernels/conv_launch.h"
#include "model/kernels/gemm_core.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    Row{"efficiency", "fraction of peak in the products", 0.85, 0.2, 0.96, 0.25},
    Row{"prologue", "start and end of a block, in input channels", 12, 0.5, 300, 1.0},
    Row{"fill", "latency of a multiprocessor with few blocks, in blocks", 0.05, 0.002, 3, 1.0},
    Row{"quantisation", "0: multiprocessors share blocks evenly; 1: time follows the fullest one", 0.85, 0.02, 1, 0.3},
    Row{"bandwidth", "fraction of memory bandwidth; input and output move once", 0.5, 0.1, 1.1, 0.4},
    Row{"fixed", "ns per call: two launches", 8000, 1000, 1e5, 0.7},
    Row{"filter_bandwidth", "fraction of memory bandwidth, filter transform", 0.7, 0.03, 3, 0.7},
};
using Values = ParameterValues<kParameters>;

constexpr double kBlockRows = 4, kBlockColumns = 8;  // patches
constexpr double kChannelsPerBlock = 32, kPatchesPerBlock = kBlockRows * kBlockColumns, kProducts = 16, kPatch = 2,
                 kStep = 8;
// Words of workspace per pair of channels: the library keeps 25, though F(2x2, 3x3) has 16 to keep.
constexpr std::int64_t kWords = 25;

constexpr const char* kNames[] = {"winograd"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  return Only(kNames, kind == OpKind::kConvolution && (pass == Pass::kForward || pass == Pass::kBackwardData));
}

bool Runs(const Launch& launch) { return IsPlainWindow(launch, 3); }

// `result`: what the pass computes; it sums over `depth` channels.
double ProductTime(const Shape& result, double depth, const Chip& chip, Values p) {
  const double height = static_cast<double>(result.h) / kPatch, width = static_cast<double>(result.w) / kPatch;
  const double work =
      2 * kProducts * kChannelsPerBlock * kPatchesPerBlock * (CeilNear(depth / kStep) * kStep + p["prologue"]);
  const double channels = CeilNear(static_cast<double>(result.c) / kChannelsPerBlock);
  const double boxes = static_cast<double>(result.n) * CeilNear(height / kBlockRows) * CeilNear(width / kBlockColumns);
  const double rate = chip.peak_flops / chip.multiprocessors * p["efficiency"];
  return work / rate * (BlockLoad(boxes * channels, chip, p["quantisation"]) + p["fill"]);
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const bool forward = launch.pass == Pass::kForward;
  const Shape& result = forward ? launch.shape.out : launch.shape.in;
  const double memory = (conv.in_bytes + conv.out_bytes + conv.accumulated_bytes) / p["bandwidth"];
  const double transformed = conv.filter_bytes * (1 + static_cast<double>(kWords) / conv.taps) / p["filter_bandwidth"];
  return p["fixed"] + transformed / chip.memory_bandwidth +
         Overlap(ProductTime(result, forward ? conv.c : conv.k, chip, p), memory / chip.memory_bandwidth);
}

Bytes Workspace(const Launch& launch) { return 4 * kWords * launch.shape.in.c * launch.shape.out.c; }

}  // namespace

KernelForm WinogradForm() {
  return FormOf<Time>({.name = "winograd",
                       .description = "Winograd F(2x2, 3x3), transforms and products in one kernel",
                       .algorithms = Algorithms,
                       .runs = Runs,
                       .workspace = Workspace});
}

}  // namespace spillway
