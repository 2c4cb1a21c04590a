#include "sim/strategies/ooc_cudnn/tile_search.h"

#include <algorithm>
#include <cassert>

#include "hw/text/lists.h"
#include "model/kernels/kernel_form.h"
#include "sim/strategies/shared/streaming.h"

namespace spillway::ooc_cudnn {

namespace {

std::int64_t Ceil(std::int64_t size, std::int64_t count) { return (size + count - 1) / count; }

std::int64_t RowsOf(const Launch& whole) {
  return HasAlgorithms(whole.kind) && whole.pass == Pass::kBackwardData ? whole.shape.in.h : whole.shape.out.h;
}

// A range as large as the first of `count`, between two others where there are as many: those at the ends have padding.
AxisRange InnerRange(std::int64_t size, std::int64_t count) {
  const std::int64_t each = Ceil(size, count);
  return 2 * each < size ? AxisRange{each, 2 * each} : AxisRange{0, each};
}

}  // namespace

std::vector<std::int64_t> UsefulCounts(std::int64_t size, std::int64_t most) {
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count <= std::min(size, most); ++count) {
    if (counts.empty() || Ceil(size, count) < Ceil(size, counts.back())) counts.push_back(count);
  }
  return counts;
}

TileSearch::TileSearch(const Problem& problem, const StepTables& tables, const OpDecision& decision)
    : problem_(problem),
      step_(*problem.step),
      op_(step_.ops[Index(decision.op)]),
      whole_(LaunchOf(op_)),
      reversed_(HasAlgorithms(op_.kind) && op_.pass != Pass::kForward),
      pads_(Contains(decision.streamed, PaddedOperand(op_))),
      one_stream_(problem.use_runtime && problem.runtime.copy_streams == 1) {
  for (const StepTables::Touch& touch : tables.Touches(decision.op)) {
    if (!Contains(decision.streamed, touch.tensor)) continue;
    operands_.push_back({.tensor = touch.tensor, .access = touch.access});
    FindLoops(operands_.back());
  }
}

bool TileSearch::Pads(const Steps& steps) const { return pads_ && steps.tiles.rows > 1; }

// Those that a finer division makes its tile smaller by.
void TileSearch::FindLoops(Operand& operand) const {
  const TileCounts most = MostRanges(whole_);
  const auto box = [&](const TileCounts& counts) {
    const Steps steps{1, counts};
    return BoxOfTile(step_, op_, operand.tensor, TileOf(steps), Pads(steps));
  };
  const Box all = box({});
  const bool of_in = box({.in_channels = most.in_channels}) != all;
  const bool of_out = box({.out_channels = most.out_channels}) != all;
  operand.outer = reversed_ ? of_in : of_out;
  operand.inner = reversed_ ? of_out : of_in;
  operand.rows = box({.rows = most.rows}) != all;
}

// As TilesOf goes through them: the result's channels, its rows, and innermost what is summed over.
TileSearch::Loops TileSearch::LoopsOf(const Steps& steps) const {
  const auto times = [](std::int64_t size, std::int64_t count) {
    return static_cast<double>(size) / static_cast<double>(Ceil(size, count));
  };
  const double in = times(whole_.shape.in.c, steps.tiles.in_channels);
  const double out = times(whole_.shape.out.c, steps.tiles.out_channels);
  const double rows = times(RowsOf(whole_), steps.tiles.rows);
  return reversed_ ? Loops{in, rows, out} : Loops{out, rows, in};
}

OpTile TileSearch::TileOf(const Steps& steps) const {
  const OpShape& s = whole_.shape;
  const bool places = op_.pass == Pass::kBackwardFilter || op_.pass == Pass::kBackwardBias;
  return {.part = 0,
          .samples = {0, Ceil(s.in.n, steps.samples)},
          .in_channels = {0, Ceil(s.in.c, steps.tiles.in_channels)},
          .out_channels = {0, Ceil(s.out.c, steps.tiles.out_channels)},
          .rows = InnerRange(RowsOf(whole_), steps.tiles.rows),
          .adds = places ? steps.All() > 1 : LoopsOf(steps).inner > 1};
}

TileSearch::Copies TileSearch::CopiesOf(const Steps& steps, const OpTile& tile, double tiles) const {
  const Loops loops = LoopsOf(steps);
  Copies copies;
  for (const Operand& operand : operands_) {
    const Tensor& tensor = step_.tensors[Index(operand.tensor)];
    const Box all = WholeOf(tensor.shape), box = BoxOfTile(step_, op_, operand.tensor, tile, Pads(steps));
    const BoxRuns runs = RunsOf(tensor, all, box, Intersection(all, box));
    // Loops that leave it where it is, from the innermost one on.
    const bool inner = operand.inner && loops.inner > 1, rows = operand.rows && loops.rows > 1;
    const bool outer = operand.outer && loops.outer > 1;
    double kernels = inner ? 1 : loops.inner;
    if (!inner && !rows) kernels *= loops.rows;
    if (!inner && !rows && !outer) kernels *= loops.outer;
    const auto time = [&](Direction direction) {
      return static_cast<double>(problem_.costs->Copy(runs.Total(), direction, problem_.device, runs.Rows()).time);
    };
    const double times = tiles / kernels;
    const double in = operand.access != Access::kWrite ? time(Direction::kHostToDevice) : 0;
    const double out = operand.access != Access::kRead ? time(Direction::kDeviceToHost) : 0;
    copies.in += in, copies.all_in += in * times;
    copies.out += out, copies.all_out += out * times;
    const bool one = steps.samples == 1 && !inner && !rows && !outer;
    const int deep = operand.access == Access::kReadWrite ? 3 : 2;  // TileDepth of kTilesDeep
    copies.held += (one ? 1 : deep) * RoundToUnit(BytesOf(tensor, box));
  }
  return copies;
}

double TileSearch::Longest(const Copies& copies, double run, double tiles) const {
  if (one_stream_) {
    return std::max(copies.all_in + copies.all_out + run, copies.in + run * tiles + copies.out);
  }
  return std::max(
      {copies.all_in + run + copies.out, copies.in + run * tiles + copies.out, copies.in + run + copies.all_out});
}

double TileSearch::TimeOf(const Steps& steps, Bytes room, double limit) const {
  const OpTile tile = TileOf(steps);
  const double tiles = 1 / ShareOf(whole_, tile);
  const Copies copies = CopiesOf(steps, tile, tiles);
  if (copies.held > room || Longest(copies, 0, tiles) >= limit) return kTooLong;
  const Cost kernel = problem_.costs->Kernel(LaunchOfTile(whole_, tile, Pads(steps)), problem_.device);
  if (copies.held + kernel.workspace > room) return kTooLong;
  const double time = Longest(copies, static_cast<double>(kernel.time), tiles);
  return time < limit ? time : kTooLong;
}

std::optional<Steps> TileSearch::Fastest(Bytes room, std::int64_t most) const {
  const TileCounts ranges = MostRanges(whole_);
  const OpShape& s = whole_.shape;
  const auto rows = UsefulCounts(RowsOf(whole_), ranges.rows), in = UsefulCounts(s.in.c, ranges.in_channels),
             out = UsefulCounts(s.out.c, ranges.out_channels);
  std::optional<Steps> best;
  double least = kTooLong;
  for (const std::int64_t n : UsefulCounts(s.in.n, most)) {
    for (const std::int64_t r : rows) {
      if (n * r > most) break;
      for (const std::int64_t c : in) {
        if (n * r * c > most) break;
        for (const std::int64_t k : out) {
          const Steps steps{n, {.in_channels = c, .out_channels = k, .rows = r}};
          if (steps.All() > most) break;
          const double time = TimeOf(steps, room, least);
          if (time < least) least = time, best = steps;
        }
      }
    }
  }
  return best;
}

std::optional<Steps> TileSearch::Find(Bytes room) const {
  const std::optional<Steps> few = Fastest(room, kEnoughTiles);
  return few ? few : Fastest(room, kMostTilesPlanned);
}

OpDecision Divided(const Problem& problem, OpDecision decision, const Steps& steps) {
  const Op& op = problem.step->ops[Index(decision.op)];
  const std::int64_t batch = op.shape.in.n;
  decision.parts.clear();
  for (std::int64_t k = 0; k < steps.samples; ++k) {
    decision.parts.push_back({.samples = EqualRange(batch, steps.samples, k).Size()});
  }
  decision.tiles = steps.tiles;
  GrantTiles(problem, op, decision);
  return decision;
}

}  // namespace spillway::ooc_cudnn
