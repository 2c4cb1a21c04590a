// Fused Winograd convolution, F(2x2, 3x3): forward and, with the roles of the channels swapped, backward data.
//
// A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016: a 4x4 patch of the input gives a 2x2
// patch of the output by 16 multiplications per pair of channels. A block of the kernel holds 32 output channels and 32
// patches, 16 products of 32 x 32 at once, and walks down the input channels. Its 32 patches are a box of images x rows
// x columns, so output sizes that the box does not divide waste work: 1 x 4 x 8 patches cover 8 x 16 positions of one
// image, and a 7x7 output uses 49 of 128. Some versions of the library pack 2 or 4 images into a block where that
// divides their number; what such kernels reach, `packed`, is small for a library without them.
// Tested by tests/kernel_forms_conv_test.cc.
#include <algorithm>
#include <limits>

#include "model/kernels/conv_launch.h"
#include "model/kernels/forms.h"
#include "model/kernels/gemm_core.h"

namespace spillway {
namespace {

constexpr FormParameter kParameters[] = {
    {"efficiency", "fraction of peak in the products", 0.85, 0.2, 1.0, true, 0.25},
    {"prologue", "start and end of a block, in input channels", 12, 0.5, 300, true, 1.0},
    {"fill", "latency of a multiprocessor with few blocks, in blocks", 0.05, 0.002, 3, true, 1.0},
    {"quantisation", "0: multiprocessors share blocks evenly; 1: time follows the fullest one", 0.85, 0.02, 1, true,
     0.3},
    {"bandwidth", "fraction of memory bandwidth; input and output move once", 0.5, 0.1, 1.1, true, 0.4},
    {"fixed", "ns per call: two launches", 8000, 1000, 1e5, true, 0.7},
    {"filter_bandwidth", "fraction of memory bandwidth, filter transform", 0.7, 0.03, 3, true, 0.7},
    {"packed", "efficiency of blocks over several images, relative", 0.7, 0.05, 1.2, true, 0.6},
    {"pair", "efficiency of blocks over 2 images, relative to that of 4", 1.0, 0.2, 1.5, true, 0.5},
};
enum : std::size_t { kRate, kStart, kLatency, kWaves, kBandwidth, kFixed, kFilterBandwidth, kPacked, kPair };

struct Box {
  std::int64_t images;
  double rows, columns;  // in patches of 2x2 outputs
};
constexpr Box kBoxes[] = {{1, 4, 8}, {2, 4, 4}, {2, 2, 8}, {4, 1, 8}, {4, 2, 4}, {4, 4, 2}};
constexpr double kChannelsPerBlock = 32, kPatchesPerBlock = 32, kProducts = 16, kPatch = 2, kStep = 8;
// Words of workspace per pair of channels: the library keeps 25, though F(2x2, 3x3) has 16 to keep.
constexpr std::int64_t kWords = 25;

constexpr const char* kNames[] = {"winograd"};
std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  const bool serves = kind == OpKind::kConvolution && (pass == Pass::kForward || pass == Pass::kBackwardData);
  return std::span(kNames).first(serves ? 1 : 0);
}

bool Applies(const Launch& launch) { return !Algorithms(launch.kind, launch.pass).empty() && IsPlainWindow(launch, 3); }

double Relative(const Box& box, std::span<const double> p) {
  return box.images == 1 ? 1.0 : p[kPacked] * (box.images == 2 ? p[kPair] : 1.0);
}

// `result`: what the pass computes; it sums over `depth` channels.
double ProductTime(const Shape& result, double depth, const Chip& chip, std::span<const double> p) {
  const double height = static_cast<double>(result.h) / kPatch, width = static_cast<double>(result.w) / kPatch;
  const double work =
      2 * kProducts * kChannelsPerBlock * kPatchesPerBlock * (CeilNear(depth / kStep) * kStep + p[kStart]);
  const double channels = CeilNear(static_cast<double>(result.c) / kChannelsPerBlock);
  double best = std::numeric_limits<double>::infinity();
  for (const Box& box : kBoxes) {
    if (result.n % box.images != 0) continue;
    const double blocks = static_cast<double>(result.n / box.images) * CeilNear(height / box.rows) *
                          CeilNear(width / box.columns) * channels;
    const double rate = chip.peak_flops / chip.multiprocessors * p[kRate] * Relative(box, p);
    best = std::min(best, work / rate * (BlockLoad(blocks, chip, p[kWaves]) + p[kLatency]));
  }
  return best;
}

double Time(const Launch& launch, const Chip& chip, std::span<const double> p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const bool forward = launch.pass == Pass::kForward;
  const Shape& result = forward ? launch.shape.out : launch.shape.in;
  const double memory = (conv.in_bytes + conv.out_bytes + conv.accumulated_bytes) / p[kBandwidth];
  const double transformed = conv.filter_bytes * (1 + static_cast<double>(kWords) / conv.taps) / p[kFilterBandwidth];
  return p[kFixed] + transformed / chip.memory_bandwidth +
         Overlap(ProductTime(result, forward ? conv.c : conv.k, chip, p), memory / chip.memory_bandwidth);
}

Bytes Workspace(const Launch& launch) { return 4 * kWords * launch.shape.in.c * launch.shape.out.c; }

}  // namespace

KernelForm WinogradForm() {
  return {.name = "winograd",
          .description = "Winograd F(2x2, 3x3), transforms and products in one kernel",
          .parameters = kParameters,
          .algorithms = Algorithms,
          .applies = Applies,
          .time = Time,
          .workspace = Workspace};
}

}  // namespace spillway
