// Plans of the chain of tests/step_builder.h with 3 layers, and what CheckPlan says of them:
//
//   op     0    1    2    3    4    5           tensor  ops
//          f1   f2   f3   b3   b2   b1          data    0, 5       m2  1, 2, 4     g2  3, 4
//                                               m1      0, 1, 5    m3  2, 3        g1  4, 5
#ifndef SPILLWAY_TESTS_SIM_CHAIN_PLANS_H_
#define SPILLWAY_TESTS_SIM_CHAIN_PLANS_H_

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "tests/step_builder.h"

namespace spillway::chain_plans {

inline constexpr TensorId kData = 0, kM1 = 1, kM2 = 2, kM3 = 3, kG2 = 5;  // 4 is g1

inline Plan PlanOf(std::vector<GapDecision> gaps) {
  Plan plan;
  plan.network = "hand";
  plan.batch = 1;
  plan.gaps = std::move(gaps);
  return plan;
}
inline GapDecision Swap(TensorId tensor, OpId after, OpId before) {
  return {.tensor = tensor, .after = after, .before = before, .out_after = after, .in_at = before, .reason = ""};
}
inline GapDecision Recompute(TensorId tensor, OpId after, OpId before) {
  return {.tensor = tensor, .after = after, .before = before, .action = GapAction::kRecompute, .reason = ""};
}
// The message about a plan with this one decision; "" when there is none.
inline std::string Complaint(const GapDecision& gap, const TrainingStep& step = MakeChain()) {
  const std::vector<std::string> messages = CheckPlan(PlanOf({gap}), step);
  REQUIRE(messages.size() <= 1);
  return messages.empty() ? "" : messages.front();
}

}  // namespace spillway::chain_plans

#endif  // SPILLWAY_TESTS_SIM_CHAIN_PLANS_H_
