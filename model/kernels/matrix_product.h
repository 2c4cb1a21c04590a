// Time of one fp32 matrix product of the BLAS library: what linear layers run, and convolution as im2col + GEMM.
//
// The library owns kernels for a short list of tile sizes. A block computes one tile of the result in steps along the
// depth; blocks are dealt to the multiprocessors, and where there are too few the depth is split among several blocks
// whose partial sums a second kernel adds. Among all tiles and splits the fastest is taken, as the library's own choice
// nearly does. Then
//
//   block   = 2 x tile rows x tile columns x depth / rate of a multiprocessor, tiles at the edge computed whole
//   rate    = efficiency x peak / multiprocessors x (h / 64)^tile_power, h = rows x columns / (rows + columns): per
//             multiply-add a tile loads 1 / h operands, so small tiles are bound by loads (gemm_core.h)
//   compute = (block time + block) x blocks on the fullest multiprocessor, or nearer the mean: `quantisation` between
//   memory  = each matrix once at `bandwidth`
//   time    = fixed + (compute^4 + memory^4)^(1/4) [+ split + partial sums at split_bandwidth]
//
// An operand whose memory runs along the depth (row-major A, column-major B) has one row per memory page once the depth
// reaches some ten thousand elements. Where the blocks that a multiprocessor runs at a time span more than `page_reach`
// they wait for address translation (Z. Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
// Microbenchmarking", 2018, section 3: first-level TLBs of the P100 and the V100 reach 32 MiB).
#ifndef SPILLWAY_MODEL_KERNELS_MATRIX_PRODUCT_H_
#define SPILLWAY_MODEL_KERNELS_MATRIX_PRODUCT_H_

#include <span>

#include "model/cost/kernel_form.h"

namespace spillway {

// result (rows x columns) = A (rows x depth) * B (depth x columns). The tile list is symmetric, so rows and columns may
// be exchanged together with their flags.
struct MatrixProduct {
  double rows = 1, columns = 1, depth = 1;
  bool rows_along_depth = false;     // A's memory is contiguous along the depth
  bool columns_along_depth = false;  // B's
  double element = 4;                // bytes
  bool accumulate = false;           // the result is read, too
};

std::span<const FormParameter> MatrixProductParameters();

// Nanoseconds. `parameters` as in the table above. REQUIRES: sizes of at least 1.
double MatrixProductTime(const MatrixProduct& product, const Chip& chip, std::span<const double> parameters);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_MATRIX_PRODUCT_H_
