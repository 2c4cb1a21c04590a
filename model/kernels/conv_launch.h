// What convolution forms read off a launch, as doubles.
#ifndef SPILLWAY_MODEL_KERNELS_CONV_LAUNCH_H_
#define SPILLWAY_MODEL_KERNELS_CONV_LAUNCH_H_

#include <cstdint>

#include "model/kernels/gemm_core.h"

namespace spillway {

// A convolution seen forward, whatever the pass: n samples, c input and k output channels of each of `groups` groups.
struct ConvLaunch {
  double n = 1, c = 1, k = 1, groups = 1;
  double in_spatial = 1, out_spatial = 1;  // positions of one channel
  double taps = 1;                         // elements of the window
  double strides = 1;                      // product over the dimensions
  double in_bytes = 0, out_bytes = 0, filter_bytes = 0;
  double accumulated_bytes = 0;  // the result where the pass adds to what is there: read once more
  double Moved() const { return in_bytes + out_bytes + filter_bytes + accumulated_bytes; }  // every tensor once
};
ConvLaunch ConvLaunchOf(const Launch& launch);

// The gradient of the input as one product per class of input positions: those that lie alike between the strides, and
// so see the same elements of the window. The classes' depths differ by an element or two; their mean is taken.
TiledProduct BackwardDataProduct(const ConvLaunch& conv);

// Nanoseconds of the library's kernels for groups (conv2d_grouped_direct_kernel and its kin for both gradients), which
// compute every result by itself, without tiles: tensors once at `bandwidth`, a fraction of the memory's, and some
// sixteen instructions to each multiply-add (two loads, the bounds of the padding, addresses). No sample tells how
// many; the count is assumed, and costs by it are marked (model_cost.cc).
double GroupedDirectTime(const ConvLaunch& conv, const Chip& chip, double bandwidth);

// Two-dimensional, square window of this size, stride 1, not dilated, one group: what Winograd transforms exist for.
bool IsPlainWindow(const Launch& launch, std::int64_t window);

// What is left of a rate that rows of memory that do not fill sectors of 32 bytes (8 words) bring down to `misaligned`:
// their ends are moved in part. Half sectors count half.
double RowAlignment(std::int64_t words, double misaligned);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_KERNELS_CONV_LAUNCH_H_
