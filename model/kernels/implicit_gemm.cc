// Implicit GEMM that computes its offsets on the way: forward implicit_gemm, backward data algo_0, backward filter
// algo_0. It needs no workspace, and its inner loop is slower than with offsets (implicit_precomp_gemm.cc).
//
// Forward computes the product of implicit_precomp_gemm.cc, and so does backward filter, in blocks that take one image
// each, or parts of one where that leaves multiprocessors idle, down to `chunk` positions. Kernels differ by width:
// tiles of 128 rows and 64 or 32 columns reach `half` and `quarter` of the rate of 128 columns, and windows of one
// element have kernels of their own, which narrow tiles suit by `pointwise` better or worse. Backward filter has tiles
// of 64 x 32 and 32 x 32 as well (wgrad_alg0_engine<float, 512, 6, 5, ...> and <float, 128, 5, 5, ...>, logarithms of
// the sides): one input channel under a 3 x 3 window makes nine rows. They are taken to lose against 128 x 32 by no
// more than that does against 128 x 64.
//
// Backward data scatters: every output position makes what it owes to all elements of its window, rows = output
// positions, columns = input channels x window, depth = output channels. So strides cost nothing and few channels waste
// little. Tiles are 64 x 64, at `efficiency`, of positions of one image, or of whole images where several fit.
//
// Groups are computed without tiles where that is faster (GroupedDirectTime).
//
// Both backward passes sum by atomic additions, as the library's manual says: backward data once per element of the
// matrix of input patches, backward filter once per weight and block, which is what 7x7 images spend their time on.
// Tested by tests/model/kernel_forms_conv_test.cc.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "model/kernels/conv_launch.h"
#include "model/kernels/gemm_core.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kGemmRows["efficiency"],
    kGemmRows["prologue"],
    kGemmRows["fill"],
    kGemmRows["quantisation"],
    Row{"half", "rate of 64 columns, relative to 128", 0.8, 0.1, 1.05, 0.4},
    Row{"quarter", "rate of 32 columns, relative to 128", 0.7, 0.1, 1.05, 0.4},
    Row{"pointwise", "factor on these two for windows of one element", 0.8, 0.1, 1, 0.5},
    Row{"bandwidth", "fraction of memory bandwidth; tensors move once, a scattered gradient three times", 0.6, 0.1, 1.1,
        0.3},
    Row{"fixed", "ns per call", 8000, 1000, 1e5, 0.7},
    Row{"add_bandwidth", "backward: fraction of memory bandwidth at which words are added in the cache", 0.2, 0.02, 1.5,
        0.4},
    Row{"chunk", "backward filter: least depth per block", 1000, 16, 1e5, 1.0},
};
using Values = ParameterValues<kParameters>;

constexpr GemmTile kTiles[] = {{128, 128}, {128, 64}, {128, 32}, {64, 32}, {32, 32}};
constexpr std::size_t kForwardTiles = 3;  // the first of them
constexpr GemmTile kScatterTile{64, 64};
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

TiledProduct ProductOf(const Launch& launch, const ConvLaunch& conv) {
  TiledProduct product{.columns = conv.k, .count = conv.groups};
  if (launch.pass == Pass::kForward) {
    product.rows = conv.n * conv.out_spatial, product.depth = conv.c * conv.taps;
  } else {
    product.rows = conv.c * conv.taps, product.depth = conv.n * conv.out_spatial;
  }
  return product;
}

// Blocks that share one tile of the filter.
double SplitOf(const TiledProduct& product, double images, const GemmTile& tile, const Chip& chip, double chunk) {
  const double blocks = product.count * CeilNear(product.rows / tile.rows) * CeilNear(product.columns / tile.columns);
  return std::clamp(kWantedLoad * chip.multiprocessors / blocks, images, std::max(images, product.depth / chunk));
}

// Nanoseconds to add this many words and to move this many bytes.
double MemoryTime(const Launch& launch, double added, double moved, const Chip& chip, Values p) {
  const double element = static_cast<double>(SizeOf(launch.type));
  return (element * added / p["add_bandwidth"] + moved / p["bandwidth"]) / chip.memory_bandwidth;
}

GemmLaw LawOf(Values p, double relative) {
  return {.efficiency = p["efficiency"] * relative,
          .tile_power = 0,
          .prologue = p["prologue"],
          .fill = p["fill"],
          .quantisation = p["quantisation"]};
}

// Forward and backward filter.
double GatherTime(const Launch& launch, const ConvLaunch& conv, const Chip& chip, Values p) {
  TiledProduct product = ProductOf(launch, conv);
  const bool filter = launch.pass == Pass::kBackwardFilter;
  const double narrow = conv.taps == 1 ? p["pointwise"] : 1.0;
  const double small = p["quarter"] * std::min(1.0, p["quarter"] / p["half"]);
  const double relative[] = {1.0, p["half"] * narrow, p["quarter"] * narrow, small * narrow, small * narrow};
  const double moved = conv.Moved();
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < (filter ? std::size(kTiles) : kForwardTiles); ++i) {
    if (filter) product.split = SplitOf(product, conv.n, kTiles[i], chip, p["chunk"]);
    const double added = filter ? product.count * product.rows * product.columns * product.split : 0;
    const double arithmetic = TileTime(product, kTiles[i], chip, LawOf(p, relative[i]));
    best = std::min(best, Overlap(arithmetic, MemoryTime(launch, added, moved, chip, p)));
  }
  return best;
}

// Backward data.
double ScatterTime(const Launch& launch, const ConvLaunch& conv, const Chip& chip, Values p) {
  const double side = kScatterTile.rows;
  const double images = std::max(1.0, std::floor(side / conv.out_spatial));  // in a tile
  const TiledProduct product{.rows = CeilNear(conv.n / images) * CeilNear(images * conv.out_spatial / side) * side,
                             .columns = conv.c * conv.taps,
                             .depth = conv.k,
                             .count = conv.groups};
  const double added = product.count * conv.n * conv.out_spatial * product.columns;
  // The gradient is cleared, then read and written.
  const double moved = 3 * conv.in_bytes + conv.out_bytes + conv.filter_bytes;
  return Overlap(TileTime(product, kScatterTile, chip, LawOf(p, 1)), MemoryTime(launch, added, moved, chip, p));
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const bool scatters = launch.pass == Pass::kBackwardData;
  const double tiled = scatters ? ScatterTime(launch, conv, chip, p) : GatherTime(launch, conv, chip, p);
  return p["fixed"] + (conv.groups == 1 ? tiled : std::min(tiled, GroupedDirectTime(conv, chip, p["bandwidth"])));
}

}  // namespace

KernelForm ImplicitGemmForm() {
  return FormOf<Time>(
      {.name = "implicit_gemm", .description = "implicit GEMM without workspace", .algorithms = Algorithms});
}

}  // namespace spillway
