// Tested by tests/model/kernel_forms_conv_test.cc.
#include "model/kernels/gemm_core.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace spillway {
namespace {

constexpr double kLargeTile = 64;        // h of 128 x 128: the largest, what `efficiency` is told for
constexpr double kStep = 8;              // elements of the depth that a block loads at once
constexpr double kUsualTile = 128 * 64;  // what `fill` is told in

double Squared(double x) { return x * x; }

// At most 1.
double RelativeRate(const GemmTile& tile, const GemmLaw& law) {
  const double h = tile.rows * tile.columns / (tile.rows + tile.columns);
  return law.tile_power == 0 ? 1 : std::pow(h / kLargeTile, law.tile_power);
}

// As if the tile were as good as the largest.
double TimeAtFullRate(const TiledProduct& product, const GemmTile& tile, const Chip& chip, const GemmLaw& law) {
  const double area = tile.rows * tile.columns;
  const double rate = law.efficiency * chip.peak_flops / chip.multiprocessors;
  const double depth = CeilNear(product.depth / kStep) * kStep / product.split;
  const double block = 2 * area * (depth + law.prologue) / rate;
  const double blocks =
      product.count * CeilNear(product.rows / tile.rows) * CeilNear(product.columns / tile.columns) * product.split;
  return block * (BlockLoad(blocks, chip, law.quantisation) + law.fill * kUsualTile / area);
}

}  // namespace

double CeilNear(double x) {
  const auto down = static_cast<double>(static_cast<std::int64_t>(x));
  return x - down > 1e-6 ? down + 1 : down;
}

GemmLaw GemmLawOf(ParameterValues<kGemmRows> p) {
  return {.efficiency = p["efficiency"],
          .tile_power = p["tile_power"],
          .prologue = p["prologue"],
          .fill = p["fill"],
          .quantisation = p["quantisation"]};
}

double BlockLoad(double blocks, const Chip& chip, double quantisation) {
  const double mean = blocks / chip.multiprocessors;
  return quantisation * CeilNear(mean) + (1 - quantisation) * std::max(mean, 1.0);
}

double TileTime(const TiledProduct& product, const GemmTile& tile, const Chip& chip, const GemmLaw& law) {
  return TimeAtFullRate(product, tile, chip, law) / RelativeRate(tile, law);
}

double FastestTileTime(const TiledProduct& product, std::span<const GemmTile> tiles, const Chip& chip,
                       const GemmLaw& law) {
  double best = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : tiles) {
    const double least = TimeAtFullRate(product, tile, chip, law);
    if (least < best) best = std::min(best, least / RelativeRate(tile, law));
  }
  return best;
}

double Overlap(double compute, double memory) {
  return std::sqrt(std::sqrt(Squared(Squared(compute)) + Squared(Squared(memory))));
}

}  // namespace spillway
