// The published law of one call in tiles, and the searches over it.
#include <algorithm>
#include <array>

#include "model/kernels/kernel_form.h"
#include "sim/plan/plan.h"
#include "sim/strategies/ooc_cudnn/ooc_cudnn_model.h"

namespace spillway::ooc_cudnn {

namespace {

constexpr double kMostElements = 2147483648.0;  // of a tile
constexpr double kElement = 4;

// The sizes of one tile: all rounded up, or all rounded down.
struct TileSize {
  double samples = 1, in_channels = 1, out_channels = 1, rows = 1;
};

std::int64_t RowsOf(const Launch& whole) {
  const bool data = HasAlgorithms(whole.kind) && whole.pass == Pass::kBackwardData;
  return data ? whole.shape.in.h : whole.shape.out.h;
}

TileSize SizeOf(const Launch& whole, const Steps& steps, bool up) {
  const auto size = [up](std::int64_t all, std::int64_t count) {
    return static_cast<double>(up ? (all + count - 1) / count : all / count);
  };
  const OpShape& s = whole.shape;
  return {size(s.in.n, steps.samples), size(s.in.c, steps.tiles.in_channels), size(s.out.c, steps.tiles.out_channels),
          size(RowsOf(whole), steps.tiles.rows)};
}

// Elements of a convolution's tiles on both sides; a tile of some rows has those that its windows read besides.
struct Elements {
  double in = 0, out = 0;
};

Elements ElementsOf(const Launch& whole, const Steps& steps, const TileSize& tile) {
  const OpShape& s = whole.shape;
  const auto window = static_cast<double>(s.Extent(1)), stride = static_cast<double>(s.stride[1]);
  double in_rows = static_cast<double>(s.in.h), out_rows = static_cast<double>(s.out.h);
  if (steps.tiles.rows > 1 && whole.pass == Pass::kBackwardData) {
    in_rows = tile.rows;
    out_rows = std::min(out_rows, (tile.rows + window - 2) / stride + 1);
  } else if (steps.tiles.rows > 1) {
    out_rows = tile.rows;
    in_rows = (tile.rows - 1) * stride + window;
  }
  return {tile.samples * tile.in_channels * in_rows * static_cast<double>(s.in.d * s.in.w),
          tile.samples * tile.out_channels * out_rows * static_cast<double>(s.out.d * s.out.w)};
}

// Multiply-adds times 4 of a tile, output channels rounded up to 32.
double WorkOfTile(const Launch& whole, const Steps& steps, const TileSize& tile) {
  Launch launch = whole;
  launch.shape.in.n = launch.shape.out.n = static_cast<std::int64_t>(tile.samples);
  launch.shape.in.c = static_cast<std::int64_t>(tile.in_channels);
  launch.shape.out.c = static_cast<std::int64_t>(tile.out_channels);
  if (steps.tiles.rows > 1) {
    const double share = tile.rows / static_cast<double>(RowsOf(whole));
    return WorkOf(launch) * share;
  }
  return WorkOf(launch);
}

struct Stages {
  double pre = 0, pre2 = 0, run = 0, off = 0;
};

Stages StagesOf(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, const Steps& steps, bool up) {
  const TileSize tile = SizeOf(call.whole, steps, up);
  const Elements elements = ElementsOf(call.whole, steps, tile);
  const double in = call.input_on_host ? copy.At(kElement * elements.in) : 0;
  const double out = call.output_on_host ? copy.At(kElement * elements.out) : 0;
  const double run = kernel.At(WorkOfTile(call.whole, steps, tile));
  switch (call.whole.pass) {
    case Pass::kForward:
      return {.pre = in, .run = run, .off = out};
    case Pass::kBackwardData:
      return {.pre = out, .run = run, .off = in};
    default:  // the gradient of the weights stays on the device
      return {.pre = in, .pre2 = out, .run = run};
  }
}

double TimeOfConvolution(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, const Steps& steps) {
  const Stages t = StagesOf(call, copy, kernel, steps, true), last = StagesOf(call, copy, kernel, steps, false);
  const auto all = static_cast<double>(steps.All());
  if (call.whole.pass == Pass::kBackwardFilter) {
    const auto outputs = static_cast<double>(steps.tiles.out_channels);
    return std::max(t.pre + t.pre2 + all * t.run + t.off, all / outputs * (t.pre + outputs * t.pre2) + t.run + t.off);
  }
  const bool forward = call.whole.pass == Pass::kForward;
  const auto summed = static_cast<double>(forward ? steps.tiles.in_channels : steps.tiles.out_channels);
  const double inner = t.pre + t.run + (summed - 1) * std::max(t.pre, t.run);
  if (inner < t.off) return inner + all / summed * t.off;
  if (t.pre < t.run) return t.pre + all * t.run + last.off;
  return all * t.pre + last.run + last.off;
}

double ShareOfTile(const Call& call, const Steps& steps, const TileSize& tile) {
  const OpShape& s = call.whole.shape;
  double share = tile.out_channels / static_cast<double>(s.out.c);
  if (steps.tiles.rows > 1) share *= tile.rows / static_cast<double>(RowsOf(call.whole));
  return share * tile.samples;
}

double TimeOfOther(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, const Steps& steps) {
  const double samples = ShareOfTile(call, steps, SizeOf(call.whole, steps, true));  // in whole ones
  const double pre = copy.weight * call.sample_in * samples + copy.bias * call.copies_in;
  const double off = copy.weight * call.sample_out * samples + copy.bias * call.copies_out;
  const double run = kernel.At(WorkOf(call.whole) / static_cast<double>(call.whole.shape.in.n) * samples);
  return pre + run + off + static_cast<double>(steps.All() - 1) * std::max({pre, run, off});
}

// Where steps are counted, and how far.
struct Axis {
  std::int64_t* count;
  std::int64_t most;
};

std::array<Axis, 4> AxesOf(const Call& call, Steps& steps) {
  const TileCounts most = MostRanges(call.whole);
  return {{{&steps.samples, call.whole.shape.in.n},
           {&steps.tiles.rows, most.rows},
           {&steps.tiles.in_channels, most.in_channels},
           {&steps.tiles.out_channels, most.out_channels}}};
}

bool MayBe(const Call& call, const Steps& steps, Bytes free) {
  return steps.All() <= kMostTilesPlanned && Fits(call, steps, free);
}

}  // namespace

double TimeOf(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, const Steps& steps) {
  return HasAlgorithms(call.whole.kind) ? TimeOfConvolution(call, copy, kernel, steps)
                                        : TimeOfOther(call, copy, kernel, steps);
}

bool Fits(const Call& call, const Steps& steps, Bytes free) {
  const TileSize tile = SizeOf(call.whole, steps, true);
  double bytes = 0, most = 0;
  if (HasAlgorithms(call.whole.kind)) {
    const Elements elements = ElementsOf(call.whole, steps, tile);
    bytes = kElement * ((call.input_on_host ? elements.in : 0) + (call.output_on_host ? elements.out : 0));
    most = std::max(elements.in, elements.out);
  } else {
    bytes = (call.sample_in + call.sample_out) * ShareOfTile(call, steps, tile);
    most = bytes / kElement;
  }
  return bytes < static_cast<double>(free) / 3 && most < kMostElements;
}

Steps GreedySteps(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, Bytes free) {
  Steps best;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    Steps steps = best;
    const auto [count, most] = AxesOf(call, steps)[axis];
    double least = -1;
    for (*count = 1; *count <= most; ++*count) {
      if (!MayBe(call, steps, free)) continue;
      const double time = TimeOf(call, copy, kernel, steps);
      if (least >= 0 && time >= least) continue;
      least = time;
      best = steps;
    }
    if (least >= 0) continue;
    *count = std::clamp<std::int64_t>(kMostTilesPlanned / best.All(), 1, most);
    best = steps;
  }
  return best;
}

Steps ExhaustiveSteps(const Call& call, const LinearLaw& copy, const LinearLaw& kernel, Bytes free) {
  const TileCounts most = MostRanges(call.whole);
  Steps best{call.whole.shape.in.n, most}, steps;
  double least = -1;
  for (steps.samples = 1; steps.samples <= call.whole.shape.in.n; ++steps.samples) {
    for (steps.tiles.rows = 1; steps.tiles.rows <= most.rows; ++steps.tiles.rows) {
      for (steps.tiles.in_channels = 1; steps.tiles.in_channels <= most.in_channels; ++steps.tiles.in_channels) {
        for (steps.tiles.out_channels = 1; steps.tiles.out_channels <= most.out_channels; ++steps.tiles.out_channels) {
          if (!MayBe(call, steps, free)) continue;
          const double time = TimeOf(call, copy, kernel, steps);
          if (least >= 0 && time >= least) continue;
          least = time;
          best = steps;
        }
      }
    }
  }
  return best;
}

}  // namespace spillway::ooc_cudnn
