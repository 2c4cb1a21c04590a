#include <algorithm>

#include "hw/text/lists.h"
#include "sim/plan/parts.h"

namespace spillway {

std::vector<OpTile> TilesOf(const OpDecision& decision, const Op& op) {
  std::vector<std::int64_t> samples;
  samples.reserve(decision.parts.size());
  for (const OpPart& part : decision.parts) samples.push_back(part.samples);
  return TilesOf(LaunchOf(op), samples, decision.tiles);
}

bool HoldsPadding(const OpDecision& decision, const Op& op) {
  return decision.tiles.rows > 1 && Contains(decision.streamed, PaddedOperand(op));
}

std::vector<std::vector<Launch>> LaunchesOfParts(const OpDecision& decision, const Op& op) {
  const Launch whole = LaunchOf(op);
  const bool padded = HoldsPadding(decision, op);
  std::vector<std::vector<Launch>> launches(decision.parts.size());
  for (const OpTile& tile : TilesOf(decision, op)) {
    std::vector<Launch>& known = launches[tile.part];
    const auto add = [&](const Launch& launch) {
      if (!Contains(known, launch)) known.push_back(launch);
    };
    add(LaunchOfTile(whole, tile, false));
    if (padded) add(LaunchOfTile(whole, tile, true));
  }
  return launches;
}

}  // namespace spillway
