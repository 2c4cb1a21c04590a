// Plans that hold little between forward and backward, drawn at random.
#ifndef SPILLWAY_TESTS_SIM_TURN_PLANS_H_
#define SPILLWAY_TESTS_SIM_TURN_PLANS_H_

#include <utility>

#include "tests/random_groups.h"

namespace spillway {

// About `percent` of what is live at a turn leaves until it is wanted again: as little is there then as can be.
inline void LeaveAtTheTurn(const TrainingStep& step, std::uint32_t percent, std::uint32_t recomputed, Random& random,
                           Plan& plan) {
  const Uses uses(step);
  for (TensorId t = 0; Index(t) < step.tensors.size(); ++t) {
    for (std::size_t k = 0; k + 1 < uses.of[Index(t)].size(); ++k) {
      const OpId after = uses.of[Index(t)][k], before = uses.of[Index(t)][k + 1];
      if (!step.IsForward(after) || step.IsForward(before) || random.Below(100) >= percent) continue;
      GapDecision gap{.tensor = t, .after = after, .before = before, .reason = ""};
      const bool again = random.Below(100) < recomputed;
      gap.action = again ? GapAction::kRecompute : GapAction::kSwap;
      if (!again) gap.out_after = after, gap.in_at = random.Below(2) == 0 ? before : random.Between(after + 1, before);
      gap.keep_passed = random.Below(2) == 0;
      std::erase_if(plan.gaps, [&](const GapDecision& other) { return other.tensor == t && other.before == before; });
      plan.gaps.push_back(std::move(gap));
    }
  }
  EraseMistaken(PlanMistake::Where::kGap, step, plan, plan.gaps);
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_TURN_PLANS_H_
