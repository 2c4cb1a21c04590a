#include <algorithm>

#include "model/cost/menu.h"
#include "model/cost/op_tiles.h"
#include "sim/bounds/bounds.h"

namespace spillway {

namespace {

PartRate RateOf(const MenuEntry& entry, double samples) {
  const double rate = static_cast<double>(entry.cost.time) / samples;
  return {rate, entry.workspace, rate * entry.cost.copy_slowdown};
}

void AddRates(const Launch& part, const CostModel& costs, int device, std::vector<PartRate>& rates) {
  for (const MenuEntry& entry : costs.Menu(part, device)) {
    rates.push_back(RateOf(entry, static_cast<double>(part.shape.in.n)));
  }
}

// Where not every size is asked for.
std::vector<PartRate> LeastRate(const Launch& launch, const CostModel& costs, int device) {
  const double rate = costs.LeastTime(launch, device) / static_cast<double>(launch.shape.in.n);
  return {{rate, 0, rate}};
}

std::vector<PartRate> NotBeaten(std::vector<PartRate> rates) {
  std::stable_sort(rates.begin(), rates.end(), [](const PartRate& a, const PartRate& b) {
    return a.nanos_per_sample != b.nanos_per_sample ? a.nanos_per_sample < b.nanos_per_sample
                                                    : a.workspace < b.workspace;
  });
  std::vector<PartRate> best;
  for (const PartRate& rate : rates) {
    if (best.empty() || rate.workspace < best.back().workspace) best.push_back(rate);
    best.back().beside_copies = std::min(best.back().beside_copies, rate.beside_copies);
  }
  return best;
}

}  // namespace

// The first part of a sum writes and the others add, which are launches of their own.
std::vector<PartRate> PartRatesOf(const Launch& launch, const CostModel& costs, int device) {
  std::vector<PartRate> rates;
  if (!HasSampleParts(launch)) return rates;
  if (launch.shape.in.n > kMostRatedSamples) return LeastRate(launch, costs, device);
  for (std::int64_t samples = launch.shape.in.n; samples > 0; --samples) {
    const Launch first = PartOf(launch, samples, true), later = PartOf(launch, samples, false);
    AddRates(first, costs, device, rates);
    if (!(later == first)) AddRates(later, costs, device, rates);
    if (samples % 64 == 0) rates = NotBeaten(std::move(rates));
  }
  return NotBeaten(std::move(rates));
}

namespace {

void AddRange(std::vector<AxisRange>& known, const AxisRange& range) {
  const bool alike =
      std::any_of(known.begin(), known.end(), [&](const AxisRange& r) { return r.Size() == range.Size(); });
  if (!alike) known.push_back(range);
}

// Ranges of every size that an axis may be cut into.
std::vector<AxisRange> AxisRangesOf(std::int64_t size, std::int64_t most) {
  std::vector<AxisRange> ranges;
  for (std::int64_t count = 1; count <= most; ++count) {
    AddRange(ranges, EqualRange(size, count, 0));
    AddRange(ranges, EqualRange(size, count, count - 1));
  }
  return ranges;
}

// Tiles of rows that are launched differently: edges pad, and strides may read more rows in one place than in another.
std::vector<OpTile> RowTilesOf(const Launch& launch, std::int64_t most) {
  const std::vector<std::int64_t> one{1};
  std::vector<OpTile> known;
  for (std::int64_t count = 1; count <= most; ++count) {
    for (const OpTile& tile : TilesOf(launch, one, {.rows = count})) {
      const bool alike = std::any_of(known.begin(), known.end(), [&](OpTile other) {
        other.adds = tile.adds;
        return LaunchOfTile(launch, other, false) == LaunchOfTile(launch, tile, false);
      });
      if (!alike) known.push_back(tile);
    }
  }
  return known;
}

}  // namespace

std::vector<PartRate> TileRatesOf(const Launch& launch, const CostModel& costs, const TileCounts& most, int device) {
  const TileCounts counts = Least(most, MostRanges(launch));
  if (!counts.Any() || !HasSampleParts(launch)) return PartRatesOf(launch, costs, device);
  const auto limit = static_cast<std::int64_t>(kMostRatedTiles);
  if (std::max(launch.shape.in.n, counts.rows) * counts.rows > 4 * limit) return LeastRate(launch, costs, device);
  const std::vector<OpTile> rows = RowTilesOf(launch, counts.rows);
  const std::vector<AxisRange> in = AxisRangesOf(launch.shape.in.c, counts.in_channels);
  const std::vector<AxisRange> out = AxisRangesOf(launch.shape.out.c, counts.out_channels);
  if (rows.size() * in.size() * out.size() * static_cast<std::size_t>(launch.shape.in.n) > kMostRatedTiles) {
    return LeastRate(launch, costs, device);
  }
  std::vector<PartRate> rates;
  const auto add = [&](const OpTile& tile, bool padded) {
    const double share = ShareOf(launch, tile) * static_cast<double>(launch.shape.in.n);
    for (const MenuEntry& entry : costs.Menu(LaunchOfTile(launch, tile, padded), device)) {
      rates.push_back(RateOf(entry, share));
    }
  };
  for (OpTile tile : rows) {
    for (tile.samples = {0, launch.shape.in.n}; tile.samples.end > 0; --tile.samples.end) {
      for (const AxisRange& c : in) {
        for (const AxisRange& k : out) {
          tile.in_channels = c;
          tile.out_channels = k;
          for (const bool adds : {false, true}) {
            tile.adds = adds && HasAlgorithms(launch.kind);
            add(tile, false);
            add(tile, true);
          }
        }
      }
      if (rates.size() > kMostRatedTiles) rates = NotBeaten(std::move(rates));
    }
  }
  return NotBeaten(std::move(rates));
}

LaunchPartRates PartRatesOf(const StepTables& tables, const CostModel& costs, PartScope parts,
                            const TileCounts& tiles) {
  LaunchPartRates rates;
  for (const Launch& launch : tables.launches) {
    const bool may = parts == PartScope::kStreamed || (parts == PartScope::kBatch && HasAlgorithms(launch.kind));
    rates.push_back(may ? TileRatesOf(launch, costs, tiles, tables.device) : std::vector<PartRate>{});
  }
  return rates;
}

}  // namespace spillway
