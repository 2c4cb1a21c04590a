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

#include "model/kernels/gemm_core.h"

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

inline constexpr ParameterTable kMatrixProductRows{
    Row{"efficiency", "fraction of the fp32 peak that tiles of 128 x 128 reach; above 1 on tensor cores", 0.85, 0.2, 16,
        0.25},
    kGemmRows["tile_power"],
    Row{"quantisation", "0: multiprocessors share blocks evenly; 1: time follows the fullest one", 0.4, 0.01, 1, 0.7},
    Row{"block", "start and end of a block, ns", 2000, 50, 3e4, 0.8},
    Row{"bandwidth", "fraction of memory bandwidth; every matrix moves once", 0.6, 0.15, 1.1, 0.3},
    Row{"split", "adding partial sums, ns: launch and start", 8000, 300, 2e5, 0.8},
    Row{"split_bandwidth", "fraction of memory bandwidth at which partial sums move", 0.3, 0.02, 1.1, 0.8},
    Row{"page_cost", "extra time of a tile of 128 x 64 where every row misses the TLB", 0.6, 0.01, 8, 1.0},
    Row{"page_reach", "span of a multiprocessor's rows at which half of that is due, MiB", 48, 4, 300, 0.8},
    Row{"fixed", "ns per call", 4000, 1500, 9000, 0.3},
};
using MatrixProductValues = ParameterValues<kMatrixProductRows>;

// Nanoseconds. REQUIRES: sizes of at least 1.
double MatrixProductTime(const MatrixProduct& product, const Chip& chip, MatrixProductValues p);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_MATRIX_PRODUCT_H_
