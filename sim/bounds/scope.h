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
  int copy_streams = 2;  // up to; 0: nothing is copied but inputs, as plans that only keep and recompute
  // The smallest pieces that tensors are copied in, each of which may be rounded down; 0: each tensor in one. Sections,
  // which may leave while others stay, are such pieces (kLeastCopyChunk): all that a bound would say of plans that move
  // whole tensors only is what integers say, and none of these bounds does, their programs being relaxed.
  Bytes copy_chunk = 0;
  PartScope parts = PartScope::kNone;
  // Into how many ranges parts are cut along channels and rows (OpDecision::tiles), at most; of PartScope::kNone nothing.
  TileCounts tiles{};
  // Batch parts that the step itself runs in (Plan::accumulate): plans of one number of them are no plans of another.
  std::int64_t accumulate = 1;
  // Unified memory, too, where nothing that this says of memory and copies holds. Plans of arenas and pools are not asked
  // about it.
  bool managed = false;
  // Every op runs as usual.
  bool LeavesNoChoice() const { return algorithms == AlgorithmScope::kUsual && parts == PartScope::kNone; }
  bool operator==(const Scope&) const = default;
  std::string Text() const;  // "any algorithm, workspaces up to 2.15 GB, 2 copy streams"
};

// Every plan of a step that CheckPlan accepts, without those that divide ops unless `parts` says so. The step of so many
// batch parts is one of its own, and so is unified memory. `tiled`: also those that cut parts further.
Scope WidestScope(PartScope parts = PartScope::kNone, std::int64_t accumulate = 1, bool tiled = false,
                  bool managed = false);
// The narrowest that holds what the plan decides.
Scope ScopeOf(const Plan& plan);
// The same of a plan that was chosen from `from`: where that copies nothing and the plan neither, no stream counts.
Scope ScopeOf(const Plan& plan, const Scope& from);
// The narrowest that holds both. REQUIRES: both are of a step in as many batch parts, or one says nothing of them.
Scope Union(const Scope& a, const Scope& b);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_SCOPE_H_
