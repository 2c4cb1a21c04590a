// What the laws of a processor's kernels share: memory traffic at the rate of the cache that holds it, matrix products,
// and channels that are computed in whole vectors.
//
// Figures of the chip mean: peak and memory bandwidth of all threads together, `multiprocessors` the threads,
// `l2_bytes` the last cache before memory.
#ifndef SPILLWAY_MODEL_KERNELS_CPU_COST_H_
#define SPILLWAY_MODEL_KERNELS_CPU_COST_H_

#include <cstdint>

#include "model/kernels/law.h"

namespace spillway {

// Floats of the widest vector, AVX-512: the channels that blocked layouts keep together. Narrower vectors waste less.
constexpr std::int64_t kVector = 16;
inline double WholeVectors(std::int64_t channels) { return static_cast<double>(RoundUp(channels, kVector)); }

// Rows with the same meaning in every form. Start values and spreads of all forms: what fits to two thousand launches
// on one core with AVX-512 gave for the passes of a convolution and the other ops, and how far these lie apart.
constexpr Row kCpuFixed{"fixed", "nanoseconds that a call takes whatever its size", 2500, 50, 1e6, 0.9};
inline constexpr ParameterTable kCpuCacheRows{
    Row{"cache_gain", "how many times faster than memory the last cache is, less one", 3.5, 0.01, 20, 0.8},
    Row{"cache_share", "part of the last cache that a kernel's operands fill before they come from memory", 0.2, 0.005,
        4, 0.6},
};
inline constexpr ParameterTable kCpuMemoryRows{
    Row{"bandwidth_fraction", "fraction of the memory bandwidth that data beyond the caches reach", 0.45, 0.01, 4, 0.6},
    kCpuCacheRows,
};

// Nanoseconds to move `bytes` at a kernel that touches `touched` different ones, beyond the cache at `fraction` of the
// memory's bandwidth. The part that lies in the cache falls smoothly, to a half where as much is touched as it holds.
inline double CpuTraffic(double bytes, double touched, const Chip& chip, double fraction,
                         ParameterValues<kCpuCacheRows> p) {
  const double beyond = touched / (p["cache_share"] * chip.l2_bytes);
  const double cached = 1 / (1 + beyond * beyond);
  return bytes / (fraction * chip.memory_bandwidth) * (1 - cached + cached / (1 + p["cache_gain"]));
}

// ---- A matrix product, as oneDNN's generated GEMM computes it.
//
//   time = 2 rows columns depth / (efficiency x peak) x (1 + short_rows / rows) x (1 + short_columns / columns)
//          x (1 + short_depth / depth)
//
// Panels of the operands are copied into place first and results are read and written once per block of the depth: what
// is short in one direction pays for that with little arithmetic in return.

// The first rows of every form with a product.
inline constexpr ParameterTable kCpuProductRows{
    Row{"efficiency", "fraction of peak in large products", 1.05, 0.02, 2, 0.3},
    Row{"short_rows", "rows of a product for which it takes twice the time", 3, 0.05, 500, 0.8},
    Row{"short_columns", "the same of columns", 8, 0.05, 500, 0.8},
    Row{"short_depth", "the same of the depth", 3.5, 0.05, 1000, 0.7},
};

struct CpuProduct {
  double rows = 1, columns = 1, depth = 1;
};

inline double CpuProductTime(const CpuProduct& product, const Chip& chip, ParameterValues<kCpuProductRows> p) {
  const double flops = 2 * product.rows * product.columns * product.depth;
  return flops / (p["efficiency"] * chip.peak_flops) * (1 + p["short_rows"] / product.rows) *
         (1 + p["short_columns"] / product.columns) * (1 + p["short_depth"] / product.depth);
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_CPU_COST_H_
