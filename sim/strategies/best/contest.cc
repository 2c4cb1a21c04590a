#include "sim/strategies/best/contest.h"

#include <algorithm>
#include <utility>

namespace spillway {

bool Allowed::Holds(const Plan& plan) const {
  const auto any = [&plan](GapAction action) {
    return std::any_of(plan.gaps.begin(), plan.gaps.end(), [&](const GapDecision& g) { return g.action == action; });
  };
  const PartScope used = ScopeOf(plan).parts;
  if (!swap && (any(GapAction::kSwap) || used == PartScope::kStreamed)) return false;
  if (!recompute && any(GapAction::kRecompute)) return false;
  if (!algorithms && !plan.ops.empty()) return false;
  return parts || used == PartScope::kNone;
}

Allowed AllowedBy(const StrategyParameters& told, const Runtime& runtime) {
  const bool any = runtime.gaps == CarriedGaps::kAny;
  return {.swap = told.Flag("swap", true),
          .recompute = told.Flag("recompute", true),
          .algorithms = any && told.Flag("algorithms", true),
          .parts = any && told.Flag("parts", true)};
}

Scope ScopeFor(const Allowed& allowed, const Runtime& runtime) {
  Scope scope{.copy_streams = allowed.swap ? runtime.copy_streams : 0, .copy_chunk = runtime.copy_chunk};
  if (!allowed.algorithms) return scope;
  scope.algorithms = AlgorithmScope::kAny;
  scope.workspace = kMostWorkspace;
  return scope;
}

void Contest::RememberShortlist() {
  Bytes all = 1;
  for (const Bytes bytes : oracle_->facts().tables().bytes) all += bytes;
  shortlist_.emplace(all);
}

PlanJudgement Contest::Judge(const Plan& plan) const {
  if (!allowed_.Holds(plan)) return {};
  // Searches do not know of each value of a recording until when it may be computed again.
  const TrainingStep& step = *oracle_->facts().tables().step;
  if (step.recorded() && !CheckPlan(plan, step).empty()) return {};
  Evaluation judged = oracle_->Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
  return {.counts = true,
          .feasible = judged.feasible,
          .reason = std::move(judged.reason),
          .time = judged.step_time,
          .bytes_out = judged.bytes_out};
}

bool Contest::Enter(const Plan& plan, const std::string& by, const PlanJudgement& judged) {
  if (!judged.counts) return false;
  ++judged_;
  if (!judged.feasible) {
    reason_ = judged.reason;
    return false;
  }
  if (const PartScope parts = ScopeOf(plan).parts; parts != PartScope::kStreamed) parts_ = std::max(parts_, parts);
  if (shortlist_) shortlist_->Enter(judged.time, judged.bytes_out, plan, by);
  if (decided() && judged.time >= time_) return false;
  time_ = judged.time;
  plan_ = plan;
  by_ = by;
  return true;
}

}  // namespace spillway
