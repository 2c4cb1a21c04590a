#include "sim/bounds/scope.h"

#include <fmt/format.h>

#include <algorithm>

namespace spillway {

std::string Scope::Text() const {
  const std::string streams = fmt::format("{} copy stream{}", copy_streams, copy_streams == 1 ? "" : "s");
  if (algorithms == AlgorithmScope::kUsual) return "the library's algorithms as usual, " + streams;
  return fmt::format("{}, workspaces up to {}, {}",
                     algorithms == AlgorithmScope::kAny ? "any algorithm" : "the library's algorithms",
                     FormatBytes(workspace), streams);
}

Scope WidestScope() { return {AlgorithmScope::kAny, kMostWorkspace, 2}; }

Scope ScopeOf(const Plan& plan) {
  Scope scope{.copy_streams = plan.runtime.copy_streams};
  for (const OpDecision& decision : plan.ops) {
    const AlgorithmScope needed = decision.algorithm == 0 ? AlgorithmScope::kLibrary : AlgorithmScope::kAny;
    scope.algorithms = std::max(scope.algorithms, needed);
    scope.workspace = std::max(scope.workspace, decision.workspace);
  }
  return scope;
}

Scope Union(const Scope& a, const Scope& b) {
  return {std::max(a.algorithms, b.algorithms), std::max(a.workspace, b.workspace),
          std::max(a.copy_streams, b.copy_streams)};
}

}  // namespace spillway
