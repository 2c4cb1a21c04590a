// Tested by tests/model/kernel_forms_gemm_test.cc.
#include "model/kernels/matrix_product.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "model/kernels/gemm_core.h"

namespace spillway {
namespace {

constexpr FormParameter kParameters[] = {
    {"efficiency", "fraction of the fp32 peak that tiles of 128 x 128 reach; above 1 on tensor cores", 0.85, 0.2, 16,
     true, 0.25},
    kGemmTilePower,
    {"quantisation", "0: multiprocessors share blocks evenly; 1: time follows the fullest one", 0.4, 0.01, 1, true,
     0.7},
    {"block", "start and end of a block, ns", 2000, 50, 3e4, true, 0.8},
    {"bandwidth", "fraction of memory bandwidth; every matrix moves once", 0.6, 0.15, 1.1, true, 0.3},
    {"split", "adding partial sums, ns: launch and start", 8000, 300, 2e5, true, 0.8},
    {"split_bandwidth", "fraction of memory bandwidth at which partial sums move", 0.3, 0.02, 1.1, true, 0.8},
    {"page_cost", "extra time of a tile of 128 x 64 where every row misses the TLB", 0.6, 0.01, 8, true, 1.0},
    {"page_reach", "span of a multiprocessor's rows at which half of that is due, MiB", 48, 4, 300, true, 0.8},
    {"fixed", "ns per call", 4000, 1500, 9000, true, 0.3},
};
namespace parameter {
enum : std::size_t {
  kEfficiency,
  kTilePower,
  kQuantisation,
  kBlock,
  kBandwidth,
  kSplit,
  kSplitBandwidth,
  kPageCost,
  kPageReach,
  kFixed
};
}  // namespace parameter

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
  Tiling(const MatrixProduct& product, const Tile& tile, const Chip& chip, std::span<const double> p)
      : product_(product), tile_(tile), chip_(chip), p_(p) {
    tiles_ = Ceil(product.rows / tile.rows) * Ceil(product.columns / tile.columns);
    const double relative = std::exp(p[parameter::kTilePower] * tile.log_size);
    const double rate = p[parameter::kEfficiency] * chip.peak_flops / chip.multiprocessors * relative;
    depth_time_ = 2 * tile.rows * tile.columns / rate;
  }
  // Blocks per multiprocessor.
  double Blocks(double split) const { return tiles_ * split / chip_.multiprocessors; }
  // Never above Time(split).
  double LeastTime(double split) const {
    return std::max(Blocks(split), 1.0) * (depth_time_ * product_.depth / split + p_[parameter::kBlock]);
  }
  double Time(double split) const {
    const double blocks = Blocks(split);
    const double steps = Ceil(product_.depth / (split * kStep));
    const double load =
        p_[parameter::kQuantisation] * Ceil(blocks) + (1 - p_[parameter::kQuantisation]) * std::max(blocks, 1.0);
    return load * (depth_time_ * kStep * steps * PageFactor(blocks) + p_[parameter::kBlock]);
  }

 private:
  // Loads that wait for address translation.
  double PageFactor(double blocks) const {
    const double resident = std::min(Ceil(blocks), kResident);
    const double rows = (product_.rows_along_depth ? std::min(tile_.rows * resident, product_.rows) : 0) +
                        (product_.columns_along_depth ? std::min(tile_.columns * resident, product_.columns) : 0);
    const double span = rows * product_.depth * product_.element / (1 << 20);
    return 1 + p_[parameter::kPageCost] * Squared(span / (span + p_[parameter::kPageReach])) * kUsualSize / tile_.size;
  }

  const MatrixProduct& product_;
  const Tile& tile_;
  const Chip& chip_;
  std::span<const double> p_;
  double tiles_ = 0;
  double depth_time_ = 0;  // of one element of the depth
};

}  // namespace

std::span<const FormParameter> MatrixProductParameters() { return kParameters; }

double MatrixProductTime(const MatrixProduct& product, const Chip& chip, std::span<const double> p) {
  assert(p.size() == std::size(kParameters));
  assert(product.rows >= 1 && product.columns >= 1 && product.depth >= 1);
  const double result = product.element * product.rows * product.columns;
  const double operands = product.element * product.depth * (product.rows + product.columns);
  const double memory =
      (operands + (product.accumulate ? 2 : 1) * result) / (chip.memory_bandwidth * p[parameter::kBandwidth]);
  const double partial_sum = result / (chip.memory_bandwidth * p[parameter::kSplitBandwidth]);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : Tiles()) {
    const Tiling tiled(product, tile, chip, p);
    for (const double split : kSplits) {
      if (split > 1 && (product.depth < kLeastDepth * split || tiled.Blocks(1) > kFull)) break;
      const double adding = split == 1 ? 0 : p[parameter::kSplit] + (split + 1) * partial_sum;
      if (std::max(tiled.LeastTime(split), memory) + adding >= best) continue;
      best = std::min(best, Overlap(tiled.Time(split), memory) + adding);
    }
  }
  return p[parameter::kFixed] + best;
}

}  // namespace spillway
