#include <algorithm>
#include <set>

#include "sim/plan/parts.h"

namespace spillway {

namespace {

struct Between {  // two uses in a row
  OpId after = kNoOp, before = kNoOp;
  bool first = false, second = false;  // whether they stream the tensor; on the host before the step is as if streamed
};

std::vector<Between> Pairs(const TrainingStep& step, const Uses& uses, TensorId t, const std::set<OpId>& streaming) {
  std::vector<Between> pairs;
  OpId after = kNoOp;
  for (const OpId before : uses.of[Index(t)]) {
    const bool input = after == kNoOp && step.tensors[Index(t)].Traits().on_host;
    if (after != kNoOp || input) {
      pairs.push_back({after, before, after == kNoOp || streaming.contains(after), streaming.contains(before)});
    }
    after = before;
  }
  return pairs;
}

// What must be there for the pair, given what is.
void Mend(const Between& pair, TensorId t, const std::string& reason, Plan& plan) {
  const auto found = std::find_if(plan.gaps.begin(), plan.gaps.end(),
                                  [&](const GapDecision& gap) { return gap.tensor == t && gap.before == pair.before; });
  if (pair.first && pair.second) {
    if (found != plan.gaps.end()) plan.gaps.erase(found);
    return;
  }
  if (pair.first == pair.second || pair.after == kNoOp) {
    if (found != plan.gaps.end() && found->action == GapAction::kSwap) found->out_after = found->after;
    return;
  }
  const bool swapped = found != plan.gaps.end() && found->action == GapAction::kSwap;
  GapDecision gap{.tensor = t,
                  .after = pair.after,
                  .before = pair.before,
                  .out_after = pair.after,
                  .in_at = swapped && !pair.second ? found->in_at : pair.before,
                  .reason = swapped ? found->reason : reason};
  if (found != plan.gaps.end()) {
    *found = std::move(gap);
  } else {
    plan.gaps.push_back(std::move(gap));
  }
}

}  // namespace

void SwapWhereStreamed(const TrainingStep& step, const Uses& uses, const std::string& reason, Plan& plan) {
  std::vector<std::set<OpId>> streaming(step.tensors.size());
  for (const OpDecision& decision : plan.ops) {
    for (const TensorId t : decision.streamed) streaming[Index(t)].insert(decision.op);
  }
  for (TensorId t = 0; Index(t) < streaming.size(); ++t) {
    if (streaming[Index(t)].empty()) continue;
    for (const Between& pair : Pairs(step, uses, t, streaming[Index(t)])) Mend(pair, t, reason, plan);
  }
}

}  // namespace spillway
