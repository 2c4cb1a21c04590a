#include "sim/program/lower/rematerialize.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/program/lower/kernels.h"
#include "sim/program/lower/lower.h"
#include "sim/program/lower/tensors.h"

namespace spillway {

namespace {

using Touch = StepTables::Touch;

// The last writer of the value to recompute: later in-place writers had not run when it was dropped.
OpId LastWriter(const PlanWalk& w, TensorId tensor, OpId op) {
  const std::uint32_t gap = w.state[tensor].gap;
  return gap == kNoGap ? op - 1 : w.in.Gap(gap).after;
}

bool IsMissingSource(const PlanWalk& w, const Touch& touch, TensorId tensor) {
  return touch.access != Access::kWrite && touch.tensor != tensor && !w.state[touch.tensor].OnDevice();
}

// A tensor brought back for another one's sake stays until a use of its own.
bool StaysFor(const PlanWalk& w, TensorId tensor, OpId op) {
  const std::uint32_t gap = w.state[tensor].gap;
  const OpId next = w.in.tables.uses.Next(tensor, op - 1);
  if (next == kNoOp || !KeepsResult(w, tensor) || w.in.Streams(next, tensor)) return false;
  return gap == kNoGap || w.in.Gap(gap).keep_passed || next < w.in.EndOfUnit(op);
}

// An entry whose results no op uses any more computes all of them in one run: an op in place has no operand for a
// second run.
bool IsComputedAlong(const PlanWalk& w, OpId writer, TensorId tensor) {
  const Recomputation* const entry = w.state.dead_entry;
  return entry != nullptr && writer == entry->run && !w.in.IsUsedFrom(entry->before, tensor);
}

void BringBack(PlanWalk& w, TensorId tensor, OpId op);

// Brings the writer's missing operands; returns those that are temporaries. Transients come last, because other tensors
// may take many kernels.
std::vector<TensorId> BringOperands(PlanWalk& w, OpId writer, TensorId tensor, OpId op) {
  std::vector<TensorId> temporaries;
  for (const bool transients : {false, true}) {
    for (const Touch& touch : w.in.tables.Touches(writer)) {
      const bool transient = w.in.TensorOf(touch.tensor).use == TensorClass::kTransient;
      if (transient != transients || !IsMissingSource(w, touch, tensor)) continue;
      BringBack(w, touch.tensor, op);
      if (!StaysFor(w, touch.tensor, op)) temporaries.push_back(touch.tensor);
    }
  }
  return temporaries;
}

// The kernel will compute the writer's other results, too. Those that do not stay are temporaries.
void AddOtherResults(PlanWalk& w, OpId writer, TensorId tensor, OpId op, std::vector<TensorId>& temporaries) {
  for (const auto& [t, access, last] : w.in.tables.Touches(writer)) {
    if (access == Access::kRead || t == tensor || w.state[t].OnDevice() || StaysFor(w, t, op)) continue;
    (IsComputedAlong(w, writer, t) ? w.state.computed_along : temporaries).push_back(t);
  }
}

// Runs forward op `writer` for `tensor`, then frees the temporaries of this kernel.
void RunWriter(PlanWalk& w, OpId writer, TensorId tensor, OpId op) {
  if (++w.state.recomputations > kRecomputeLimit * w.in.ops()) throw RecomputesWithoutEnd{op};
  std::vector<TensorId> temporaries = BringOperands(w, writer, tensor, op);
  AddOtherResults(w, writer, tensor, op, temporaries);
  const bool host_waits = w.in.plan.runtime.swap_in_waits == SwapInWaits::kBackwardLayer;
  if (host_waits && !w.in.step.IsForward(op)) AwaitSwapIns(w, writer, writer + 1);
  RecomputeOp(w, writer);
  for (const TensorId t : temporaries) FreeTensor(w, t);
}

void RunWriters(PlanWalk& w, TensorId tensor, OpId op) {
  for (const OpId writer : w.in.tables.uses.writers[Index(tensor)]) {
    if (writer <= LastWriter(w, tensor, op)) RunWriter(w, writer, tensor, op);
  }
  w.state[tensor].keep_result = KeepsResult(w, tensor);
}

void BringBack(PlanWalk& w, TensorId tensor, OpId op) {
  const std::uint32_t gap = w.state[tensor].gap;
  if (gap != kNoGap && w.out.needed_at[gap] == kNoOp) w.out.needed_at[gap] = op;
  if (NeedsRecompute(w, tensor)) {
    RunWriters(w, tensor, op);
  } else {
    SwapIn(w, tensor);
  }
}

// A search visits a tensor once, however many ways lead to it: after the first visit, sources that stay are there for
// all.
void VisitSources(PlanWalk& w, TensorId tensor, OpId op) {
  if (std::exchange(w.state[tensor].visited_in, w.state.search) == w.state.search) return;
  for (const OpId writer : w.in.tables.uses.writers[Index(tensor)]) {
    if (writer > LastWriter(w, tensor, op)) break;
    for (const Touch& touch : w.in.tables.Touches(writer)) {
      if (!IsMissingSource(w, touch, tensor)) continue;
      const bool stays = StaysFor(w, touch.tensor, op);
      if (NeedsRecompute(w, touch.tensor)) VisitSources(w, touch.tensor, op);
      if (stays) BringBack(w, touch.tensor, op);
    }
  }
}

// One of the ops that would run for `result` reads the tensor. `seen`: results asked before, since ops in place may lead from
// one to another and back.
bool IsReadFor(const PlanWalk& w, TensorId result, TensorId tensor, const Recomputation& entry,
               std::vector<TensorId>& seen) {
  if (std::find(seen.begin(), seen.end(), result) != seen.end()) return false;
  seen.push_back(result);
  for (const OpId writer : w.in.tables.uses.writers[Index(result)]) {
    if (writer > entry.run) break;
    for (const Touch& touch : w.in.tables.Touches(writer)) {
      if (touch.access == Access::kWrite || touch.tensor == result) continue;
      if (touch.tensor == tensor) return true;
      const bool temporary = !w.state[touch.tensor].OnDevice() && !w.in.IsUsedFrom(entry.before, touch.tensor);
      if (temporary && IsReadFor(w, touch.tensor, tensor, entry, seen)) return true;
    }
  }
  return false;
}

}  // namespace

void MaterializeMissing(PlanWalk& w, TensorId tensor, OpId op) {
  ++w.state.search;
  if (NeedsRecompute(w, tensor)) VisitSources(w, tensor, op);
  BringBack(w, tensor, op);
}

bool Recompute(PlanWalk& w, TensorId tensor, OpId op) {
  ++w.state.search;
  VisitSources(w, tensor, op);
  if (w.state[tensor].OnDevice()) return false;
  RunWriters(w, tensor, op);
  return true;
}

bool NeedsRecompute(const PlanWalk& w, TensorId tensor) {
  const TensorState& at = w.state[tensor];
  return !at.host_valid || (at.gap != kNoGap && w.in.Gap(at.gap).action == GapAction::kRecompute);
}

bool KeepsResult(const PlanWalk& w, TensorId tensor) {
  const std::uint32_t gap = w.state[tensor].gap;
  return gap == kNoGap || w.in.Gap(gap).keep_result;
}

bool Reads(const PlanWalk& w, const Recomputation& entry, TensorId tensor) {
  std::vector<TensorId> seen;
  for (const auto& [result, access, last] : w.in.tables.Touches(entry.run)) {
    if (access != Access::kRead && IsReadFor(w, result, tensor, entry, seen)) return true;
  }
  return false;
}

}  // namespace spillway
