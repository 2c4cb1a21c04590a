// Tested by tests/model/kernel_forms_gemm_test.cc.
#include "model/kernels/spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "model/kernels/gemm_core.h"

namespace spillway {
namespace {

constexpr double kComplexMultiplyAdd = 8;  // flops

// The library's complex kernels: gcgemm_64x64, 64x32 (either way round) and 32x32.
struct ComplexTile {
  double rows, columns;
  double slower;  // time of an element of it, relative to 64 x 32, which `efficiency` is told for
};
// A tile loads 1 / h operands per multiply-add, h its harmonic size; how much that matters is taken from products of
// real numbers (gemm_core.h).
ComplexTile MakeTile(double rows, double columns) {
  constexpr double kUsual = 64.0 * 32 / (64 + 32);
  return {rows, columns, std::pow(kUsual * (rows + columns) / (rows * columns), kGemmRows["tile_power"].start)};
}

// Elements of a product in whole tiles, as many as take as long in the usual one: of the tile with fewest.
double PaddedElements(double rows, double columns) {
  static const std::array<ComplexTile, 4> kTiles{MakeTile(64, 64), MakeTile(64, 32), MakeTile(32, 64),
                                                 MakeTile(32, 32)};
  double least = std::numeric_limits<double>::infinity();
  for (const ComplexTile& tile : kTiles) {
    const double area = CeilNear(rows / tile.rows) * tile.rows * CeilNear(columns / tile.columns) * tile.columns;
    least = std::min(least, area * tile.slower);
  }
  return least;
}

}  // namespace

double PlaneTransform::Flops() const {
  const auto points = static_cast<double>(side_h * side_w);
  return 2.5 * points * std::log2(points);
}

Planes PlanesOf(const Launch& launch, std::int64_t tiles) {
  const OpShape& s = launch.shape;
  return {.in = s.in.n * s.in.c * tiles, .out = s.out.n * s.out.c * tiles, .filter = s.in.c * s.out.c};
}

FrequencyProduct FrequencyProductOf(const Launch& launch, std::int64_t tiles) {
  const auto patches = static_cast<double>(launch.shape.in.n * tiles);
  const auto c = static_cast<double>(launch.shape.in.c), k = static_cast<double>(launch.shape.out.c);
  if (launch.pass == Pass::kForward) return {patches, k, c};
  if (launch.pass == Pass::kBackwardData) return {patches, c, k};
  return {c, k, patches};
}

double SpectrumProductTime(const FrequencyProduct& product, double frequencies, double bytes, const Chip& chip,
                           ParameterValues<kSpectrumRows> p) {
  const double depth = product.depth + p["depth"];
  const double flops = kComplexMultiplyAdd * frequencies * PaddedElements(product.rows, product.columns) * depth;
  return Overlap(flops / (chip.peak_flops * p["efficiency"]), bytes / (chip.memory_bandwidth * p["bandwidth"]));
}

bool RunsFft(const Launch& launch) {
  const OpShape& s = launch.shape;
  const bool flat = s.in.d == 1 && s.window[0] == 1;
  return flat && s.groups == 1 && !s.Dilated() && launch.layout == Layout::kNchw && s.window[1] > s.MostPad(1) &&
         s.window[2] > s.MostPad(2);
}

}  // namespace spillway
