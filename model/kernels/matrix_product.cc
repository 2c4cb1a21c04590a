// Tested by tests/model/kernel_forms_gemm_test.cc.
#include "model/kernels/matrix_product.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace spillway {
namespace {

struct Tile {
  double rows, columns;
  double size;      // rows x columns / (rows + columns)
  double log_size;  // log(size / that of 128 x 128), what `efficiency` is told for
};
Tile MakeTile(double rows, double columns) {
  const double size = rows * columns / (rows + columns);
  return {rows, columns, size, std::log(size / 64)};
}

// The library's tile sizes, large ones first.
std::span<const Tile> Tiles() {
  static const std::array<Tile, 7> kTiles{MakeTile(128, 128), MakeTile(128, 64), MakeTile(64, 128), MakeTile(64, 64),
                                          MakeTile(128, 32),  MakeTile(32, 128), MakeTile(32, 32)};
  return kTiles;
}
constexpr double kSplits[] = {1, 2, 4, 8, 16};

constexpr double kUsualSize = 128.0 * 64 / (128 + 64);  // h of the tile that `page_cost` is told for
constexpr double kStep = 8;                             // elements of the depth that a block loads at once
constexpr double kLeastDepth = 64;                      // a split leaves each block at least this
constexpr double kFull = 4;                             // blocks per multiprocessor above which splitting cannot help
constexpr double kResident = 4;                         // blocks that run on a multiprocessor at the same time

double Squared(double x) { return x * x; }
// std::ceil of a positive number below 2^62, inline: this law runs millions of times in a fit.
double Ceil(double x) {
  const auto down = static_cast<double>(static_cast<std::int64_t>(x));
  return down < x ? down + 1 : down;
}

// One tile size at work on one product.
class Tiling {
 public:
  Tiling(const MatrixProduct& product, const Tile& tile, const Chip& chip, MatrixProductValues p)
      : product_(product), tile_(tile), chip_(chip), p_(p) {
    tiles_ = Ceil(product.rows / tile.rows) * Ceil(product.columns / tile.columns);
    const double relative = std::exp(p["tile_power"] * tile.log_size);
    const double rate = p["efficiency"] * chip.peak_flops / chip.multiprocessors * relative;
    depth_time_ = 2 * tile.rows * tile.columns / rate;
  }
  // Blocks per multiprocessor.
  double Blocks(double split) const { return tiles_ * split / chip_.multiprocessors; }
  // Never above Time(split).
  double LeastTime(double split) const {
    return std::max(Blocks(split), 1.0) * (depth_time_ * product_.depth / split + p_["block"]);
  }
  double Time(double split) const {
    const double blocks = Blocks(split);
    const double steps = Ceil(product_.depth / (split * kStep));
    const double load = p_["quantisation"] * Ceil(blocks) + (1 - p_["quantisation"]) * std::max(blocks, 1.0);
    return load * (depth_time_ * kStep * steps * PageFactor(blocks) + p_["block"]);
  }

 private:
  // Loads that wait for address translation.
  double PageFactor(double blocks) const {
    const double resident = std::min(Ceil(blocks), kResident);
    const double rows = (product_.rows_along_depth ? std::min(tile_.rows * resident, product_.rows) : 0) +
                        (product_.columns_along_depth ? std::min(tile_.columns * resident, product_.columns) : 0);
    const double span = rows * product_.depth * product_.element / (1 << 20);
    return 1 + p_["page_cost"] * Squared(span / (span + p_["page_reach"])) * kUsualSize / tile_.size;
  }

  const MatrixProduct& product_;
  const Tile& tile_;
  const Chip& chip_;
  MatrixProductValues p_;
  double tiles_ = 0;
  double depth_time_ = 0;  // of one element of the depth
};

}  // namespace

double MatrixProductTime(const MatrixProduct& product, const Chip& chip, MatrixProductValues p) {
  assert(product.rows >= 1 && product.columns >= 1 && product.depth >= 1);
  const double result = product.element * product.rows * product.columns;
  const double operands = product.element * product.depth * (product.rows + product.columns);
  const double memory = (operands + (product.accumulate ? 2 : 1) * result) / (chip.memory_bandwidth * p["bandwidth"]);
  const double partial_sum = result / (chip.memory_bandwidth * p["split_bandwidth"]);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : Tiles()) {
    const Tiling tiled(product, tile, chip, p);
    for (const double split : kSplits) {
      if (split > 1 && (product.depth < kLeastDepth * split || tiled.Blocks(1) > kFull)) break;
      const double adding = split == 1 ? 0 : p["split"] + (split + 1) * partial_sum;
      if (std::max(tiled.LeastTime(split), memory) + adding >= best) continue;
      best = std::min(best, Overlap(tiled.Time(split), memory) + adding);
    }
  }
  return p["fixed"] + best;
}

}  // namespace spillway
