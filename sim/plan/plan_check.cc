// The rules of sim/plan/plan.h on what a plan may say of a step.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "sim/plan/check_op.h"
#include "sim/plan/parts.h"

namespace spillway {

namespace {

// Checks the decisions one by one and collects what is wrong with them.
class Checker {
 public:
  Checker(const Plan& plan, const TrainingStep& step) : plan_(plan), step_(step), uses_(step) {}

  std::vector<PlanMistake> Run() {
    CheckHead();
    where_ = PlanMistake::Where::kGap;
    for (index_ = 0; index_ < plan_.gaps.size(); ++index_) CheckGap(plan_.gaps[index_]);
    if (mistakes_.empty()) CheckEarlyCopies();
    where_ = PlanMistake::Where::kOp;
    for (index_ = 0; index_ < plan_.ops.size(); ++index_) CheckOp(plan_.ops[index_]);
    Append(EntryMistakes(plan_, step_, uses_));
    if (mistakes_.empty()) mistakes_ = SectionMistakes(plan_, step_);
    if (mistakes_.empty()) mistakes_ = StreamMistakes(plan_, step_, uses_);
    if (mistakes_.empty()) mistakes_ = FusedMistakes(plan_, step_);
    return std::move(mistakes_);
  }

 private:
  void Say(std::string message) { mistakes_.push_back({where_, index_, std::move(message)}); }
  void Append(std::vector<PlanMistake> more) {
    mistakes_.insert(mistakes_.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  const std::string& TensorName(TensorId t) const { return step_.tensors[Index(t)].name; }
  std::string OpName(OpId op) const { return op == kNoOp ? "start" : "'" + step_.ops[Index(op)].name + "'"; }
  std::string NextName(OpId op) const { return op == kNoOp ? "no op" : OpName(op); }
  bool IsOp(OpId op) const { return op >= 0 && Index(op) < step_.ops.size(); }
  bool Reaches(OpId op) const { return op == kNoOp || IsOp(op); }

  void CheckHead();
  void CheckGap(const GapDecision& gap);
  void CheckOnce(const GapDecision& gap);
  bool CheckEnds(const GapDecision& gap);
  bool CheckWritten(const GapDecision& gap);
  void CheckSwap(const GapDecision& gap);
  void CheckRecompute(const GapDecision& gap);
  void CheckDropped(const GapDecision& gap);
  void CheckEarlyCopies();
  void CheckOp(const OpDecision& decision);
  bool CheckLeaves(const GapDecision& gap);
  bool CheckOpen(const GapDecision& gap);
  OpId LastWriter(const GapDecision& gap) const;

  const Plan& plan_;
  const TrainingStep& step_;
  const Uses uses_;
  PlanMistake::Where where_ = PlanMistake::Where::kPlan;
  std::size_t index_ = 0;
  std::set<std::pair<TensorId, OpId>> gaps_seen_;  // by the use that ends the gap
  std::set<OpId> ops_seen_;
  std::vector<PlanMistake> mistakes_;
};

void Checker::CheckHead() {
  if (plan_.network != step_.network) {
    Say(fmt::format("the plan is for network '{}', not '{}'", plan_.network, step_.network));
  }
  if (plan_.batch != step_.batch) Say(fmt::format("the plan is for batch {}, not {}", plan_.batch, step_.batch));
  if (plan_.accumulate != step_.parts) {
    Say(fmt::format("the plan is for the batch in {} (accumulate), not in {}", plan_.accumulate, step_.parts));
  }
  const Runtime& runtime = plan_.runtime;
  if (runtime.copy_streams != 1 && runtime.copy_streams != 2) Say("copy_streams must be 1 or 2");
  if (runtime.framework_time < 0) Say("framework_time must not be negative");
  if (runtime.framework_time > kMostFrameworkTime) Say("framework_time must be at most 1 s");
  if (runtime.collection_time < 0) Say("collection_time must not be negative");
  if (runtime.collection_time > kMostCollectionTime) Say("collection_time must be at most 1 s");
  if (runtime.host_percent < 1 || runtime.host_percent > 100) Say("host_percent must be from 1 to 100");
  if (runtime.copy_chunk != 0 && runtime.copy_chunk < kLeastCopyChunk) Say("copy_chunk must be 0 or at least 64 KiB");
}

void Checker::CheckGap(const GapDecision& gap) {
  if (gap.tensor < 0 || Index(gap.tensor) >= step_.tensors.size()) return Say("no such tensor");
  const bool ends = Reaches(gap.after) && (gap.EndsInNextStep() || Reaches(gap.before));
  if (!ends || !Reaches(gap.out_after) || !Reaches(gap.in_at) || !Reaches(gap.leaves_after)) {
    return Say(fmt::format("tensor '{}': no such op", TensorName(gap.tensor)));
  }
  if (gap.EndsInNextStep()) {
    for (const std::string& mistake : NextStepMistakes(gap, step_, uses_)) Say(mistake);
    return CheckOnce(gap);
  }
  const TensorClass use = step_.tensors[Index(gap.tensor)].use;
  if (!TraitsOf(use).may_move) {
    return Say(fmt::format("tensor '{}' is {}, which always stays on the device{}", TensorName(gap.tensor),
                           TensorClassName(use),
                           TraitsOf(use).resident ? " within a step: expected before: next_step" : ""));
  }
  if (!CheckEnds(gap)) return;
  CheckOnce(gap);
  if (!CheckLeaves(gap) || (gap.IsOpen() && !CheckOpen(gap))) return;
  if (gap.action == GapAction::kSwap) {
    CheckSwap(gap);
  } else {
    CheckRecompute(gap);
  }
}

void Checker::CheckOnce(const GapDecision& gap) {
  if (!gap.samples.IsWhole() || gaps_seen_.emplace(gap.tensor, gap.before).second) return;
  Say(fmt::format("a second decision on the gap of tensor '{}' {}", TensorName(gap.tensor),
                  gap.IsOpen() ? "behind its last use" : "before " + OpName(gap.before)));
}

// `after` and `before` are consecutive uses; only the input has a gap before its first one.
bool Checker::CheckEnds(const GapDecision& gap) {
  const std::vector<OpId>& uses = uses_.of[Index(gap.tensor)];
  const std::string& name = TensorName(gap.tensor);
  for (OpId op : {gap.after, gap.before}) {
    if (op == kNoOp || std::binary_search(uses.begin(), uses.end(), op)) continue;
    Say(fmt::format("{} does not use tensor '{}'", OpName(op), name));
    return false;
  }
  const OpId next = uses_.Next(gap.tensor, gap.after);
  if (next != gap.before) {
    Say(fmt::format("tensor '{}' is used next after {} by {}, not by {}", name, OpName(gap.after), NextName(next),
                    NextName(gap.before)));
    return false;
  }
  if (gap.after == kNoOp && !step_.tensors[Index(gap.tensor)].Traits().on_host) {
    Say(fmt::format("tensor '{}' does not exist before its first use {}", name, OpName(gap.before)));
    return false;
  }
  return CheckWritten(gap);
}

// Between two forward ops that write the tensor it is unfinished: ops that update it in place belong to its making.
bool Checker::CheckWritten(const GapDecision& gap) {
  const std::vector<OpId>& writers = uses_.writers[Index(gap.tensor)];
  if (writers.empty() || gap.after >= writers.back()) return true;
  Say(
      fmt::format("tensor '{}' cannot leave the device after {}: {} still writes it; a gap starts after its last "
                  "forward writer at the earliest",
                  TensorName(gap.tensor), OpName(gap.after), OpName(writers.back())));
  return false;
}

bool Checker::CheckLeaves(const GapDecision& gap) {
  if (gap.leaves_after == kNoOp) return true;
  const std::string& name = TensorName(gap.tensor);
  if (gap.after == kNoOp) {
    Say(fmt::format("tensor '{}' is on the host before its first use: leaves_after has no meaning there", name));
    return false;
  }
  const OpId end = gap.IsOpen() ? static_cast<OpId>(step_.ops.size()) : gap.before;
  if (gap.leaves_after >= gap.after && gap.leaves_after < end) return true;
  if (gap.IsOpen()) {
    Say(fmt::format("tensor '{}': expected leaves_after behind the last use, {} or a later op, found {}", name,
                    OpName(gap.after), OpName(gap.leaves_after)));
    return false;
  }
  Say(fmt::format("tensor '{}': expected leaves_after within the gap, from {} to the op before {}, found {}", name,
                  OpName(gap.after), OpName(gap.before), OpName(gap.leaves_after)));
  return false;
}

// What has no meaning without an op that ends the gap.
bool Checker::CheckOpen(const GapDecision& gap) {
  const std::string& name = TensorName(gap.tensor);
  const auto expect = [&](bool holds, const char* key) {
    if (!holds) Say(fmt::format("tensor '{}': {} has no meaning in a gap with an open end (before: none)", name, key));
    return holds;
  };
  return expect(gap.after != kNoOp, "after: start") && expect(gap.in_at == kNoOp, "in_at") &&
         expect(gap.keep_result, "keep_result") && expect(gap.keep_passed, "keep_passed") &&
         expect(gap.samples.IsWhole(), "samples");
}

OpId Checker::LastWriter(const GapDecision& gap) const { return LastWriterUntil(gap.after, gap.tensor, step_, uses_); }

void Checker::CheckSwap(const GapDecision& gap) {
  const std::string& name = TensorName(gap.tensor);
  const bool input = step_.tensors[Index(gap.tensor)].Traits().on_host;
  const OpId writer = LastWriter(gap);
  if (gap.out_after < writer) {
    Say(fmt::format("tensor '{}' cannot be copied out after {}: {} still writes it", name, OpName(gap.out_after),
                    OpName(writer)));
  }
  if (gap.out_after > gap.Leaves() && !input) {
    Say(fmt::format("tensor '{}': out_after {} lies behind {}, {}", name, OpName(gap.out_after),
                    gap.leaves_after == kNoOp ? "the start of the gap" : "leaves_after", OpName(gap.Leaves())));
  }
  if (input && gap.out_after != gap.after && gap.out_after != kNoOp) {
    Say(fmt::format("tensor '{}' is on the host already: out_after has no meaning for it", name));
  }
  if (!gap.IsOpen() && (gap.in_at <= gap.Leaves() || gap.in_at > gap.before)) {
    Say(fmt::format("tensor '{}': in_at {} lies outside the gap, which is behind {} up to {}", name, OpName(gap.in_at),
                    OpName(gap.Leaves()), OpName(gap.before)));
  }
  if (!gap.keep_passed) Say(fmt::format("tensor '{}': keep_passed belongs to recompute", name));
  if (!gap.keep_result) {
    Say(fmt::format("tensor '{}': keep_result belongs to recompute; the gap that follows has a decision of its own",
                    name));
  }
}

// No op needs it again, so that it need not be one that can be recomputed.
void Checker::CheckDropped(const GapDecision& gap) {
  const std::string& name = TensorName(gap.tensor);
  if (step_.tensors[Index(gap.tensor)].Traits().on_host) {
    Say(fmt::format("tensor '{}' is on the host: expected action: swap in a gap with an open end", name));
  }
  if (gap.out_after != kNoOp) Say(fmt::format("tensor '{}': out_after and in_at belong to swap", name));
}

void Checker::CheckRecompute(const GapDecision& gap) {
  const std::string& name = TensorName(gap.tensor);
  if (gap.IsOpen()) return CheckDropped(gap);
  const std::vector<OpId>& writers = uses_.writers[Index(gap.tensor)];
  if (writers.empty() || writers.front() > gap.after) {
    return Say(fmt::format("tensor '{}' cannot be recomputed: no forward op computes it", name));
  }
  if (LastWriter(gap) != kNoOp && !step_.IsForward(LastWriter(gap))) {
    Say(fmt::format("tensor '{}' cannot be recomputed: backward op {} wrote it", name, OpName(LastWriter(gap))));
  }
  const OpId last = gap.keep_result ? gap.before : uses_.of[Index(gap.tensor)].back();
  if (!step_.MayRecompute(gap.tensor, last)) {
    Say(fmt::format(
        "tensor '{}' cannot be recomputed before {}: the recording does not let all that it takes run again", name,
        OpName(last)));
  }
  if (gap.out_after != kNoOp || gap.in_at != kNoOp) {
    Say(fmt::format("tensor '{}': out_after and in_at belong to swap", name));
  }
  if (!gap.samples.IsWhole()) Say(fmt::format("tensor '{}': samples belong to swap", name));
}

// A copy out that starts before its gap needs the tensor there: no other decision takes it away from then on.
void Checker::CheckEarlyCopies() {
  std::multimap<TensorId, const GapDecision*> decisions;
  for (const GapDecision& gap : plan_.gaps) decisions.emplace(gap.tensor, &gap);
  for (index_ = 0; index_ < plan_.gaps.size(); ++index_) {
    const GapDecision& gap = plan_.gaps[index_];
    if (gap.action != GapAction::kSwap || gap.out_after >= gap.after) continue;
    if (step_.tensors[Index(gap.tensor)].Traits().on_host) continue;  // no copy
    const auto [first, last] = decisions.equal_range(gap.tensor);
    for (auto it = first; it != last; ++it) {
      const GapDecision& other = *it->second;
      const bool absent =
          !other.IsOpen() && other.before <= gap.after && (gap.out_after < other.before || !other.keep_result);
      if (!absent || !other.samples.Meets(gap.samples)) continue;
      Say(fmt::format("tensor '{}' cannot be copied out after {}: it is not on the device all the time until {}",
                      TensorName(gap.tensor), OpName(gap.out_after), OpName(gap.after)));
      break;
    }
  }
}

void Checker::CheckOp(const OpDecision& decision) {
  if (!IsOp(decision.op)) return Say("no such op");
  if (!ops_seen_.insert(decision.op).second) Say(fmt::format("a second decision on op {}", OpName(decision.op)));
  for (std::string& mistake : OpMistakes(decision, step_)) Say(std::move(mistake));
}

}  // namespace

std::vector<PlanMistake> FindMistakes(const Plan& plan, const TrainingStep& step) { return Checker(plan, step).Run(); }

std::vector<std::string> CheckPlan(const Plan& plan, const TrainingStep& step) {
  std::vector<std::string> messages;
  for (const PlanMistake& mistake : FindMistakes(plan, step)) {
    switch (mistake.where) {
      case PlanMistake::Where::kPlan:
        messages.push_back(mistake.message);
        break;
      case PlanMistake::Where::kGap:
        messages.push_back(fmt::format("gaps[{}]: {}", mistake.index, mistake.message));
        break;
      case PlanMistake::Where::kOp:
        messages.push_back(fmt::format("ops[{}]: {}", mistake.index, mistake.message));
        break;
      case PlanMistake::Where::kRecomputation:
        messages.push_back(fmt::format("recompute[{}]: {}", mistake.index, mistake.message));
        break;
    }
  }
  return messages;
}

}  // namespace spillway
