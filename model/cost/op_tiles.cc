#include "model/cost/op_tiles.h"

#include <algorithm>
#include <tuple>

#include "hw/text/lists.h"

namespace spillway {

namespace {

constexpr std::size_t kHeight = 1;  // of OpShape's windows, strides and paddings

bool IsConvolution(OpKind kind) { return kind == OpKind::kConvolution; }
bool IsPooling(OpKind kind) { return kind == OpKind::kMaxPool || kind == OpKind::kAveragePool; }
// Sums over samples and rows.
bool SumsPlaces(Pass pass) { return pass == Pass::kBackwardFilter || pass == Pass::kBackwardBias; }

// A grouped convolution and LRN, whose window is of channels, need all of them.
bool DividesChannels(const Launch& whole) {
  switch (whole.kind) {
    case OpKind::kConvolution:
      return whole.shape.groups == 1;
    case OpKind::kBias:
    case OpKind::kRelu:
    case OpKind::kAdd:
    case OpKind::kCopy:
    case OpKind::kMaxPool:
    case OpKind::kAveragePool:
      return true;
    default:
      return false;
  }
}

bool SideBySide(const OpShape& s) { return s.stride[kHeight] == s.window[kHeight] && s.pad[kHeight] == Padding(0); }

std::int64_t RowsOf(const Launch& whole) {
  return IsConvolution(whole.kind) && whole.pass == Pass::kBackwardData ? whole.shape.in.h : whole.shape.out.h;
}

// The rows of a tile on both sides of its op, and what of its windows lies beyond those of the input.
struct Rows {
  AxisRange in, out;
  Padding pad;
};

// Outputs [o, p) begin at o * stride - pad; the last one ends a window behind its begin.
Rows ConvolutionRows(const Launch& whole, const AxisRange& rows, bool padded) {
  const OpShape& s = whole.shape;
  const std::int64_t stride = s.stride[kHeight], window = s.Extent(kHeight), pad = s.pad[kHeight].begin;
  const auto begin_of = [&](std::int64_t out) { return out * stride - pad; };
  if (whole.pass != Pass::kBackwardData) {
    const std::int64_t first = begin_of(rows.begin), last = begin_of(rows.end - 1) + window;
    if (padded) return {{first, last}, rows, 0};
    const AxisRange in{std::max<std::int64_t>(0, first), std::min(s.in.h, last)};
    return {in, rows, {in.begin - first, last - in.end}};
  }
  const std::int64_t reach = rows.begin + pad - window;
  const AxisRange out{reach < 0 ? 0 : reach / stride + 1, std::min(s.out.h, (rows.end - 1 + pad) / stride + 1)};
  const std::int64_t last = begin_of(out.end - 1) + window;
  return {rows, out, {rows.begin - begin_of(out.begin), std::max<std::int64_t>(0, last - rows.end)}};
}

// The last window's tile has the rows that no window reads as well: a gradient has them, too.
Rows PoolingRows(const OpShape& s, const AxisRange& rows) {
  const std::int64_t stride = s.stride[kHeight];
  const std::int64_t end = rows.end == s.out.h ? s.in.h : rows.end * stride;
  return {{rows.begin * stride, end}, rows, s.pad[kHeight]};
}

Rows RowsOfTile(const Launch& whole, const AxisRange& rows, bool padded) {
  const OpShape& s = whole.shape;
  if (rows.Size() == RowsOf(whole)) return {{0, s.in.h}, {0, s.out.h}, s.pad[kHeight]};
  if (IsConvolution(whole.kind)) return ConvolutionRows(whole, rows, padded);
  if (IsPooling(whole.kind)) return PoolingRows(s, rows);
  return {rows, rows, s.pad[kHeight]};
}

// Whether a tensor of the op is on the side of its forward input. One that an op adds to is among what it reads, too.
bool IsInput(const Op& op, TensorId tensor) {
  if (op.pass == Pass::kForward) return !Contains(op.writes, tensor);
  if (Contains(op.writes, tensor)) return true;
  if (op.kind == OpKind::kAveragePool) return op.reads.size() > 1 && op.reads[1] == tensor;
  // Of frozen convolutions, by some step options (SavedTensors::frozen_convolution_input).
  if (IsConvolution(op.kind) && op.pass == Pass::kBackwardData) return op.reads.size() > 2 && op.reads[2] == tensor;
  const bool reads_input = op.pass == Pass::kBackwardFilter || op.kind == OpKind::kMaxPool;
  return reads_input && op.reads[0] == tensor;
}

Box WithChannels(const Box& box, const AxisRange& range) {
  return WithRange(box, kChannelAxis, range.begin, range.end);
}

Box ParameterBox(const Launch& whole, const Tensor& tensor, const OpTile& tile) {
  const Box all = WholeOf(tensor.shape);
  if (whole.kind == OpKind::kBias) return WithChannels(all, tile.out_channels);
  if (!IsConvolution(whole.kind) || whole.shape.groups > 1) return all;
  return WithChannels(WithRange(all, kBatchAxis, tile.out_channels.begin, tile.out_channels.end), tile.in_channels);
}

// Windows with holes: the rows that each element of the window reads are a stride apart, so that those of one remainder
// are a range.
std::int64_t DilatedRowsRead(const OpShape& s) {
  struct Range {
    std::int64_t remainder, first, last;  // rows remainder + stride * [first, last]
  };
  const std::int64_t stride = s.stride[kHeight];
  std::vector<Range> ranges;
  for (std::int64_t tap = 0; tap < s.window[kHeight]; ++tap) {
    const std::int64_t at = tap * s.dilation[kHeight] - s.pad[kHeight].begin;
    const std::int64_t remainder = ((at % stride) + stride) % stride, shift = (at - remainder) / stride;
    const std::int64_t first = std::max<std::int64_t>(0, shift);
    const std::int64_t last = std::min(shift + s.out.h - 1, (s.in.h - 1 - remainder) / stride);
    if (remainder < s.in.h && first <= last) ranges.push_back({remainder, first, last});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.remainder, a.first) < std::tie(b.remainder, b.first);
  });
  std::int64_t rows = 0;
  for (std::size_t k = 0, begin = 0; k < ranges.size(); k = begin) {
    std::int64_t end = -1;
    for (; begin < ranges.size() && ranges[begin].remainder == ranges[k].remainder; ++begin) {
      rows += std::max<std::int64_t>(0, ranges[begin].last - std::max(end, ranges[begin].first - 1));
      end = std::max(end, ranges[begin].last);
    }
  }
  return rows;
}

}  // namespace

bool AddsUpSamples(const Op& op) { return SumsPlaces(op.pass); }

Box SamplesOf(const Tensor& tensor, std::int64_t begin, std::int64_t end) {
  const Box whole = WholeOf(tensor.shape);
  return tensor.Traits().of_parameters ? whole : WithRange(whole, kBatchAxis, begin, end);
}

Launch PartOf(Launch whole, std::int64_t samples, bool first) {
  whole.shape.in.n = whole.shape.out.n = samples;
  whole.accumulate = whole.accumulate || (!first && SumsPlaces(whole.pass));
  return whole;
}

TileCounts Most(const TileCounts& a, const TileCounts& b) {
  return {std::max(a.in_channels, b.in_channels), std::max(a.out_channels, b.out_channels), std::max(a.rows, b.rows)};
}

TileCounts Least(const TileCounts& a, const TileCounts& b) {
  return {std::min(a.in_channels, b.in_channels), std::min(a.out_channels, b.out_channels), std::min(a.rows, b.rows)};
}

TileCounts MostRanges(const Launch& whole) {
  const OpShape& s = whole.shape;
  TileCounts most;
  // A tile of a convolution's rows that lie in the padding alone would read nothing.
  const bool any_reads_input = s.MostPad(kHeight) < s.Extent(kHeight);
  if (DividesChannels(whole)) most = {IsConvolution(whole.kind) ? s.in.c : 1, s.out.c, 1};
  if (IsConvolution(whole.kind) && !any_reads_input) return most;
  if (IsPooling(whole.kind)) {
    most.rows = SideBySide(s) ? s.out.h : 1;
  } else if (IsConvolution(whole.kind) && whole.pass == Pass::kBackwardData) {
    // Every range of as many rows as the stride lies within some window, if no row between windows is left out.
    const bool covered = s.stride[kHeight] <= s.Extent(kHeight);
    most.rows = covered ? std::max<std::int64_t>(1, s.in.h / s.stride[kHeight]) : 1;
  } else if (DividesChannels(whole) || IsConvolution(whole.kind) || whole.kind == OpKind::kLrn) {
    most.rows = s.out.h;
  }
  return most;
}

AxisRange EqualRange(std::int64_t size, std::int64_t count, std::int64_t k) {
  const std::int64_t each = size / count, larger = size % count;
  return {k * each + std::min(k, larger), (k + 1) * each + std::min(k + 1, larger)};
}

std::vector<OpTile> TilesOf(const Launch& whole, std::span<const std::int64_t> samples, const TileCounts& counts) {
  // The result's channels, and those that are summed over: in reverse for backward data and, as its loops go, filters.
  const bool convolution = IsConvolution(whole.kind), swapped = convolution && whole.pass != Pass::kForward;
  const std::int64_t outer = swapped ? counts.in_channels : counts.out_channels;
  const std::int64_t inner = swapped ? counts.out_channels : counts.in_channels;
  const OpShape& s = whole.shape;
  std::vector<OpTile> tiles;
  std::int64_t begin = 0;
  for (std::size_t part = 0; part < samples.size(); ++part, begin += samples[part - 1]) {
    for (std::int64_t a = 0; a < outer; ++a) {
      for (std::int64_t r = 0; r < counts.rows; ++r) {
        for (std::int64_t b = 0; b < inner; ++b) {
          const std::int64_t in = swapped ? a : b, out = swapped ? b : a;
          tiles.push_back({.part = part,
                           .samples = {begin, begin + samples[part]},
                           .in_channels = EqualRange(s.in.c, counts.in_channels, in),
                           .out_channels = EqualRange(s.out.c, counts.out_channels, out),
                           .rows = EqualRange(RowsOf(whole), counts.rows, r),
                           .adds = SumsPlaces(whole.pass) ? part > 0 || r > 0 : b > 0});
        }
      }
    }
  }
  return tiles;
}

Launch LaunchOfTile(const Launch& whole, const OpTile& tile, bool padded) {
  Launch launch = whole;
  OpShape& s = launch.shape;
  const Rows rows = RowsOfTile(whole, tile.rows, padded);
  s.in.n = s.out.n = tile.samples.Size();
  if (DividesChannels(whole)) {
    s.in.c = (IsConvolution(whole.kind) ? tile.in_channels : tile.out_channels).Size();
    s.out.c = tile.out_channels.Size();
  }
  s.in.h = rows.in.Size();
  s.out.h = rows.out.Size();
  s.pad[kHeight] = rows.pad;
  launch.accumulate = whole.accumulate || tile.adds;
  return launch;
}

Box BoxOfTile(const TrainingStep& step, const Op& op, TensorId tensor, const OpTile& tile, bool padded) {
  const Launch whole = LaunchOf(op);
  const Tensor& of = step.tensors[Index(tensor)];
  if (of.Traits().of_parameters) return ParameterBox(whole, of, tile);
  const bool input = IsInput(op, tensor);
  const Rows rows = RowsOfTile(whole, tile.rows, padded);
  const AxisRange& range = input ? rows.in : rows.out;
  Box box = WithRange(WholeOf(of.shape), kBatchAxis, tile.samples.begin, tile.samples.end);
  if (DividesChannels(whole)) {
    box = WithChannels(box, input && IsConvolution(op.kind) ? tile.in_channels : tile.out_channels);
  }
  return MostRanges(whole).rows > 1 ? WithRange(box, kHeightAxis, range.begin, range.end) : box;
}

TensorId PaddedOperand(const Op& op) {
  const bool reads = op.pass == Pass::kForward || op.pass == Pass::kBackwardFilter;
  return IsConvolution(op.kind) && reads ? op.reads[0] : kNoTensor;
}

std::int64_t RowsRead(const OpShape& s, OpKind kind) {
  if (!IsConvolution(kind)) return s.in.h;
  if (s.dilation[kHeight] > 1) return DilatedRowsRead(s);
  std::int64_t rows = 0, seen = 0;
  for (std::int64_t out = 0; out < s.out.h; ++out) {
    const std::int64_t begin = std::max(seen, out * s.stride[kHeight] - s.pad[kHeight].begin);
    const std::int64_t end = std::min(s.in.h, out * s.stride[kHeight] - s.pad[kHeight].begin + s.window[kHeight]);
    rows += std::max<std::int64_t>(0, end - begin);
    seen = std::max(seen, end);
  }
  return rows;
}

double ShareOf(const Launch& whole, const OpTile& tile) {
  const OpShape& s = whole.shape;
  const auto share = [](const AxisRange& range, std::int64_t all) {
    return static_cast<double>(range.Size()) / static_cast<double>(all);
  };
  return share(tile.samples, s.in.n) * share(tile.in_channels, s.in.c) * share(tile.out_channels, s.out.c) *
         share(tile.rows, RowsOf(whole));
}

}  // namespace spillway
