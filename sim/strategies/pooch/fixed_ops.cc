#include "sim/strategies/pooch/fixed_ops.h"

#include <algorithm>

#include "hw/text/lists.h"
#include "sim/plan/parts.h"

namespace spillway {

FixedOps::FixedOps(const Problem& problem, const StepTables& tables, const Plan& plan)
    : problem_(problem),
      step_(*problem.step),
      tables_(tables),
      plan_(plan),
      held_(step_.tensors.size(), false),
      starts_(step_.tensors.size(), false) {
  for (const OpDecision& decision : plan.ops) {
    decisions_[decision.op] = &decision;
    costs_[decision.op] = CostInParts(decision);
  }
  FindHeld();
  for (const GapDecision& gap : plan.gaps) {
    if (Holds(gap.tensor)) gaps_.push_back(gap);
  }
  for (TensorId t = 0; Index(t) < held_.size(); ++t) {
    if (Holds(t)) Follow(t);
  }
}

void FixedOps::FindHeld() {
  for (const OpDecision& decision : plan_.ops) {
    for (const TensorId t : decision.streamed) held_[Index(t)] = true;
  }
  for (const GapDecision& gap : plan_.gaps) {
    const MapGap usual =
        Contains(step_.maps, gap.tensor) ? ForwardBackwardGap(step_, tables_.uses, gap.tensor) : MapGap{};
    if (gap.after != usual.after || gap.before != usual.before) held_[Index(gap.tensor)] = true;
  }
}

bool FixedOps::Streams(OpId op, TensorId tensor) const {
  const auto found = decisions_.find(op);
  return found != decisions_.end() && Contains(found->second->streamed, tensor);
}

// From use to use.
void FixedOps::Follow(TensorId tensor) {
  const std::vector<OpId>& uses = tables_.uses.of[Index(tensor)];
  const auto away = [&](OpId after, OpId before) {
    return Streams(before, tensor) || std::any_of(gaps_.begin(), gaps_.end(), [&](const GapDecision& gap) {
             return gap.tensor == tensor && gap.after == after && gap.before == before;
           });
  };
  if (uses.empty()) return;
  const Op& first = step_.ops[Index(uses.front())];
  const bool written = Contains(first.writes, tensor) && !Contains(first.reads, tensor);
  bool there = starts_[Index(tensor)] = !written && !away(kNoOp, uses.front());
  for (std::size_t k = 0; k < uses.size(); ++k) {
    if (Streams(uses[k], tensor)) continue;
    if (!there) arrives_.insert({uses[k], tensor});
    there = k + 1 < uses.size() && !away(uses[k], uses[k + 1]);
    if (!there) leaves_.insert({uses[k], tensor});
  }
}

Cost FixedOps::CostInParts(const OpDecision& decision) const {
  const CostModel& costs = *problem_.costs;
  const Op& op = step_.ops[Index(decision.op)];
  const Launch whole = LaunchOf(op);
  const bool padded = HoldsPadding(decision, op);
  Nanos kernels = 0, in = 0, out = 0;
  for (const OpTile& tile : TilesOf(decision, op)) {
    kernels += costs.Kernel(LaunchOfTile(whole, tile, padded), problem_.device).time;
  }
  Bytes streamed = 0;
  for (const StepTables::Touch& touch : tables_.Touches(decision.op)) {
    if (!Contains(decision.streamed, touch.tensor)) continue;
    const Bytes bytes = step_.tensors[Index(touch.tensor)].bytes;
    streamed += tables_.bytes[Index(touch.tensor)];
    if (touch.access != Access::kWrite) in += costs.Copy(bytes, Direction::kHostToDevice, problem_.device).time;
    if (touch.access != Access::kRead) out += costs.Copy(bytes, Direction::kDeviceToHost, problem_.device).time;
  }
  const Bytes usual = tables_.launches[tables_.launch[Index(decision.op)]].workspace;
  const std::vector<OpDecision> one{decision};
  Cost cost;
  cost.time = std::max({kernels, in, out});
  cost.workspace = tables_.WorkingSets(one)[Index(decision.op)] - tables_.WorkingSet(decision.op) + usual + streamed;
  return cost;
}

const Cost* FixedOps::CostOf(OpId op) const {
  const auto found = costs_.find(op);
  return found == costs_.end() ? nullptr : &found->second;
}

bool FixedOps::MayRunAgain(TensorId tensor) const {
  const std::vector<OpId>& writers = tables_.uses.writers[Index(tensor)];
  return std::all_of(writers.begin(), writers.end(), [&](OpId writer) {
    if (decisions_.contains(writer)) return false;
    const std::vector<TensorId>& reads = step_.ops[Index(writer)].reads;
    return std::all_of(reads.begin(), reads.end(), [&](TensorId read) {
      if (read == tensor) return true;
      if (Holds(read)) return false;
      return step_.tensors[Index(read)].use != TensorClass::kTransient || MayRunAgain(read);
    });
  });
}

}  // namespace spillway
