#include "sim/program/lower/grants.h"

#include <algorithm>
#include <utility>

namespace spillway {

namespace {

// The row of the launch table that has the launch; a new one where none has.
std::uint32_t RowOf(const Launch& launch, std::vector<Launch>& launches) {
  const auto known = std::find(launches.begin(), launches.end(), launch);
  const auto row = static_cast<std::uint32_t>(known - launches.begin());
  if (known == launches.end()) launches.push_back(launch);
  return row;
}

// Tiles of the ops [first, end), as many as each would have by itself.
Bytes TilesOf(const PlanWalk& w, OpId first, OpId end) {
  Bytes tiles = 0;
  for (const OpDecision& decision : w.in.plan.ops) {
    if (decision.op >= first && decision.op < end) tiles += w.in.tables.TilesOfOp(decision);
  }
  return tiles;
}

}  // namespace

CutLaunch CutToFree(PlanWalk& w, const OpLaunch& launch, Bytes tiles) {
  const bool held = !w.state.workspaces.empty();
  const Bytes free = w.in.room - w.state.live.now - tiles;
  if (held || launch.workspace == 0 || RoundToUnit(launch.workspace) <= free) return {{}, launch.workspace};
  CutLaunch cut{.parts = {launch.parts.begin(), launch.parts.end()}};
  for (PartLaunch& part : cut.parts) {
    Launch called = w.out.program.launches[part.launch];
    if (called.algorithm == 0 && RoundToUnit(called.workspace) > free) {
      called.workspace = std::min(called.workspace, w.in.tables.TakenWithin(called, free));
      if (!w.out.items.InTrial()) part.launch = RowOf(called, w.out.program.launches);
    }
    cut.workspace = std::max(cut.workspace, called.workspace);
  }
  return cut;
}

Bytes CutGrants(PlanWalk& w, OpId first, OpId end) {
  Bytes most = 0;
  for (OpId op = first; op < end; ++op) most = std::max(most, w.in.launches.FirstRun(op).workspace);
  if (most == 0 || w.in.room >= kEndlessBytes) return most;
  const Bytes tiles = w.in.launches.Streams(first) || end > first + 1 ? TilesOf(w, first, end) : 0;
  most = 0;
  for (OpId op = first; op < end; ++op) {
    CutLaunch cut = CutToFree(w, w.in.launches.FirstRun(op), tiles);
    most = std::max(most, cut.workspace);
    if (!cut.parts.empty()) w.state.cut[op] = std::move(cut);
  }
  return most;
}

}  // namespace spillway
