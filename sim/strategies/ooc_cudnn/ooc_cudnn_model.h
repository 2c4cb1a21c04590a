// ooc_cuDNN's performance model: how long one call takes in tiles of batch, channels and rows, and the tiles that it picks.
//
// Source: Ito et al., ooc_cuDNN (github.com/yukiito2/ooc_cuDNN), its code's optimisers. Times are linear laws, weight and
// bias, through two micro-profiles each: one law of copies for both directions, one for each kind of op and pass. Copies of
// channels and rows, whose places do not lie together, cost what others do; workspaces count for nothing.
#ifndef SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_OOC_CUDNN_MODEL_H_
#define SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_OOC_CUDNN_MODEL_H_

#include <cstdint>

#include "model/cost/cost_model.h"
#include "model/cost/op_tiles.h"

namespace spillway::ooc_cudnn {

// nanoseconds = weight * size + bias
struct LinearLaw {
  double weight = 0, bias = 0;
  double At(double size) const { return weight * size + bias; }
};
LinearLaw Through(double size1, double time1, double size2, double time2);

// Into how many tiles each axis is cut: n_step and, of MostRanges' axes, x_c_step, y_c_step and h_step.
struct Steps {
  std::int64_t samples = 1;
  TileCounts tiles{};
  std::int64_t All() const { return samples * tiles.in_channels * tiles.out_channels * tiles.rows; }
  bool operator==(const Steps&) const = default;
};

// One call. For a convolution: which of input and output (or their gradients in their place) are on the host; weights
// are on the device. For any other op: the bytes per sample of all operands on the host, and their number.
struct Call {
  Launch whole{};
  bool input_on_host = false, output_on_host = false;
  double sample_in = 0, sample_out = 0;
  int copies_in = 0, copies_out = 0;
};

// The time of the call in nanoseconds. Convolutions, forward and backward data: t_pre for copies in, t_conv, t_off for
// copies out, and the longest of the three for all tiles. Backward filter: the copies in (those of the output's
// gradient once for each range of its channels) or the kernels. Other ops: each stage once, and the longest stage for
// all other tiles.
double TimeOf(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, const Steps& steps);

// True if a tile of all operands on the host takes less than a third of `free` bytes, and no tile has 2^31 elements.
bool Fits(const Call& call, const Steps& steps, Bytes free);

// The most tiles of one op; the published code may cut it into more. A Program has some ten instructions for each tile.
constexpr std::int64_t kMostTilesPlanned = 512;
// One axis after the other, the others fixed: samples, rows, input channels, output channels; each at its fastest number of
// tiles, at its most where none fits.
Steps GreedySteps(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, Bytes free);
// The fastest of all that fit; nothing of them: the finest. For tests: N * H * C * K evaluations.
Steps ExhaustiveSteps(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, Bytes free);

// The laws as its initialisation measures them, on the costs of a machine.
LinearLaw CopyLaw(const CostModel& costs, int device);
// The law of a kernel's time in the work that WorkOf counts.
LinearLaw KernelLaw(const CostModel& costs, const Launch& launch, int device);
// Convolutions: multiply-adds times 4, output channels rounded up to 32; all else: bytes that pass by.
double WorkOf(const Launch& launch);

}  // namespace spillway::ooc_cudnn

#endif  // SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_OOC_CUDNN_MODEL_H_
