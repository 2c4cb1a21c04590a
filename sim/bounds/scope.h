// The scope of a lower bound: the set of plans for which the bound holds.
#ifndef SPILLWAY_SIM_BOUNDS_SCOPE_H_
#define SPILLWAY_SIM_BOUNDS_SCOPE_H_

#include <cstdint>
#include <string>

#include "sim/plan/plan.h"

namespace spillway {

// Each value includes the values before it.
enum class AlgorithmScope : std::uint8_t {
  // The library's choice within the usual grant (CostOptions::workspace_limit) for every op, or what is free of that.
  kUsual,
  kLibrary,  // the library's choice within any grant
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
  Bytes workspace = 0;   // the most bytes that an op is granted; not used with kUsual
  int copy_streams = 2;  // at most; 0: only inputs are copied, as in plans that only keep and recompute
  // The size of the smallest pieces that tensors are copied in; the time of each piece may be rounded down. 0: each
  // tensor is one piece. Sections count as such pieces (kLeastCopyChunk).
  Bytes copy_chunk = 0;
  PartScope parts = PartScope::kNone;
  // The most ranges that parts are cut into along channels and rows (OpDecision::tiles); not used with
  // PartScope::kNone.
  TileCounts tiles{};
  // The number of micro-batches of the step (Plan::accumulate). A plan with another number is in no such scope.
  std::int64_t accumulate = 1;
  // true: plans in unified memory are included; then the fields on memory and copies do not restrict them.
  bool managed = false;
  // true: parameters and states may lie on the host between steps (kNextStep), and then take no room before their first
  // use and behind their last one.
  bool states_leave = false;
  // True if every op runs as usual.
  bool LeavesNoChoice() const { return algorithms == AlgorithmScope::kUsual && parts == PartScope::kNone; }
  bool operator==(const Scope&) const = default;
  std::string Text() const;  // "any algorithm, workspaces up to 2.15 GB, 2 copy streams"
};

// All plans of a step that CheckPlan accepts and that keep parameters and states on the device, with that number of
// micro-batches and that kind of memory. Plans that divide ops are included as `parts` says; `tiled` also includes plans
// that cut parts further. `states_leave` includes plans with gaps that end in the next step.
Scope WidestScope(PartScope parts = PartScope::kNone, std::int64_t accumulate = 1, bool tiled = false,
                  bool managed = false, bool states_leave = false);
// The widest scope with the parts, tiles, micro-batches, memory and states of this one.
Scope WidestLike(const Scope& scope);
// The narrowest scope that includes the plan.
Scope ScopeOf(const Plan& plan);
// As above, for a plan that was chosen from `from`. If neither `from` nor the plan copies anything but inputs, the
// scope has no copy streams.
Scope ScopeOf(const Plan& plan, const Scope& from);
// The narrowest scope that includes both. REQUIRES: both have the same number of micro-batches, or one leaves it open.
Scope Union(const Scope& a, const Scope& b);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_SCOPE_H_
