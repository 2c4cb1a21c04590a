#include "sim/bounds/scope.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace spillway {

namespace {

constexpr std::int64_t kAnyCount = std::numeric_limits<std::int64_t>::max();
constexpr TileCounts kAnyTiles{kAnyCount, kAnyCount, kAnyCount};

// ", up to 2 by 4 ranges of channels, 8 of rows"
std::string TilesText(const TileCounts& tiles) {
  if (tiles == kAnyTiles) return ", along channels and rows";
  return fmt::format(", up to {} by {} ranges of channels, {} of rows", tiles.in_channels, tiles.out_channels,
                     tiles.rows);
}

}  // namespace

std::string Scope::Text() const {
  std::string streams = fmt::format("{} copy stream{}", copy_streams, copy_streams == 1 ? "" : "s");
  if (copy_streams == 0) streams = "nothing copied";
  if (copy_chunk > 0) streams += fmt::format(", copies in pieces of {} or more", FormatBytes(copy_chunk));
  if (parts != PartScope::kNone) streams += ", parts along the batch";
  if (tiles.Any()) streams += TilesText(tiles);
  if (parts == PartScope::kStreamed) streams += ", operands streamed";
  if (accumulate > 1) streams += fmt::format(", the step in {} batch parts", accumulate);
  if (managed) streams += ", unified memory";
  if (states_leave) streams += ", parameters and states on the host between steps";
  if (algorithms == AlgorithmScope::kUsual) return "the library's algorithms as usual, " + streams;
  return fmt::format("{}, {}, {}", algorithms == AlgorithmScope::kAny ? "any algorithm" : "the library's algorithms",
                     workspace >= kMostWorkspace ? "any workspace" : "workspaces up to " + FormatBytes(workspace),
                     streams);
}

Scope WidestScope(PartScope parts, std::int64_t accumulate, bool tiled, bool managed, bool states_leave) {
  return {.algorithms = AlgorithmScope::kAny,
          .workspace = kMostWorkspace,
          .copy_streams = 2,
          .copy_chunk = kLeastCopyChunk,
          .parts = parts,
          .tiles = tiled ? kAnyTiles : TileCounts{},
          .accumulate = accumulate,
          .managed = managed,
          .states_leave = states_leave};
}

Scope WidestLike(const Scope& scope) {
  return WidestScope(scope.parts, scope.accumulate, scope.tiles.Any(), scope.managed, scope.states_leave);
}

Scope ScopeOf(const Plan& plan) {
  Scope scope{
      .copy_streams = plan.runtime.copy_streams, .copy_chunk = plan.runtime.copy_chunk, .accumulate = plan.accumulate};
  scope.managed = IsManaged(plan.runtime.memory);
  const auto hold = [&scope](std::int32_t algorithm, Bytes workspace) {
    const AlgorithmScope needed = algorithm == 0 ? AlgorithmScope::kLibrary : AlgorithmScope::kAny;
    scope.algorithms = std::max(scope.algorithms, needed);
    scope.workspace = std::max(scope.workspace, workspace);
  };
  for (const OpDecision& decision : plan.ops) {
    if (decision.parts.empty()) hold(decision.algorithm, decision.workspace);
    for (const OpPart& part : decision.parts) hold(part.algorithm, part.workspace);
    for (const OpAgain& way : decision.again) hold(way.algorithm, way.workspace);
    if (decision.parts.size() > 1 || decision.tiles.Any()) scope.parts = std::max(scope.parts, PartScope::kBatch);
    if (!decision.streamed.empty()) scope.parts = PartScope::kStreamed;
    scope.tiles = Most(scope.tiles, decision.tiles);
  }
  const bool sections =
      std::any_of(plan.gaps.begin(), plan.gaps.end(), [](const GapDecision& gap) { return !gap.samples.IsWhole(); });
  if (sections) scope.copy_chunk = kLeastCopyChunk;
  scope.states_leave =
      std::any_of(plan.gaps.begin(), plan.gaps.end(), [](const GapDecision& gap) { return gap.EndsInNextStep(); });
  return scope;
}

Scope ScopeOf(const Plan& plan, const Scope& from) {
  Scope scope = ScopeOf(plan);
  const bool copies = scope.parts == PartScope::kStreamed ||
                      std::any_of(plan.gaps.begin(), plan.gaps.end(),
                                  [](const GapDecision& gap) { return gap.action == GapAction::kSwap; });
  if (from.copy_streams == 0 && !copies) scope.copy_streams = 0;
  return scope;
}

Scope Union(const Scope& a, const Scope& b) {
  const bool both = a.copy_chunk > 0 && b.copy_chunk > 0;
  return {std::max(a.algorithms, b.algorithms),
          std::max(a.workspace, b.workspace),
          std::max(a.copy_streams, b.copy_streams),
          both ? std::min(a.copy_chunk, b.copy_chunk) : std::max(a.copy_chunk, b.copy_chunk),
          std::max(a.parts, b.parts),
          Most(a.tiles, b.tiles),
          std::max(a.accumulate, b.accumulate),
          a.managed || b.managed,
          a.states_leave || b.states_leave};
}

}  // namespace spillway
