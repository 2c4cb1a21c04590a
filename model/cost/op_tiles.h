// Ops in parts along the batch, and parts in tiles along channels and rows.
//
//   forward, backward data            backward filter
//   x |--0--|--1--|--2--|             x  |--0--|--1--|--2--|    every part adds to all of dw; the first one writes it
//   w (whole)                         dy |--0--|--1--|--2--|
//   y |--0--|--1--|--2--|             dw (whole)
//
// The training step is never divided: its ops and tensors stay as they are. Each part or tile is a launch of a smaller
// shape on boxes of the same tensors. verify has rules of its own (sim/verify/verify_boxes.h).
//
// A tile computes one of these sums, over its own ranges:
//
//   forward          out (n, k, r)  =  sum over c of  in (n, c, the rows that windows of r read)  *  w (k, c)
//   backward data    in  (n, c, r)  =  sum over k of  out (n, k, the rows whose windows touch r)  *  w (k, c)
//   backward filter  w   (k, c)     =  sum over n, r of  in (n, c, ...)  *  out (n, k, r)
//
// n: samples, c: input channels, k: output channels, r: rows of the op's result (for a filter's gradient: of the
// output). Ranges of an axis are as equal as possible; the first ones are larger by one. Rows that neighbouring tiles
// both read (the halo) are read twice. Each tile is a launch of a smaller shape on boxes of the same tensors. Ops and
// the axes along which they divide:
//
//   convolution without groups   all three; with groups rows; backward data has rows where no stride exceeds its window
//   bias, ReLU, add, copy        channels (as out_channels) and rows
//   pooling                      channels; rows where windows lie side by side, without padding
//   LRN                          rows
//
// Source of tiles: Ito et al., ooc_cuDNN, fig. 1, and its code's loops.
#ifndef SPILLWAY_MODEL_COST_OP_TILES_H_
#define SPILLWAY_MODEL_COST_OP_TILES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "model/step/launch.h"
#include "model/step/training_step.h"

namespace spillway {

// ---- Parts.

// Whether ops of the kind may run in parts along the batch: those that compute each sample by itself. Batch norm's
// statistics and the loss's mean are of all samples, a dropout mask is drawn for all at once, and updates have none.
// A backward pass that sums over samples beside what it computes of each (group and layer norm) has none either.
constexpr bool HasSampleParts(OpKind kind, Pass pass) {
  const OpTraits& traits = TraitsOf(kind);
  return traits.samples_apart && !(traits.backward_sums && pass == Pass::kBackward);
}
// Fused attention that drops scores draws for all samples at once, the same in both passes.
constexpr bool HasSampleParts(OpKind kind, Pass pass, const OpShape& shape) {
  return HasSampleParts(kind, pass) && !(kind == OpKind::kAttention && DrawsMask(shape.operands));
}
inline bool HasSampleParts(const Launch& launch) { return HasSampleParts(launch.kind, launch.pass, launch.shape); }
inline bool HasSampleParts(const Op& op) { return HasSampleParts(op.kind, op.pass, op.shape); }

// Whether an op may stream the tensor, part by part (OpDecision::streamed): it has samples, and may leave the device.
inline bool MayStream(const Tensor& tensor) { return tensor.Traits().may_move && !tensor.Traits().of_parameters; }

// Whether the parts of an op add up: its result is of all samples.
bool AddsUpSamples(const Op& op);

// What a part with the samples [begin, end) touches of a tensor of its op: all of parameters and their gradients.
Box SamplesOf(const Tensor& tensor, std::int64_t begin, std::int64_t end);

// The launch of a part with so many samples. `first`: no part of the op runs before it.
Launch PartOf(Launch whole, std::int64_t samples, bool first);

// ---- Tiles.

struct TileCounts {  // ranges that each part of the batch is cut into
  std::int64_t in_channels = 1, out_channels = 1, rows = 1;
  bool Any() const { return in_channels > 1 || out_channels > 1 || rows > 1; }
  bool operator==(const TileCounts&) const = default;
};
TileCounts Most(const TileCounts& a, const TileCounts& b);   // of each axis
TileCounts Least(const TileCounts& a, const TileCounts& b);  // of each axis

// The most ranges for each axis of the op; 1 for an axis along which it does not divide.
TileCounts MostRanges(const Launch& whole);

struct AxisRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t Size() const { return end - begin; }
  bool operator==(const AxisRange&) const = default;
};
// The k-th of `count` ranges of an axis. REQUIRES: 0 <= k < count <= size.
AxisRange EqualRange(std::int64_t size, std::int64_t count, std::int64_t k);

struct OpTile {
  std::size_t part = 0;  // index of the part of the batch
  AxisRange samples, in_channels, out_channels, rows;
  bool adds = false;  // the tile adds to the result of an earlier tile
};

// The tiles in the order in which they run. The order nests, from outside: parts, channels of the result, rows of the
// result, and the axis summed over (for a filter's gradient: input channels, rows, output channels). `samples`: the
// samples of each part. REQUIRES: counts are 1 to MostRanges.
std::vector<OpTile> TilesOf(const Launch& whole, std::span<const std::int64_t> samples, const TileCounts& counts);

// The tile's launch. `padded`: the input's buffer holds the padding of its rows, and the launch pads no rows. Otherwise
// the launch pads, by different amounts above and below. Tiles with all rows keep their padding.
Launch LaunchOfTile(const Launch& whole, const OpTile& tile, bool padded);

// The box of `tensor` that the tile touches; with `padded` it may reach beyond the rows of a convolution's input.
Box BoxOfTile(const TrainingStep& step, const Op& op, TensorId tensor, const OpTile& tile, bool padded);

// The operand whose tiles hold padding when it is copied in: the input of a convolution, in forward and for a filter's
// gradient.
TensorId PaddedOperand(const Op& op);

// The number of input rows that a convolution's windows read; for any other op all rows.
std::int64_t RowsRead(const OpShape& shape, OpKind kind);

// The tile's share of its op by volume. The shares of all tiles add up to 1.
double ShareOf(const Launch& whole, const OpTile& tile);

}  // namespace spillway

#endif  // SPILLWAY_MODEL_COST_OP_TILES_H_
