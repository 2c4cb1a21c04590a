// The inner loop that convolution algorithms share: a matrix product computed in tiles by blocks of a fixed kernel.
//
// Unlike matrix_product.h, which models a library that picks among many tiles and splits of its own, an algorithm of
// the convolution library comes with a few tile sizes and a way of splitting the depth, and each form says which.
//
//   rate  = efficiency x peak / multiprocessors x (h / 64)^tile_power, h = rows x columns / (rows + columns), 64 for the
//           largest tile, 128 x 128: a tile loads 1 / h operands per multiply-add
//   block = 2 x rows x columns x (depth / split, in steps of 8, + prologue) / rate; tiles at the edge are computed whole
//   load  = blocks on the fullest multiprocessor, or nearer the mean: `quantisation` between; at least 1
//   time  = block x (load + fill x 8192 / (rows x columns))
//
// The last term is the latency of a multiprocessor that has too few blocks to hide it: a step down the depth takes no
// less time for a small tile, so it counts the more of them (8192 is a tile of 128 x 64).
#ifndef SPILLWAY_MODEL_KERNELS_GEMM_CORE_H_
#define SPILLWAY_MODEL_KERNELS_GEMM_CORE_H_

#include <span>

#include "model/kernels/law.h"

namespace spillway {

struct GemmTile {
  double rows = 0, columns = 0;
};

// `count` products of one shape, each: result (rows x columns) = (rows x depth) * (depth x columns), the depth cut into
// `split` equal parts that different blocks sum.
struct TiledProduct {
  double rows = 1, columns = 1, depth = 1;
  double count = 1;
  double split = 1;
};

struct GemmLaw {
  double efficiency = 0.85, tile_power = 0.15, prologue = 16, fill = 0.3, quantisation = 0.7;
};

// The first rows of every form on this core.
inline constexpr ParameterTable kGemmRows{
    Row{"efficiency", "fraction of peak that tiles of 128 x 128 reach", 0.85, 0.2, 0.96, 0.25},
    Row{"tile_power", "how the rate grows with the harmonic size of the tile, h^tile_power", 0.15, 0.005, 3, 1.0},
    Row{"prologue", "start and end of a block, in elements of the depth", 20, 0.5, 500, 1.0},
    Row{"fill", "latency of a multiprocessor with few blocks, in blocks of 128 x 64", 0.3, 0.005, 5, 1.0},
    Row{"quantisation", "0: multiprocessors share blocks evenly; 1: time follows the fullest one", 0.7, 0.02, 1, 0.5},
};

GemmLaw GemmLawOf(ParameterValues<kGemmRows> p);

// Nanoseconds on this tile, and on the fastest of several. REQUIRES: at least one tile, none larger than 128 x 128 in
// harmonic size; sizes above 0; tile_power not below 0.
double TileTime(const TiledProduct& product, const GemmTile& tile, const Chip& chip, const GemmLaw& law);
double FastestTileTime(const TiledProduct& product, std::span<const GemmTile> tiles, const Chip& chip,
                       const GemmLaw& law);

// Blocks of one tile size over all multiprocessors, as `load` above.
double BlockLoad(double blocks, const Chip& chip, double quantisation);

// Arithmetic and memory traffic that hide each other but where they are nearly equal: (a^4 + b^4)^(1/4).
double Overlap(double compute, double memory);

// Smallest integer not below x, as a double, x a hair above an integer counting as that integer. REQUIRES: 0 <= x < 2^62.
double CeilNear(double x);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_GEMM_CORE_H_
