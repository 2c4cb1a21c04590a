// How one op that streams is divided, searched over batch, channels and rows together by what the machine's own costs say of
// tiles, where ooc_cuDNN goes one axis after the other by linear laws (ooc_cudnn_model.h).
//
// A kernel costs what its tile's launch does, a copy what its bytes in their rows do; an operand whose tile stays from one
// kernel to the next comes or goes once. Tiles are taken for as large as the first one, and for as many as that makes of the
// op. A division takes the longest of the way in, the kernels and the way out (one copy stream: both ways together), and
// once what the others take for one tile. Neither what both ways take from each other counts, nor the host.
#ifndef SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_TILE_SEARCH_H_
#define SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_TILE_SEARCH_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sim/planning/strategy.h"
#include "sim/program/step_tables.h"
#include "sim/strategies/ooc_cudnn/ooc_cudnn_model.h"

namespace spillway::ooc_cudnn {

// An op is not cut into more tiles than these where so many fit: what more of them could hide is less than what they cost, in
// launches and here.
constexpr std::int64_t kEnoughTiles = 64;

// The numbers of ranges that an axis of `size` places may be cut into, ascending, each the least that makes its largest range
// as small as it is: any other makes more tiles of no smaller size.
std::vector<std::int64_t> UsefulCounts(std::int64_t size, std::int64_t most);

class TileSearch {
 public:
  // What the op decides of operands counts, its parts do not. REQUIRES: `decision` streams something; all outlive it.
  TileSearch(const Problem& problem, const StepTables& tables, const OpDecision& decision);

  static constexpr double kTooLong = std::numeric_limits<double>::infinity();
  // Nanoseconds; kTooLong where tiles of the parts that have to be there at once and the workspace take more than `room`
  // bytes, or where it is certainly not below `limit`.
  double TimeOf(const Steps& steps, Bytes room, double limit = kTooLong) const;
  // The fastest of all divisions into up to `most` tiles; nothing: no tiles fit.
  std::optional<Steps> Fastest(Bytes room, std::int64_t most) const;
  // Of those into kEnoughTiles; where none fits, into kMostTilesPlanned.
  std::optional<Steps> Find(Bytes room) const;
  const Launch& whole() const { return whole_; }

 private:
  struct Operand {
    TensorId tensor = kNoTensor;
    Access access = Access::kRead;
    bool outer = false, rows = false, inner = false;  // which loops change its tile
  };
  struct Loops {  // how many times as large as a tile all is; 1: not divided
    double outer = 1, rows = 1, inner = 1;
  };
  struct Copies {
    double in = 0, out = 0, all_in = 0, all_out = 0;  // of a tile, of all
    Bytes held = 0;                                   // tiles that are there at once
  };
  Loops LoopsOf(const Steps& steps) const;
  OpTile TileOf(const Steps& steps) const;
  Copies CopiesOf(const Steps& steps, const OpTile& tile, double tiles) const;
  double Longest(const Copies& copies, double run, double tiles) const;
  bool Pads(const Steps& steps) const;
  void FindLoops(Operand& operand) const;

  const Problem& problem_;
  const TrainingStep& step_;
  const Op& op_;
  const Launch whole_;
  const bool reversed_;  // its result is on the side of its input
  bool pads_ = false;
  const bool one_stream_;
  std::vector<Operand> operands_;
};

// The decision in such parts and tiles, granted what they ask for.
OpDecision Divided(const Problem& problem, OpDecision decision, const Steps& steps);

}  // namespace spillway::ooc_cudnn

#endif  // SPILLWAY_SIM_STRATEGIES_OOC_CUDNN_TILE_SEARCH_H_
