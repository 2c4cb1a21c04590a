// A matrix product on a processor, as oneDNN's generated GEMM computes it.
//
//   time = 2 rows columns depth / (efficiency x peak) x (1 + short_rows / rows) x (1 + short_columns / columns)
//          x (1 + short_depth / depth)
//
// Panels of the operands are copied into place first and results are read and written once per block of the depth: what
// is short in one direction pays for that with little arithmetic in return.
#ifndef SPILLWAY_MODEL_KERNELS_CPU_PRODUCT_H_
#define SPILLWAY_MODEL_KERNELS_CPU_PRODUCT_H_

#include <cstddef>
#include <span>

#include "model/kernels/cpu_cost.h"

namespace spillway {

// The first parameters of every form with a product, in this order.
constexpr FormParameter kCpuEfficiency{"efficiency", "fraction of peak in large products", 1.05, 0.02, 2, true, 0.3};
constexpr FormParameter kCpuShortRows{
    "short_rows", "rows of a product for which it takes twice the time", 3, 0.05, 500, true, 0.8};
constexpr FormParameter kCpuShortColumns{"short_columns", "the same of columns", 8, 0.05, 500, true, 0.8};
constexpr FormParameter kCpuShortDepth{"short_depth", "the same of the depth", 3.5, 0.05, 1000, true, 0.7};
constexpr std::size_t kCpuProductParameters = 4;

struct CpuProduct {
  double rows = 1, columns = 1, depth = 1;
};

inline double CpuProductTime(const CpuProduct& product, const Chip& chip, std::span<const double> p) {
  const double flops = 2 * product.rows * product.columns * product.depth;
  return flops / (p[0] * chip.peak_flops) * (1 + p[1] / product.rows) * (1 + p[2] / product.columns) *
         (1 + p[3] / product.depth);
}

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_CPU_PRODUCT_H_
