// What goes with ops that run part by part together (OpDecision::fused).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "hw/text/lists.h"
#include "sim/plan/check_op.h"

namespace spillway {

namespace {

class FusedChecker {
 public:
  FusedChecker(const Plan& plan, const TrainingStep& step) : plan_(plan), step_(step), uses_(step) {
    for (std::size_t k = 0; k < plan.ops.size(); ++k) decision_[plan.ops[k].op] = k;
  }

  std::vector<PlanMistake> Run() {
    for (std::size_t k = 0; k < plan_.ops.size(); ++k) {
      if (plan_.ops[k].fused) CheckPair(k);
    }
    if (!mistakes_.empty()) return std::move(mistakes_);
    for (std::size_t g = 0; g < plan_.gaps.size(); ++g) {
      CheckGap(g);
      CheckResult(g);
    }
    for (std::size_t k = 0; k < plan_.recompute.size(); ++k) {
      const OpId before = plan_.recompute[k].before;
      if (!IsFused(before)) continue;
      Say(PlanMistake::Where::kRecomputation, k,
          fmt::format("nothing is computed again between {} and {}, which are fused; expected an entry before {}",
                      Name(before - 1), Name(before), Name(FirstOf(before))));
    }
    return std::move(mistakes_);
  }

 private:
  void Say(PlanMistake::Where where, std::size_t index, std::string message) {
    mistakes_.push_back({where, index, std::move(message)});
  }
  std::string Name(OpId op) const { return "'" + step_.ops[Index(op)].name + "'"; }
  bool IsFused(OpId op) const {
    const auto found = decision_.find(op);
    return found != decision_.end() && plan_.ops[found->second].fused;
  }
  OpId FirstOf(OpId op) const {
    while (IsFused(op)) --op;
    return op;
  }

  void CheckPair(std::size_t index) {
    const OpDecision& decision = plan_.ops[index];
    const std::string fault = FaultOf(decision);
    if (fault.empty()) return;
    const std::string with = decision.op == 0 ? "no op before it" : Name(decision.op - 1);
    Say(PlanMistake::Where::kOp, index, fmt::format("op {} is fused with {}: {}", Name(decision.op), with, fault));
  }

  // "" if the op may be fused with the one before.
  std::string FaultOf(const OpDecision& decision) const {
    const OpId op = decision.op;
    if (op == 0) return "it is the first of the step";
    if (decision.streamed.empty()) return "expected something that it streams";
    const auto found = decision_.find(op - 1);
    if (found == decision_.end() || plan_.ops[found->second].streamed.empty()) {
      return "expected that one to stream something in the same parts, found nothing";
    }
    const OpDecision& before = plan_.ops[found->second];
    if (step_.IsForward(op) != step_.IsForward(op - 1) || step_.IsBackward(op) != step_.IsBackward(op - 1)) {
      return "expected both in forward or both in backward";
    }
    if (decision.tiles.Any() || before.tiles.Any()) return "expected parts along the batch only, found tiles";
    const bool same = std::equal(decision.parts.begin(), decision.parts.end(), before.parts.begin(), before.parts.end(),
                                 [](const OpPart& a, const OpPart& b) { return a.samples == b.samples; });
    if (!same) return "expected parts of the same samples";
    if (decision.depth != before.depth) {
      return fmt::format("expected the same depth, found {} and {}", before.depth, decision.depth);
    }
    return "";
  }

  bool Streams(OpId op, TensorId tensor) const {
    const auto found = decision_.find(op);
    return found != decision_.end() && Contains(plan_.ops[found->second].streamed, tensor);
  }

  // What was computed again for a group in forward stays for all of it: there is no again within.
  void CheckResult(std::size_t index) {
    const GapDecision& gap = plan_.gaps[index];
    if (gap.IsOpen() || gap.keep_result || !step_.IsForward(gap.before)) return;
    const OpId next = uses_.Next(gap.tensor, gap.before);
    if (next == kNoOp || FirstOf(next) != FirstOf(gap.before)) return;
    Say(PlanMistake::Where::kGap, index,
        fmt::format("tensor '{}' stays between {} and {}, which are fused: expected no keep_result: false",
                    step_.tensors[Index(gap.tensor)].name, Name(gap.before), Name(next)));
  }

  // Within a group nothing moves, what it streams is on the host before its first op, and what is to be computed again for
  // it is so by then: in backward, where all that it is made from has been there; in forward that may be made by the group.
  void CheckGap(std::size_t index) {
    const GapDecision& gap = plan_.gaps[index];
    if (gap.IsOpen() || !IsFused(gap.before)) return;
    const OpId first = FirstOf(gap.before);
    const std::string& tensor = step_.tensors[Index(gap.tensor)].name;
    if (gap.after >= first) {
      Say(PlanMistake::Where::kGap, index,
          fmt::format("tensor '{}' stays between {} and {}, which are fused: expected no decision", tensor,
                      Name(gap.after), Name(gap.before)));
    } else if (Streams(gap.before, gap.tensor) && std::max(gap.leaves_after, gap.out_after) >= first) {
      Say(PlanMistake::Where::kGap, index,
          fmt::format(
              "tensor '{}' is streamed by {}, which is fused with {}: expected it to go out and to leave before {}",
              tensor, Name(gap.before), Name(gap.before - 1), Name(first)));
    } else if (gap.action == GapAction::kRecompute && step_.IsForward(gap.before)) {
      Say(PlanMistake::Where::kGap, index,
          fmt::format("tensor '{}' cannot be computed again for {}, which is fused with {}: expected a swap", tensor,
                      Name(gap.before), Name(gap.before - 1)));
    }
  }

  const Plan& plan_;
  const TrainingStep& step_;
  const Uses uses_;
  std::map<OpId, std::size_t> decision_;  // index into Plan::ops
  std::vector<PlanMistake> mistakes_;
};

}  // namespace

std::vector<PlanMistake> FusedMistakes(const Plan& plan, const TrainingStep& step) {
  if (std::none_of(plan.ops.begin(), plan.ops.end(), [](const OpDecision& decision) { return decision.fused; })) {
    return {};
  }
  return FusedChecker(plan, step).Run();
}

}  // namespace spillway
