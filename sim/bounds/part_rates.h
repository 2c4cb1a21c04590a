// How fast an op can be in parts along the batch, whatever its parts, and in tiles of these.
//
// A part of b samples takes t(b, w) at least, within a workspace of w bytes. So parts that are all n samples of an op take
// at least n times the least of t(b, w) / b over all b: a bound of every division, without looking at any. Tiles likewise:
// each takes its time for its share of the op's volume (ShareOf), and the shares of all add up to 1.
#ifndef SPILLWAY_SIM_BOUNDS_PART_RATES_H_
#define SPILLWAY_SIM_BOUNDS_PART_RATES_H_

#include <vector>

#include "model/cost/cost_model.h"
#include "sim/bounds/scope.h"
#include "sim/program/step_tables.h"

namespace spillway {

struct PartRate {
  double nanos_per_sample = 0;
  Bytes workspace = 0;
  double beside_copies = 0;  // nanoseconds per sample while copies run all along, as OpWay has it
};

constexpr std::int64_t kMostRatedSamples = 2048;
// Those that no other one beats in both, the fastest first; empty: the launch has no parts. Asks for the menu of every
// size of a part, some 30 us each. Of more samples than kMostRatedSamples none is asked for, and parts take what no kernels
// are below (CostModel::LeastTime): a low bound, but a true one.
std::vector<PartRate> PartRatesOf(const Launch& launch, const CostModel& costs, int device = 0);
// The same of tiles: up to as many ranges of each axis. Asks for every size of a tile, with and without its padding; where
// those are more than kMostRatedTiles none is asked for, as above.
constexpr std::size_t kMostRatedTiles = 4096;
std::vector<PartRate> TileRatesOf(const Launch& launch, const CostModel& costs, const TileCounts& most, int device = 0);

// By row of StepTables::launches: of those that may have parts in the scope.
using LaunchPartRates = std::vector<std::vector<PartRate>>;
LaunchPartRates PartRatesOf(const StepTables& tables, const CostModel& costs, PartScope parts,
                            const TileCounts& tiles = {});

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_PART_RATES_H_
