#include "sim/strategies/accumulate/repeat_plan.h"

#include <algorithm>

namespace spillway {

namespace {

// One part of the step, by the ids of the step of one part.
class Part {
 public:
  Part(const AccumulatedStep& all, std::size_t index) : ops_(all.ops[index]), tensors_(all.tensors[index]) {}

  // Of an update that runs in the last part only, what comes behind it.
  OpId OpOf(OpId op) const {
    while (op != kNoOp && ops_[Index(op)] == kNoOp) ++op;
    return op == kNoOp ? kNoOp : ops_[Index(op)];
  }
  TensorId TensorOf(TensorId tensor) const { return tensors_[Index(tensor)]; }
  OpId first_op() const { return ops_.front(); }

  void Add(const Plan& plan, Plan& to) const {
    for (GapDecision gap : plan.gaps) {
      gap.tensor = TensorOf(gap.tensor);
      for (OpId* op : {&gap.after, &gap.before, &gap.out_after, &gap.in_at}) *op = OpOf(*op);
      to.gaps.push_back(std::move(gap));
    }
    for (OpDecision decision : plan.ops) {
      const bool runs = ops_[Index(decision.op)] != kNoOp;
      decision.op = ops_[Index(decision.op)];
      if (runs) to.ops.push_back(std::move(decision));
    }
    for (Recomputation entry : plan.recompute) {
      entry.before = OpOf(entry.before);
      entry.run = OpOf(entry.run);
      to.recompute.push_back(entry);
    }
  }

 private:
  const std::vector<OpId>& ops_;
  const std::vector<TensorId>& tensors_;
};

// The first of the ops of one layer that end where `end` begins.
OpId LastLayerBefore(const TrainingStep& step, OpId end) {
  OpId first = end - 1;
  while (first > 0 && !step.IsForward(first - 1) && step.ops[Index(first - 1)].layer == step.ops[Index(first)].layer) {
    --first;
  }
  return first;
}

void FetchInput(const TrainingStep& step, const Uses& uses, TensorId input, OpId begin, Plan& to) {
  if (uses.of[Index(input)].empty()) return;
  to.gaps.push_back({.tensor = input,
                     .after = kNoOp,
                     .before = uses.of[Index(input)].front(),
                     .in_at = LastLayerBefore(step, begin),
                     .reason = "the next part's input, fetched in time"});
}

}  // namespace

Plan RepeatedPlan(const Plan& plan, const AccumulatedStep& all) {
  Plan repeated = plan;
  repeated.batch = all.step.batch;
  repeated.accumulate = all.step.parts;
  repeated.gaps.clear();
  repeated.ops.clear();
  repeated.recompute.clear();
  const Uses uses(all.step);
  for (std::size_t k = 0; k < all.ops.size(); ++k) {
    const Part part(all, k);
    for (std::size_t t = 0; k > 0 && t < all.tensors[k].size(); ++t) {
      const TensorId tensor = all.tensors[k][t];
      const bool decided = std::any_of(plan.gaps.begin(), plan.gaps.end(), [t](const GapDecision& gap) {
        return gap.tensor == static_cast<TensorId>(t) && gap.after == kNoOp;
      });
      if (!decided && all.step.tensors[Index(tensor)].Traits().on_host) {
        FetchInput(all.step, uses, tensor, part.first_op(), repeated);
      }
    }
    part.Add(plan, repeated);
  }
  return repeated;
}

}  // namespace spillway
