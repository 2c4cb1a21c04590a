#include <span>

#include "sim/program/lower/evictions.h"
#include "sim/program/lower/rematerialize.h"

namespace spillway {

namespace {

// The tensor's gap is recomputed, and open when the entry runs.
bool IsInGap(const PlanWalk& w, const Recomputation& entry, TensorId tensor) {
  const std::uint32_t gap = w.state[tensor].gap;
  if (gap == kNoGap || w.in.Gap(gap).action != GapAction::kRecompute) return false;
  return entry.before <= w.in.Gap(gap).before;
}

// Returns whether the tensor was about to leave.
bool CancelEviction(WalkState& state, TensorId tensor) {
  return std::erase_if(state.evictions, [tensor](const PendingEviction& one) { return one.tensor == tensor; }) > 0;
}

// The op overwrites what it reads, and has done so: there is nothing for a second run to read.
bool HasRunInPlace(const PlanWalk& w, OpId run) {
  for (const auto& [t, access, last] : w.in.tables.Touches(run)) {
    if (access == Access::kReadWrite && w.state[t].OnDevice()) return true;
  }
  return false;
}

void ComputeResult(PlanWalk& w, const Recomputation& entry, TensorId tensor) {
  TensorState& at = w.state[tensor];
  // This entry decides from now on about a tensor that was about to leave, or that another result's kernel computed.
  if (!CancelEviction(w.state, tensor) && std::erase(w.state.computed_along, tensor) == 0) {
    if (at.OnDevice() || HasRunInPlace(w, entry.run) || !Recompute(w, tensor, entry.before)) return;
  }
  const bool ends_gap = at.gap != kNoGap && entry.before == w.in.Gap(at.gap).before;
  at.keep_result = !ends_gap || KeepsResult(w, tensor);
  if (ends_gap) return;
  at.leaves_after = entry.leaves_after;
  const bool stays = entry.leaves_after != kNoOp || (entry.keep && w.in.IsUsedFrom(entry.before, tensor));
  if (!stays) w.state.evictions.push_back({tensor});
}

void RunEntry(PlanWalk& w, const Recomputation& entry) {
  bool any = false;
  for (const auto& [t, access, last] : w.in.tables.Touches(entry.run)) {
    if (access == Access::kRead || !IsInGap(w, entry, t)) continue;
    any = true;
    ComputeResult(w, entry, t);
  }
  if (any) return;
  w.state.dead_entry = &entry;
  for (const auto& [t, access, last] : w.in.tables.Touches(entry.run)) {
    if (access != Access::kRead && !w.in.IsUsedFrom(entry.before, t)) ComputeResult(w, entry, t);
  }
  w.state.dead_entry = nullptr;
}

}  // namespace

// Entries before one op are few: looking back and forth among them is cheap.
void RunEntriesBefore(PlanWalk& w, OpId op) {
  const std::span<const std::uint32_t> entries = w.in.entries_before[op];
  for (std::size_t i = 0; i < entries.size(); ++i) {
    RunEntry(w, w.in.plan.recompute[entries[i]]);
    EvictUnread(w, entries.subspan(i + 1));
  }
}

}  // namespace spillway
