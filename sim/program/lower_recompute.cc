// Recomputation: which tensors a unit of backward (BackwardUnits) needs back that nobody copies, and the forward ops
// that make them again.
#include <algorithm>
#include <utility>

#include "sim/program/lower_walk.h"

namespace spillway {

bool LowerWalk::StartsUnit(OpId op) const {
  return step_.IsBackward(op) && (op == 0 || unit_[Index(op)] != unit_[Index(op - 1)]);
}

bool LowerWalk::EndsUnit(OpId op) const {
  return op + 1 == static_cast<OpId>(step_.ops.size()) || unit_[Index(op + 1)] != unit_[Index(op)];
}

// Frameworks fetch what a unit saved before any op of its backward runs. Recomputing between those ops would need its
// memory beside the gradients that the first of them has written.
void LowerWalk::RecomputeForUnit(OpId first) {
  const OpId end = EndOfUnit(first);
  for (OpId op = first; op < end; ++op) {
    for (const Touch& touch : tables_.Touches(op)) {
      const std::uint32_t gap = at_[Index(touch.tensor)].gap;
      const bool dropped = gap != kNoGap && plan_.gaps[gap].action == GapAction::kRecompute;
      if (dropped && touch.access != Access::kWrite) Materialise(touch.tensor, first);
    }
  }
}

// The schedule's own recomputations. Those listed before one op are few, so that looking back and forth among them is cheap.
void LowerWalk::RunEntries(OpId op) {
  const std::span<const std::uint32_t> entries = by_entry_[op];
  for (std::size_t i = 0; i < entries.size(); ++i) {
    RunEntry(plan_.recompute[entries[i]]);
    FreeUnread(entries.subspan(i + 1));
  }
}

void LowerWalk::RunEntry(const Recomputation& entry) {
  bool in_gap = false;
  for (const auto& [t, access, last] : tables_.Touches(entry.run)) {
    const std::uint32_t gap = at_[Index(t)].gap;
    if (access == Access::kRead || gap == kNoGap || plan_.gaps[gap].action != GapAction::kRecompute) continue;
    if (entry.before > plan_.gaps[gap].before) continue;
    in_gap = true;
    MakeAgain(t, entry);
  }
  if (in_gap) return;
  making_dead_ = &entry;
  for (const auto& [t, access, last] : tables_.Touches(entry.run)) {
    if (access != Access::kRead && !IsUsedFrom(entry.before, t)) MakeAgain(t, entry);
  }
  making_dead_ = nullptr;
}

// Where the results of an entry's op are all dead, one run makes them all: in place there is nothing to run it from again.
bool LowerWalk::IsMadeWith(OpId writer, TensorId tensor) const {
  return making_dead_ != nullptr && writer == making_dead_->run && !IsUsedFrom(making_dead_->before, tensor);
}

// What is about to leave stays as the entry says.
void LowerWalk::MakeAgain(TensorId tensor, const Recomputation& entry) {
  Residence& at = at_[Index(tensor)];
  const bool leaving = std::erase_if(leaving_, [tensor](const Leaving& one) { return one.tensor == tensor; }) > 0;
  if (!leaving && std::erase(made_with_, tensor) == 0) {
    if (IsThere(tensor)) return;
    BringSources(tensor, entry.before);
    if (IsThere(tensor)) return;  // a source of its own source
    Recompute(tensor, entry.before);
  }
  const bool ends_gap = at.gap != kNoGap && entry.before == plan_.gaps[at.gap].before;
  at.keeps_result = !ends_gap || KeepsResult(tensor);
  if (ends_gap) return;
  at.leaves = entry.leaves_after;
  const bool stays = entry.leaves_after != kNoOp || (entry.keep && IsUsedFrom(entry.before, tensor));
  if (!stays) leaving_.push_back({tensor});
}

// Whether any of the ops that the entry runs again reads the tensor, or one that gives what is only passed on the way.
bool LowerWalk::ReadsAgain(const Recomputation& entry, TensorId tensor) const {
  for (const auto& [result, access, last] : tables_.Touches(entry.run)) {
    if (access != Access::kRead && IsMadeFrom(result, tensor, entry)) return true;
  }
  return false;
}

bool LowerWalk::IsMadeFrom(TensorId result, TensorId tensor, const Recomputation& entry) const {
  for (const OpId writer : tables_.uses.writers[Index(result)]) {
    if (writer > entry.run) break;
    for (const Touch& touch : tables_.Touches(writer)) {
      if (touch.access == Access::kWrite || touch.tensor == result) continue;
      if (touch.tensor == tensor) return true;
      const bool passes = !IsThere(touch.tensor) && !IsUsedFrom(entry.before, touch.tensor);
      if (passes && IsMadeFrom(touch.tensor, tensor, entry)) return true;
    }
  }
  return false;
}

void LowerWalk::Materialise(TensorId tensor, OpId op) {
  if (IsThere(tensor)) return;
  if (NeedsRecompute(tensor)) BringSources(tensor, op);
  BringBack(tensor, op);
}

// What stays comes first, as far back as need be, so that nothing that is here in passing waits beside the
// recomputation of something else.
void LowerWalk::BringSources(TensorId tensor, OpId op) {
  if (walking_++ == 0) ++walk_;
  WalkSources(tensor, op);
  --walking_;
}

void LowerWalk::WalkSources(TensorId tensor, OpId op) {
  if (std::exchange(seen_in_[Index(tensor)], walk_) == walk_) return;
  for (const OpId writer : tables_.uses.writers[Index(tensor)]) {
    if (writer > LastWriter(tensor, op)) break;
    for (const auto& [t, access, last] : tables_.Touches(writer)) {
      if (access == Access::kWrite || t == tensor || IsThere(t)) continue;
      if (StaysFor(t, op)) {
        Materialise(t, op);
      } else if (NeedsRecompute(t)) {
        WalkSources(t, op);
      }
    }
  }
}

void LowerWalk::BringBack(TensorId tensor, OpId op) {
  const std::uint32_t gap = at_[Index(tensor)].gap;
  if (gap != kNoGap && needed_at_[gap] == kNoOp) needed_at_[gap] = op;
  if (NeedsRecompute(tensor)) {
    Recompute(tensor, op);
  } else {
    SwapIn(tensor);
  }
}

bool LowerWalk::NeedsRecompute(TensorId tensor) const {
  const Residence& at = at_[Index(tensor)];
  return !at.host_valid || (at.gap != kNoGap && plan_.gaps[at.gap].action == GapAction::kRecompute);
}

void LowerWalk::Recompute(TensorId tensor, OpId op) {
  for (const OpId writer : tables_.uses.writers[Index(tensor)]) {
    if (writer <= LastWriter(tensor, op)) RunWriterAgain(writer, tensor, op);
  }
  at_[Index(tensor)].keeps_result = KeepsResult(tensor);
}

// Of those to run again; later in-place writers have not run yet.
OpId LowerWalk::LastWriter(TensorId tensor, OpId op) const {
  const std::uint32_t gap = at_[Index(tensor)].gap;
  return gap == kNoGap ? op - 1 : plan_.gaps[gap].after;
}

bool LowerWalk::KeepsResult(TensorId tensor) const {
  const std::uint32_t gap = at_[Index(tensor)].gap;
  return gap == kNoGap || plan_.gaps[gap].keep_result;
}

void LowerWalk::RunWriterAgain(OpId writer, TensorId tensor, OpId op) {
  if (++again_ > kRecomputeLimit * static_cast<std::int64_t>(step_.ops.size())) throw RecomputesWithoutEnd{op};
  const std::span<const Touch> touches = tables_.Touches(writer);
  std::vector<TensorId> passing;                 // here for this kernel only
  for (const bool transients : {false, true}) {  // a map may be a long way back
    for (const auto& [t, access, last] : touches) {
      if (access == Access::kWrite || t == tensor || IsThere(t)) continue;
      if ((step_.tensors[Index(t)].use == TensorClass::kTransient) != transients) continue;
      BringBack(t, op);
      if (!StaysFor(t, op)) passing.push_back(t);
    }
  }
  for (const auto& [t, access, last] : touches) {
    if (access == Access::kRead || t == tensor || IsThere(t) || StaysFor(t, op)) continue;
    (IsMadeWith(writer, t) ? made_with_ : passing).push_back(t);
  }
  const bool awaited = plan_.runtime.swap_in_waits == SwapInWaits::kBackwardLayer && !step_.IsForward(op);
  if (awaited) AwaitSwapIns(writer, writer + 1);
  Launch(writer, true);
  for (const TensorId t : passing) FreeOnDevice(t);
}

bool LowerWalk::StaysFor(TensorId tensor, OpId op) const {
  const std::uint32_t gap = at_[Index(tensor)].gap;
  const OpId next = tables_.uses.Next(tensor, op - 1);
  if (next == kNoOp || !KeepsResult(tensor) || Streams(next, tensor)) return false;
  return gap == kNoGap || plan_.gaps[gap].keep_passed || next < EndOfUnit(op);
}

// The first op behind those of `op`'s unit.
OpId LowerWalk::EndOfUnit(OpId op) const {
  while (!EndsUnit(op)) ++op;
  return op + 1;
}

}  // namespace spillway
