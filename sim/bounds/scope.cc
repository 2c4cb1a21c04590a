#include "sim/bounds/scope.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway {

std::string Scope::Text() const {
  std::string streams = fmt::format("{} copy stream{}", copy_streams, copy_streams == 1 ? "" : "s");
  if (copy_chunk > 0) streams += fmt::format(", copies in pieces of {} or more", FormatBytes(copy_chunk));
  if (parts != PartScope::kNone) streams += ", parts along the batch";
  if (parts == PartScope::kStreamed) streams += ", operands streamed";
  if (accumulate > 1) streams += fmt::format(", the step in {} batch parts", accumulate);
  if (algorithms == AlgorithmScope::kUsual) return "the library's algorithms as usual, " + streams;
  return fmt::format("{}, {}, {}", algorithms == AlgorithmScope::kAny ? "any algorithm" : "the library's algorithms",
                     workspace >= kMostWorkspace ? "any workspace" : "workspaces up to " + FormatBytes(workspace),
                     streams);
}

Scope WidestScope(PartScope parts, std::int64_t accumulate) {
  return {AlgorithmScope::kAny, kMostWorkspace, 2, kLeastCopyChunk, parts, accumulate};
}

Scope ScopeOf(const Plan& plan) {
  Scope scope{
      .copy_streams = plan.runtime.copy_streams, .copy_chunk = plan.runtime.copy_chunk, .accumulate = plan.accumulate};
  const auto hold = [&scope](std::int32_t algorithm, Bytes workspace) {
    const AlgorithmScope needed = algorithm == 0 ? AlgorithmScope::kLibrary : AlgorithmScope::kAny;
    scope.algorithms = std::max(scope.algorithms, needed);
    scope.workspace = std::max(scope.workspace, workspace);
  };
  for (const OpDecision& decision : plan.ops) {
    if (decision.parts.empty()) hold(decision.algorithm, decision.workspace);
    for (const OpPart& part : decision.parts) hold(part.algorithm, part.workspace);
    if (decision.parts.size() > 1) scope.parts = std::max(scope.parts, PartScope::kBatch);
    if (!decision.streamed.empty()) scope.parts = PartScope::kStreamed;
  }
  return scope;
}

Scope Union(const Scope& a, const Scope& b) {
  const bool both = a.copy_chunk > 0 && b.copy_chunk > 0;
  return {std::max(a.algorithms, b.algorithms),
          std::max(a.workspace, b.workspace),
          std::max(a.copy_streams, b.copy_streams),
          both ? std::min(a.copy_chunk, b.copy_chunk) : std::max(a.copy_chunk, b.copy_chunk),
          std::max(a.parts, b.parts),
          std::max(a.accumulate, b.accumulate)};
}

}  // namespace spillway
