// The tiles of an op as a plan divides it (OpDecision::parts and ::tiles; model/cost/op_tiles.h).
#ifndef SPILLWAY_SIM_PLAN_TILES_H_
#define SPILLWAY_SIM_PLAN_TILES_H_

#include <vector>

#include "sim/plan/plan.h"

namespace spillway {

// In the order in which they run. REQUIRES: the decision, one of `op`, has parts and no mistakes.
std::vector<OpTile> TilesOf(const OpDecision& decision, const Op& op);

// Whether the tiles of its input hold padding: they are copied in, and do not have all rows.
bool HoldsPadding(const OpDecision& decision, const Op& op);

// By part: the different launches that its tiles may come to, run for the first time or again, their choice of algorithm
// left open. REQUIRES: as above.
std::vector<std::vector<Launch>> LaunchesOfParts(const OpDecision& decision, const Op& op);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_TILES_H_
