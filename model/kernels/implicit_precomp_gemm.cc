// Implicit GEMM with offsets computed beforehand: forward implicit_precomp_gemm, backward data algo_1, backward filter
// algo_1 and algo_3. The matrix of input patches exists in shared memory only (S. Chetlur et al., "cuDNN: Efficient
// Primitives for Deep Learning", 2014, section 3). Per group, or without tiles where that is faster
// (GroupedDirectTime):
//
//   forward          rows = samples x output positions, columns = output channels, depth = input channels x window
//   backward data    rows = samples x input positions, columns = input channels, depth = output channels x window.
//                    Under a window that strides, positions fall into classes that see different elements of it: one
//                    product per class, and `strided` is the share of the rate that is left to them. A 1x1 window
//                    leaves one class, at `strided_pointwise`; the other positions are zero
//   backward filter  rows = input channels x window, columns = output channels, depth = samples x output positions,
//                    split among as many blocks as the output has rows: few channels still fill a chip when the
//                    image is high, and 7x7 images make few blocks. A block reads all its rows and columns at a time,
//                    each of another plane: where planes are large these lie beyond the reach of address translation,
//                    as with long rows of a matrix (matrix_product.h)
// Tested by tests/model/kernel_forms_conv_test.cc.
#include <algorithm>

#include "hw/text/units.h"
#include "model/kernels/conv_launch.h"
#include "model/kernels/gemm_core.h"
#include "model/kernels/kernel_form.h"

namespace spillway {
namespace {

constexpr ParameterTable kParameters{
    kGemmRows,
    Row{"bandwidth", "fraction of memory bandwidth; every tensor moves once", 0.6, 0.1, 1.1, 0.3},
    Row{"fixed", "ns per call: offsets, launches", 8000, 1000, 1e5, 0.7},
    Row{"strided", "backward data: rate left to a window that strides", 0.45, 0.1, 1, 0.5},
    Row{"strided_pointwise", "the same for a window of one element", 0.7, 0.1, 1, 0.4},
};
using Values = ParameterValues<kParameters>;

// Rows are positions (backward filter: input channels x window), so wide tiles are for many channels.
constexpr GemmTile kTiles[] = {{128, 128}, {128, 64}, {128, 32}};
constexpr GemmTile kFilterTiles[] = {{128, 128}, {128, 64}, {64, 64}, {128, 32}};

constexpr const char* kForwardNames[] = {"implicit_precomp_gemm"};
constexpr const char* kDataNames[] = {"algo_1"};
constexpr const char* kFilterNames[] = {"algo_1", "algo_3"};

std::span<const char* const> Algorithms(OpKind kind, Pass pass) {
  if (kind != OpKind::kConvolution) return {};
  if (pass == Pass::kForward) return kForwardNames;
  if (pass == Pass::kBackwardData) return kDataNames;
  if (pass == Pass::kBackwardFilter) return kFilterNames;
  return {};
}

// Factor on the backward filter's blocks for loads that wait for address translation. Planes are large in few networks,
// and in no sample this was fitted to: cost and reach are what products of matrices show, 1.3 to 4.9 at 12 to 90 MiB on
// the P100, V100 and A100 (page_cost and page_reach of their profiles).
double PageFactor(const ConvLaunch& conv) {
  constexpr double kPageCost = 3, kPageReachMiB = 48;
  constexpr GemmTile kUsual{128, 64};
  const double in_planes = std::min(conv.c, kUsual.rows / conv.taps), out_planes = std::min(conv.k, kUsual.columns);
  const double span = (in_planes * conv.in_bytes / (conv.n * conv.c * conv.groups) +
                       out_planes * conv.out_bytes / (conv.n * conv.k * conv.groups)) /
                      kMiB;
  const double beyond = span / (span + kPageReachMiB);
  return 1 + kPageCost * beyond * beyond;
}

double GemmTime(const Launch& launch, const ConvLaunch& conv, const Chip& chip, Values p) {
  const GemmLaw law = GemmLawOf(p);
  TiledProduct product{.count = conv.groups};
  switch (launch.pass) {
    case Pass::kBackwardData: {
      product = BackwardDataProduct(conv);
      const double left = conv.strides == 1 ? 1.0 : conv.taps > 1 ? p["strided"] : p["strided_pointwise"];
      return FastestTileTime(product, kTiles, chip, law) / left;
    }
    case Pass::kBackwardFilter:
      product.rows = conv.c * conv.taps, product.columns = conv.k, product.depth = conv.n * conv.out_spatial;
      product.split = static_cast<double>(launch.shape.out.d * launch.shape.out.h);
      return FastestTileTime(product, kFilterTiles, chip, law) * PageFactor(conv);
    default:
      product.rows = conv.n * conv.out_spatial, product.columns = conv.k, product.depth = conv.c * conv.taps;
      return FastestTileTime(product, kTiles, chip, law);
  }
}

double Time(const Launch& launch, const Chip& chip, Values p) {
  const ConvLaunch conv = ConvLaunchOf(launch);
  const double bytes = conv.Moved();
  // Positions that no element of the window reaches are cleared beforehand.
  const bool clears = launch.pass == Pass::kBackwardData && conv.taps < conv.strides;
  const double bandwidth = chip.memory_bandwidth * p["bandwidth"];
  const double tiled =
      (clears ? conv.in_bytes / bandwidth : 0) + Overlap(GemmTime(launch, conv, chip, p), bytes / bandwidth);
  return p["fixed"] + (conv.groups == 1 ? tiled : std::min(tiled, GroupedDirectTime(conv, chip, p["bandwidth"])));
}

// One offset of 4 bytes per element of the depth; the backward kernels compute theirs.
Bytes Workspace(const Launch& launch) {
  if (launch.pass != Pass::kForward) return 0;
  const OpShape& s = launch.shape;
  return 4 * s.in.c / s.groups * s.window[0] * s.window[1] * s.window[2];
}

}  // namespace

KernelForm ImplicitPrecompGemmForm() {
  return FormOf<Time>({.name = "implicit_precomp_gemm",
                       .description = "implicit GEMM in tiles of 128 x 32 to 128, offsets precomputed",
                       .algorithms = Algorithms,
                       .workspace = Workspace});
}

}  // namespace spillway
