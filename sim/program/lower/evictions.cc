#include "sim/program/lower/evictions.h"

#include <algorithm>
#include <cassert>

#include "sim/program/lower/rematerialize.h"
#include "sim/program/lower/tensors.h"

namespace spillway {

namespace {

void OpenGap(PlanWalk& w, std::uint32_t g) {
  const GapDecision& gap = w.in.Gap(g);
  TensorState& at = w.state[gap.tensor];
  at.gap = g;
  if (SectionedTensor* const sections = w.state.SectionsOf(gap.tensor)) {
    OpenGapOfSections(w, *sections, g);
  } else {
    if (gap.after == kNoOp || w.in.Streams(gap.after, gap.tensor)) return;  // it is on the host
    assert(at.OnDevice() && "a gap starts after a use");
  }
  if (gap.leaves_after == kNoOp) return Evict(w, gap);
  at.keep_result = true;
  if (gap.action == GapAction::kSwap && gap.out_after <= gap.after) CopyOut(w, gap);
}

bool StaysPastLastUse(const PlanWalk& w, const TensorState& at) {
  return at.gap != kNoGap && w.in.Gap(at.gap).IsOpen();
}

// An entry's result has stayed only if the entry was not passed over, and no later entry said otherwise.
void EndStays(PlanWalk& w, OpId op, const std::vector<PendingEviction>& evictions) {
  for (const PendingEviction& eviction : evictions) {
    OpId& leaves_after = w.state[eviction.tensor].leaves_after;
    if (eviction.gap == kNoGap && leaves_after != op) continue;
    leaves_after = kNoOp;
    w.state.evictions.push_back(eviction);
  }
  EvictUnread(w, w.in.entries_before[op + 1]);
}

}  // namespace

void OpenGaps(PlanWalk& w, OpId op) {
  for (const std::uint32_t gap : w.in.gaps_after[op]) OpenGap(w, gap);
}

void StartCopiesOut(PlanWalk& w, OpId op) {
  for (const std::uint32_t gap : w.in.copies_out_after[op]) CopyOut(w, w.in.Gap(gap));
}

void EvictAfter(PlanWalk& w, OpId op) {
  OpenGaps(w, op);
  for (const StepTables::Touch& touch : w.in.tables.Touches(op)) {
    const TensorState& at = w.state[touch.tensor];
    const bool over = touch.last && !StaysPastLastUse(w, at);
    if (at.OnDevice() && (over || !at.keep_result)) FreeTensor(w, touch.tensor);
  }
  const auto found = w.in.stays_until.find(op);
  if (found != w.in.stays_until.end()) EndStays(w, op, found->second);
}

void EvictUnread(PlanWalk& w, std::span<const std::uint32_t> entries) {
  std::erase_if(w.state.evictions, [&](const PendingEviction& eviction) {
    const bool read = std::any_of(entries.begin(), entries.end(), [&](std::uint32_t entry) {
      return Reads(w, w.in.plan.recompute[entry], eviction.tensor);
    });
    if (read) return false;
    if (eviction.gap != kNoGap) {
      Evict(w, w.in.Gap(eviction.gap));
    } else {
      FreeTensor(w, eviction.tensor);
    }
    return true;
  });
}

}  // namespace spillway
