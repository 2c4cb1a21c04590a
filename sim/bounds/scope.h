// What a lower bound is about: which plans it says that none is faster than.
#ifndef SPILLWAY_SIM_BOUNDS_SCOPE_H_
#define SPILLWAY_SIM_BOUNDS_SCOPE_H_

#include <cstdint>
#include <string>

#include "sim/plan/plan.h"

namespace spillway {

// Each holds those before it.
enum class AlgorithmScope : std::uint8_t {
  kUsual,    // the library's choice within the usual grant (CostOptions::workspace_limit), for every op
  kLibrary,  // its choice within any grant
  kAny,      // any algorithm by name
};

enum class PartScope : std::uint8_t {
  kNone,  // every op runs whole
  // Any op with a choice of algorithm may run in any parts along the batch, each with an algorithm within `workspace`.
  kBatch,
  kStreamed,  // any op that has parts may, and may stream its operands
};

struct Scope {
  AlgorithmScope algorithms = AlgorithmScope::kUsual;
  Bytes workspace = 0;   // the most that an op is granted; of kUsual nothing
  int copy_streams = 2;  // up to
  // The smallest pieces that tensors are copied in, each of which may be rounded down; 0: each tensor in one.
  Bytes copy_chunk = 0;
  PartScope parts = PartScope::kNone;
  // Batch parts that the step itself runs in (Plan::accumulate): plans of one number of them are no plans of another.
  std::int64_t accumulate = 1;
  // Every op runs as usual.
  bool LeavesNoChoice() const { return algorithms == AlgorithmScope::kUsual && parts == PartScope::kNone; }
  bool operator==(const Scope&) const = default;
  std::string Text() const;  // "any algorithm, workspaces up to 2.15 GB, 2 copy streams"
};

// Every plan of a step that CheckPlan accepts, without those that divide ops unless `parts` says so. The step of so many
// batch parts is one of its own.
Scope WidestScope(PartScope parts = PartScope::kNone, std::int64_t accumulate = 1);
// The narrowest that holds what the plan decides.
Scope ScopeOf(const Plan& plan);
// The narrowest that holds both. REQUIRES: both are of a step in as many batch parts, or one says nothing of them.
Scope Union(const Scope& a, const Scope& b);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_SCOPE_H_
