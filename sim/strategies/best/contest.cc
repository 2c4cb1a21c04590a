#include "sim/strategies/best/contest.h"

#include <algorithm>

namespace spillway {

namespace {

bool Divides(const Plan& plan) {
  return std::any_of(plan.ops.begin(), plan.ops.end(), [](const OpDecision& op) { return op.parts.size() > 1; });
}

}  // namespace

bool Allowed::Holds(const Plan& plan) const {
  const auto any = [&plan](GapAction action) {
    return std::any_of(plan.gaps.begin(), plan.gaps.end(), [&](const GapDecision& g) { return g.action == action; });
  };
  if (!swap && any(GapAction::kSwap)) return false;
  if (!recompute && any(GapAction::kRecompute)) return false;
  if (!algorithms && !plan.ops.empty()) return false;
  return parts || !Divides(plan);
}

bool Contest::Enter(const Plan& plan, const std::string& by) {
  if (!allowed_.Holds(plan)) return false;
  ++judged_;
  Evaluation judged = oracle_->Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
  if (!judged.feasible) {
    reason_ = std::move(judged.reason);
    return false;
  }
  saw_parts_ = saw_parts_ || Divides(plan);
  if (decided() && judged.step_time >= time_) return false;
  time_ = judged.step_time;
  plan_ = plan;
  by_ = by;
  return true;
}

}  // namespace spillway
