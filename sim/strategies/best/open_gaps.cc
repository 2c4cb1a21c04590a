// Gaps with an open end: values that stay past their last use because a recomputation reads them later.
//
// Example: f2 reads X and makes Y. X is last read by b1, and Y is dropped before b1 and read by b0. If X stays until Y
// is recomputed from it, X need not be recomputed. Y is recomputed before b0, or right after b1.
#include <algorithm>
#include <set>

#include "hw/text/lists.h"
#include "sim/plan/carried.h"
#include "sim/strategies/best/gap_tables.h"

namespace spillway {

namespace {

// What is read by the ops that make `tensor` up to op `last`, directly or by way of values without a use from `until` on.
class Sources {
 public:
  Sources(const StepTables& tables, OpId until) : tables_(tables), until_(until) {}

  const std::set<TensorId>& Of(TensorId tensor, OpId last) {
    for (const OpId writer : tables_.uses.writers[Index(tensor)]) {
      if (writer > last) break;
      for (const TensorId t : tables_.step->ops[Index(writer)].reads) {
        const TensorTraits& traits = tables_.step->tensors[Index(t)].Traits();
        if (t == tensor || !traits.may_move || traits.on_host || tables_.last_use[Index(t)] >= until_ ||
            !found_.insert(t).second)
          continue;
        Of(t, until_ - 1);
      }
    }
    return found_;
  }

 private:
  const StepTables& tables_;
  const OpId until_;
  std::set<TensorId> found_;
};

}  // namespace

void GapTables::AddOpenGaps(const StepFacts& facts) {
  const auto closed = static_cast<std::int32_t>(gaps.size());
  for (std::int32_t g = 0; g < closed; ++g) {
    if (gaps[Index(g)].may_recompute) AddOpenGapsFor(facts, g);
  }
}

// Until the gap's tensor is recomputed where the gap ends, or right after the last use. A tensor that is as large as the
// served one need not stay from before the served one leaves.
void GapTables::AddOpenGapsFor(const StepFacts& facts, std::int32_t served) {
  const StepTables& step = facts.tables();
  const Gap gap = gaps[Index(served)];
  OpId end = gap.before;
  if (step.step->IsBackward(end)) {
    while (end > 0 && ops[Index(end) - 1].unit_end == ops[Index(gap.before)].unit_end) --end;
  }
  if (end <= gap.after) return;
  Sources read(step, end);
  for (const TensorId t : read.Of(gap.tensor, gap.after)) {
    const OpId last = step.last_use[Index(t)];
    const bool within = last > gap.after, smaller = step.bytes[Index(t)] < gap.bytes;
    if (within && last + 1 < end) AddOpenGap(facts, t, served, last + 1);
    if (within || smaller) AddOpenGap(facts, t, served, end);
  }
}

void GapTables::AddOpenGap(const StepFacts& facts, TensorId tensor, std::int32_t served, OpId until) {
  Gap gap{.tensor = tensor, .after = facts.tables().last_use[Index(tensor)]};
  if (!MayCarryGap(carried_, *facts.tables().step, gap.after, kNoOp)) return;
  gap.value = ValueOf(facts, tensor);
  gap.bytes = facts.tables().bytes[Index(tensor)];
  gap.may_recompute = true;
  gap.serves = served;
  gap.until = until;
  gaps.push_back(gap);
}

}  // namespace spillway
