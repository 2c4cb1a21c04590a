// What is streamed lies on the host before the op and behind it; whoever has it on the device brings it in, or sends it
// there, by a swap.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/plan/check_op.h"

namespace spillway {

namespace {

class StreamChecker {
 public:
  StreamChecker(const Plan& plan, const TrainingStep& step, const Uses& uses) : plan_(plan), step_(step), uses_(uses) {
    for (std::size_t k = 0; k < plan.ops.size(); ++k) {
      for (const TensorId t : plan.ops[k].streamed) streams_[{t, plan.ops[k].op}] = k;
    }
    for (std::size_t g = 0; g < plan.gaps.size(); ++g) gaps_[{plan.gaps[g].tensor, plan.gaps[g].before}] = g;
  }

  std::vector<PlanMistake> Run() {
    std::set<TensorId> streamed;
    for (const auto& [use, decision] : streams_) streamed.insert(use.first);
    for (const TensorId t : streamed) {
      CheckWriters(t);
      OpId after = step_.tensors[Index(t)].Traits().on_host ? kNoOp : uses_.of[Index(t)].front();
      for (const OpId before : uses_.of[Index(t)]) {
        if (before > after) CheckBetween(t, after, before);
        after = before;
      }
      CheckOpen(t, after);
    }
    return std::move(mistakes_);
  }

 private:
  using Use = std::pair<TensorId, OpId>;
  void Say(PlanMistake::Where where, std::size_t index, std::string message) {
    mistakes_.push_back({where, index, std::move(message)});
  }
  const std::string& Name(TensorId t) const { return step_.tensors[Index(t)].name; }
  std::string OpName(OpId op) const { return op == kNoOp ? "start" : "'" + step_.ops[Index(op)].name + "'"; }
  bool Streams(TensorId t, OpId op) const { return streams_.contains({t, op}); }

  // Until its last forward writer is done a tensor cannot move.
  void CheckWriters(TensorId t) {
    const std::vector<OpId>& writers = uses_.writers[Index(t)];
    for (const OpId writer : writers) {
      if (Streams(t, writer) == Streams(t, writers.front())) continue;
      const OpId one = Streams(t, writer) ? writer : writers.front(), other = one == writer ? writers.front() : writer;
      return Say(PlanMistake::Where::kOp, streams_.at({t, one}),
                 fmt::format("op {} streams tensor '{}', which {} writes on the device: all forward ops that write a "
                             "tensor stream it, or none",
                             OpName(one), Name(t), OpName(other)));
    }
  }

  // Of two uses in a row.
  void CheckBetween(TensorId t, OpId after, OpId before) {
    const bool first = after == kNoOp || Streams(t, after), second = Streams(t, before);
    const auto gap = gaps_.find({t, before});
    if (first && second && gap != gaps_.end()) {
      return Say(PlanMistake::Where::kGap, gap->second,
                 fmt::format("tensor '{}' stays on the host between {} and {}, which stream it: expected no decision",
                             Name(t), OpName(after), OpName(before)));
    }
    if (first == second || after == kNoOp) return;
    if (gap == gaps_.end()) return Missing(t, after, before);
    const GapDecision& decision = plan_.gaps[gap->second];
    const OpId streams = first ? after : before;
    if (decision.action != GapAction::kSwap) {
      return Say(PlanMistake::Where::kGap, gap->second,
                 fmt::format("tensor '{}' cannot be recomputed between {} and {}: {} streams it; expected a swap",
                             Name(t), OpName(after), OpName(before), OpName(streams)));
    }
    if (first && decision.leaves_after != kNoOp) {
      Say(PlanMistake::Where::kGap, gap->second,
          fmt::format("tensor '{}' is on the host behind {}, which streams it: expected no leaves_after, found {}",
                      Name(t), OpName(after), OpName(decision.leaves_after)));
    }
    if (first && decision.out_after != after && !step_.tensors[Index(t)].Traits().on_host) {
      Say(PlanMistake::Where::kGap, gap->second,
          fmt::format("tensor '{}': expected out_after {}, which streams it to the host, found {}", Name(t),
                      OpName(after), OpName(decision.out_after)));
    }
    if (second && decision.in_at != before) {
      Say(PlanMistake::Where::kGap, gap->second,
          fmt::format("tensor '{}': expected in_at {}, which streams it from the host, found {}", Name(t),
                      OpName(before), OpName(decision.in_at)));
    }
  }

  // Behind its last use it lies on the host, if anywhere.
  void CheckOpen(TensorId t, OpId last) {
    const auto gap = gaps_.find({t, kNoOp});
    if (gap == gaps_.end() || !Streams(t, last)) return;
    Say(PlanMistake::Where::kGap, gap->second,
        fmt::format("tensor '{}' is not on the device behind {}, which streams it: expected no gap with before: none",
                    Name(t), OpName(last)));
  }

  void Missing(TensorId t, OpId after, OpId before) {
    const bool first = Streams(t, after);
    const OpId streams = first ? after : before, other = first ? before : after;
    Say(PlanMistake::Where::kOp, streams_.at({t, streams}),
        fmt::format(
            "op {} streams tensor '{}', which {} has on the device: expected a swap of it after {} before {} in "
            "gaps, found none",
            OpName(streams), Name(t), OpName(other), OpName(after), OpName(before)));
  }

  const Plan& plan_;
  const TrainingStep& step_;
  const Uses& uses_;
  std::map<Use, std::size_t> streams_;  // index into Plan::ops
  std::map<Use, std::size_t> gaps_;     // by the use that ends them, index into Plan::gaps
  std::vector<PlanMistake> mistakes_;
};

}  // namespace

std::vector<PlanMistake> StreamMistakes(const Plan& plan, const TrainingStep& step, const Uses& uses) {
  return StreamChecker(plan, step, uses).Run();
}

}  // namespace spillway
