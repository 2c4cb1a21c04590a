// What becomes of tensors behind an op: copies out that may start, gaps that begin, last uses, and what had stayed in its
// gap until then.
#include <algorithm>
#include <cassert>

#include "sim/program/lower_walk.h"

namespace spillway {

void LowerWalk::FindLeaving() {
  for (std::uint32_t g = 0; g < plan_.gaps.size(); ++g) {
    const GapDecision& gap = plan_.gaps[g];
    if (gap.leaves_after == kNoOp) continue;
    const bool stays = StaysForGroup(gap.leaves_after, gap.before);
    if (!stays) leaves_behind_[gap.leaves_after].push_back({gap.tensor, g});
  }
  for (const Recomputation& entry : plan_.recompute) {
    if (entry.leaves_after == kNoOp) continue;
    for (const TensorId t : step_.ops[Index(entry.run)].writes) {
      const bool stays = StaysForGroup(entry.leaves_after, tables_.uses.Next(t, entry.leaves_after));
      if (!stays) leaves_behind_[entry.leaves_after].push_back({t});
    }
  }
}

// Whether the next use belongs to the group of the op behind which a tensor may leave: groups find it there throughout.
bool LowerWalk::StaysForGroup(OpId leaves_after, OpId next) const {
  return next != kNoOp && next < choice_.EndOfGroup(leaves_after);
}

void LowerWalk::StartCopiesOut(OpId op) {
  for (const std::uint32_t g : by_out_[op]) {
    if (Sections* const sections = SectionsOf(plan_.gaps[g].tensor)) {
      CopyOutSections(plan_.gaps[g], *sections);
      continue;
    }
    if (at_[Index(plan_.gaps[g].tensor)].device != kNoBuffer) CopyOut(plan_.gaps[g].tensor);
  }
}

void LowerWalk::AfterOp(OpId op) {
  for (const std::uint32_t g : by_after_[op]) OpenGap(g);
  for (const Touch& touch : tables_.Touches(op)) LeaveOp(touch);
  if (const auto found = leaves_behind_.find(op); found != leaves_behind_.end()) LeaveBehind(op, found->second);
}

// What becomes of an operand after the op, if no gap starts here.
void LowerWalk::LeaveOp(const Touch& touch) {
  const Residence& at = at_[Index(touch.tensor)];
  if (at.device != kNoBuffer && (touch.last || !at.keeps_result)) FreeOnDevice(touch.tensor);
}

void LowerWalk::OpenGap(std::uint32_t g) {
  const GapDecision& gap = plan_.gaps[g];
  Residence& at = at_[Index(gap.tensor)];
  at.gap = g;
  Sections* const sections = SectionsOf(gap.tensor);
  if (sections != nullptr) {
    NoteGap(g, *sections);
  } else if (gap.after == kNoOp || Streams(gap.after, gap.tensor)) {
    return;  // it is on the host
  }
  assert((sections != nullptr || at.device != kNoBuffer) && "a gap starts after a use");
  if (gap.leaves_after == kNoOp) return LeaveGap(g);
  at.keeps_result = true;
  if (gap.action != GapAction::kSwap || gap.out_after > gap.after) return;
  if (sections != nullptr) return CopyOutSections(gap, *sections);
  CopyOut(gap.tensor);
}

void LowerWalk::LeaveGap(std::uint32_t g) {
  const GapDecision& gap = plan_.gaps[g];
  Residence& at = at_[Index(gap.tensor)];
  if (Sections* const sections = SectionsOf(gap.tensor)) return LeaveSections(g, *sections);
  if (gap.action == GapAction::kRecompute || step_.tensors[Index(gap.tensor)].Traits().on_host) {
    FreeOnDevice(gap.tensor);
    return;
  }
  // A copy that began before is over by then, as the plan has it: compute waits for it and frees. The stream that copies
  // out would come to it behind the copies that were issued in the meantime.
  const bool began_before = gap.leaves_after != kNoOp && gap.out_after < gap.leaves_after;
  CopyOut(gap.tensor);
  FreeBuffer(at.device, began_before ? kComputeStream : out_stream_);
  at.device = kNoBuffer;
}

// What entries passed over stays as it was to.
void LowerWalk::LeaveBehind(OpId op, const std::vector<Leaving>& leaving) {
  for (const Leaving& one : leaving) {
    OpId& leaves = at_[Index(one.tensor)].leaves;
    if (one.gap == kNoGap && leaves != op) continue;
    leaves = kNoOp;
    leaving_.push_back(one);
  }
  FreeUnread(by_entry_[op + 1]);
}

// Of what is about to leave, all that none of the entries reads.
void LowerWalk::FreeUnread(std::span<const std::uint32_t> entries) {
  std::erase_if(leaving_, [&](const Leaving& one) {
    const bool read = std::any_of(entries.begin(), entries.end(),
                                  [&](std::uint32_t entry) { return ReadsAgain(plan_.recompute[entry], one.tensor); });
    if (read) return false;
    if (one.gap != kNoGap) {
      LeaveGap(one.gap);
    } else {
      FreeOnDevice(one.tensor);
    }
    return true;
  });
}

}  // namespace spillway
