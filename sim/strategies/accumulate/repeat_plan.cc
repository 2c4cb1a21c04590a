#include "sim/strategies/accumulate/repeat_plan.h"

#include <algorithm>
#include <cassert>

#include "hw/text/lists.h"

namespace spillway {

namespace {

// One part of the step, by the ids of the step of one part.
class Part {
 public:
  Part(const AccumulatedStep& all, const Uses& uses, std::size_t index)
      : step_(all.step), uses_(uses), ops_(all.ops[index]), tensors_(all.tensors[index]) {}

  OpId OpOf(OpId op) const {
    assert((op == kNoOp || ops_[Index(op)] != kNoOp) && "updates run in the last part only");
    return op == kNoOp ? kNoOp : ops_[Index(op)];
  }
  TensorId TensorOf(TensorId tensor) const { return tensors_[Index(tensor)]; }
  OpId first_op() const { return ops_.front(); }

  void Add(const Plan& plan, Plan& to) const {
    for (const GapDecision& gap : plan.gaps) {
      to.gaps.push_back(step_.tensors[Index(TensorOf(gap.tensor))].Traits().of_parameters ? OfParameters(gap)
                                                                                          : Within(gap));
    }
    for (OpDecision decision : plan.ops) {
      const bool runs = ops_[Index(decision.op)] != kNoOp;
      // Additions may have come between the two.
      decision.fused = decision.fused && ops_[Index(decision.op)] == ops_[Index(decision.op) - 1] + 1;
      decision.op = ops_[Index(decision.op)];
      for (TensorId& tensor : decision.streamed) tensor = TensorOf(tensor);
      if (runs) to.ops.push_back(std::move(decision));
    }
    for (Recomputation entry : plan.recompute) {
      entry.before = OpOf(entry.before);
      entry.run = OpOf(entry.run);
      entry.leaves_after = OpOf(entry.leaves_after);
      to.recompute.push_back(entry);
    }
  }

 private:
  // All uses of the tensor are in the part.
  GapDecision Within(GapDecision gap) const {
    gap.tensor = TensorOf(gap.tensor);
    for (OpId* op : {&gap.after, &gap.before, &gap.out_after, &gap.in_at, &gap.leaves_after}) *op = OpOf(*op);
    return gap;
  }

  // A gradient that the parts add up: from where this part is done with it to whoever is next, in whatever part.
  GapDecision OfParameters(GapDecision gap) const {
    gap.tensor = TensorOf(gap.tensor);
    gap.after = uses_.Next(gap.tensor, OpOf(gap.after) - 1);  // the op, or the addition behind it
    gap.before = uses_.Next(gap.tensor, gap.after);
    gap.out_after = gap.after;
    gap.in_at = gap.before;
    gap.leaves_after = kNoOp;
    return gap;
  }

  const TrainingStep& step_;
  const Uses& uses_;
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

Plan RepeatedPlan(const Plan& large, const Plan& small, const AccumulatedStep& all) {
  const auto larger = static_cast<std::size_t>(SizesOfParts(all.step.batch, all.step.parts).larger);
  Plan repeated = large;
  repeated.batch = all.step.batch;
  repeated.accumulate = all.step.parts;
  repeated.gaps.clear();
  repeated.ops.clear();
  repeated.recompute.clear();
  const Uses uses(all.step);
  for (std::size_t k = 0; k < all.ops.size(); ++k) {
    const Part part(all, uses, k);
    const Plan& plan = k < larger ? large : small;
    for (std::size_t t = 0; k > 0 && t < all.tensors[k].size(); ++t) {
      const TensorId tensor = all.tensors[k][t];
      const bool decided = std::any_of(plan.gaps.begin(), plan.gaps.end(), [t](const GapDecision& gap) {
        return gap.tensor == static_cast<TensorId>(t) && gap.after == kNoOp;
      });
      // Where its first use streams it, that is what fetches it.
      const bool streamed = std::any_of(plan.ops.begin(), plan.ops.end(), [&](const OpDecision& decision) {
        return Contains(decision.streamed, static_cast<TensorId>(t)) &&
               part.OpOf(decision.op) == uses.Next(tensor, kNoOp);
      });
      if (!decided && !streamed && all.step.tensors[Index(tensor)].Traits().on_host) {
        FetchInput(all.step, uses, tensor, part.first_op(), repeated);
      }
    }
    part.Add(plan, repeated);
  }
  return repeated;
}

}  // namespace spillway
