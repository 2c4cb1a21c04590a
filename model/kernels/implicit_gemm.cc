// Implicit GEMM that computes its offsets on the way: forward implicit_gemm, backward data algo_0, backward filter
// algo_0. The products are those of implicit_precomp_gemm.cc; it needs no workspace, and its inner loop is slower.
//
// Its kernels differ by width: tiles of 128 rows and 64 or 32 columns reach `half` and `quarter` of the rate of 128
// columns, and windows of one element have kernels of their own, which narrow tiles suit by `pointwise` better or worse.
// Backward filter walks the output row by row, each row as if it were `row_gap` positions longer, and splits the depth
// among enough blocks to fill the chip, each left `chunk` elements at least; partial sums meet in atomic additions.
// Tested by tests/kernel_forms_conv_test.cc.
#include <algorithm>
#include <iterator>
#include <limits>

#include "model/kernels/conv_launch.h"
#include "model/kernels/forms.h"
#include "model/kernels/gemm_core.h"

namespace spillway {
namespace {

constexpr FormParameter kParameters[] = {
    kGemmEfficiency,
    kGemmPrologue,
    kGemmFill,
    kGemmQuantisation,
    {"half", "rate of 64 columns, relative to 128", 0.8, 0.1, 1.5, true, 0.4},
    {"quarter", "rate of 32 columns, relative to 128", 0.7, 0.1, 1.5, true, 0.4},
    {"pointwise", "factor on these two for windows of one element", 1.0, 0.1, 3, true, 0.5},
    {"bandwidth", "fraction of memory bandwidth; every tensor moves once", 0.6, 0.1, 1.1, true, 0.3},
    {"fixed", "ns per call", 8000, 1000, 1e5, true, 0.7},
    {"strided", "backward data: rate left to a window that strides", 0.9, 0.1, 1.2, true, 0.5},
    {"strided_pointwise", "the same for a window of one element", 0.8, 0.1, 1.2, true, 0.4},
    {"row_gap", "backward filter: positions lost at the end of each output row", 2, 0.05, 50, true, 1.0},
    {"chunk", "backward filter: least depth per block", 1000, 16, 1e5, true, 1.0},
};
enum : std::size_t {
  kRate,
  kStart,
  kLatency,
  kWaves,
  kHalf,
  kQuarter,
  kPointwise,
  kBandwidth,
  kFixed,
  kStrided,
  kStridedPointwise,
  kRowGap,
  kChunk
};

constexpr GemmTile kTiles[] = {{128, 128}, {128, 64}, {128, 32}};
// Blocks per multiprocessor that a split aims at.
constexpr double kWantedLoad = 2;

constexpr const char* kForwardNames[] = {"implicit_gemm"};
constexpr const char* kBackwardNames[] = {"algo_0"};

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  if (kind != OpKind::kConvolution) return {};
  if (pass == Pass::kForward) return kForwardNames;
  if (pass == Pass::kBackwardData || pass == Pass::kBackwardFilter) return kBackwardNames;
  return {};
}

TiledProduct ProductOf(const Launch& launch, const ConvLaunch& conv, std::span<const double> p) {
  TiledProduct product{.count = conv.groups};
  if (launch.pass == Pass::kForward) {
    product.rows = conv.n * conv.out_spatial, product.columns = conv.k, product.depth = conv.c * conv.taps;
  } else if (launch.pass == Pass::kBackwardData) {
    product = BackwardDataProduct(conv);
  } else {
    const Shape& out = launch.shape.out;
    product.rows = conv.c * conv.taps, product.columns = conv.k;
    product.depth = static_cast<double>(out.n * out.d * out.h) * (static_cast<double>(out.w) + p[kRowGap]);
  }
  return product;
}

// Blocks that share one result tile.
double SplitOf(const TiledProduct& product, const GemmTile& tile, const Chip& chip, double chunk) {
  const double blocks = product.count * CeilNear(product.rows / tile.rows) * CeilNear(product.columns / tile.columns);
  return std::clamp(kWantedLoad * chip.multiprocessors / blocks, 1.0, std::max(1.0, product.depth / chunk));
}

double GemmTime(const Launch& launch, const ConvLaunch& conv, const Chip& chip, std::span<const double> p) {
  TiledProduct product = ProductOf(launch, conv, p);
  const double narrow = conv.taps == 1 ? p[kPointwise] : 1.0;
  const double relative[] = {1.0, p[kHalf] * narrow, p[kQuarter] * narrow};
  const bool strides = launch.pass == Pass::kBackwardData && conv.strides > 1;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::size(kTiles); ++i) {
    const GemmLaw law{.efficiency = p[kRate] * relative[i],
                      .tile_power = 0,
                      .prologue = p[kStart],
                      .fill = p[kLatency],
                      .quantisation = p[kWaves]};
    if (launch.pass == Pass::kBackwardFilter) product.split = SplitOf(product, kTiles[i], chip, p[kChunk]);
    best = std::min(best, TileTime(product, kTiles[i], chip, law));
  }
  return best / (strides ? p[conv.taps > 1 ? kStrided : kStridedPointwise] : 1.0);
}

double Time(const Launch& launch, const Chip& chip, std::span<const double> p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const double bytes = conv.in_bytes + conv.out_bytes + conv.filter_bytes + conv.accumulated_bytes;
  return p[kFixed] + Overlap(GemmTime(launch, conv, chip, p), bytes / (chip.memory_bandwidth * p[kBandwidth]));
}

Bytes Workspace(const Launch&) { return 0; }

}  // namespace

KernelForm ImplicitGemmForm() {
  return {.name = "implicit_gemm",
          .description = "implicit GEMM without workspace",
          .parameters = kParameters,
          .algorithms = Algorithms,
          .applies = IsConvolution,
          .time = Time,
          .workspace = Workspace};
}

}  // namespace spillway
