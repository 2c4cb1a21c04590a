// Plans whose ops run part by part together, drawn at random: runs of consecutive ops of one phase, in the same parts.
#ifndef SPILLWAY_TESTS_RANDOM_GROUPS_H_
#define SPILLWAY_TESTS_RANDOM_GROUPS_H_

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "tests/random_streams.h"

namespace spillway {

// What ops that are drawn may not stream: a tensor of which some forward writer stays whole; some of the others, for a change.
inline std::set<TensorId> KeptInPlace(const TrainingStep& step, const Uses& uses, const std::set<OpId>& drawn,
                                      Random& random) {
  std::set<TensorId> kept;
  for (TensorId t = 0; Index(t) < step.tensors.size(); ++t) {
    const std::vector<OpId>& writers = uses.writers[Index(t)];
    const auto streams = [&](OpId op) { return drawn.contains(op); };
    if (!std::all_of(writers.begin(), writers.end(), streams) || random.Below(6) == 0) kept.insert(t);
  }
  return kept;
}

// Where nothing may be decided between fused ops, nothing is.
inline void LeaveGroupsAlone(Plan& plan) {
  const auto first_of = [&plan](OpId op) {
    const auto fused = [&plan](OpId one) {
      return std::any_of(plan.ops.begin(), plan.ops.end(),
                         [one](const OpDecision& d) { return d.op == one && d.fused; });
    };
    while (fused(op)) --op;
    return op;
  };
  std::erase_if(plan.gaps, [&](const GapDecision& gap) {
    const OpId first = first_of(gap.before);
    return first < gap.before && (gap.after >= first || gap.action == GapAction::kRecompute);
  });
}

// Groups of up to five ops that `may` be in one begin at about `percent` of the places where they can; other decisions on
// ops are dropped, and so are gaps that do not go with them.
inline void AddRandomGroups(
    const TrainingStep& step, std::uint32_t percent, Random& random, Plan& plan,
    const std::function<bool(const Op&)>& may = [](const Op&) { return true; }) {
  const Uses uses(step);
  const auto end = static_cast<OpId>(step.ops.size());
  const auto can = [&](OpId op) { return HasSampleParts(step.ops[Index(op)]) && may(step.ops[Index(op)]); };
  std::vector<OpDecision> decisions;
  std::set<OpId> drawn;
  for (OpId op = 0; op < end; ++op) {
    if (!can(op) || random.Below(100) >= percent) continue;
    const OpDecision all{.parts = RandomParts(step.batch, random), .depth = random.Between(1, 5)};
    const OpId last = op + random.Between(0, 4);
    for (const OpId first = op; op < end && op <= last && can(op); ++op) {
      if (step.IsForward(op) != step.IsForward(first)) break;
      decisions.push_back(all);
      decisions.back().op = op;
      decisions.back().fused = op > first;
      drawn.insert(op);
    }
    --op;
  }
  const std::set<TensorId> kept = KeptInPlace(step, uses, drawn, random);
  plan.ops.clear();
  for (OpDecision& decision : decisions) {
    for (const std::vector<TensorId>* list :
         {&step.ops[Index(decision.op)].reads, &step.ops[Index(decision.op)].writes}) {
      for (const TensorId t : *list) {
        if (MayStream(step.tensors[Index(t)]) && !kept.contains(t) && !Contains(decision.streamed, t)) {
          decision.streamed.push_back(t);
        }
      }
    }
    if (decision.streamed.empty()) continue;
    const bool follows = !plan.ops.empty() && plan.ops.back().op == decision.op - 1;
    decision.fused = decision.fused && follows;
    plan.ops.push_back(std::move(decision));
  }
  LeaveGroupsAlone(plan);
  SwapWhereStreamed(step, uses, "streamed", plan);
}

inline int FusedOps(const Plan& plan) {
  return static_cast<int>(
      std::count_if(plan.ops.begin(), plan.ops.end(), [](const OpDecision& decision) { return decision.fused; }));
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RANDOM_GROUPS_H_
