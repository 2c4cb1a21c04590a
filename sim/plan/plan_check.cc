// The rules of sim/plan/plan.h on what a plan may say of a step.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "hw/text/lists.h"
#include "sim/plan/check_op.h"
#include "sim/plan/sections.h"

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
    where_ = PlanMistake::Where::kRecomputation;
    for (index_ = 0; index_ < plan_.recompute.size(); ++index_) CheckEntry(plan_.recompute[index_]);
    if (mistakes_.empty()) mistakes_ = SectionMistakes(plan_, step_);
    if (mistakes_.empty()) mistakes_ = StreamMistakes(plan_, step_, uses_);
    if (mistakes_.empty()) mistakes_ = FusedMistakes(plan_, step_);
    return std::move(mistakes_);
  }

 private:
  void Say(std::string message) { mistakes_.push_back({where_, index_, std::move(message)}); }
  const std::string& TensorName(TensorId t) const { return step_.tensors[Index(t)].name; }
  std::string OpName(OpId op) const { return op == kNoOp ? "start" : "'" + step_.ops[Index(op)].name + "'"; }
  bool IsOp(OpId op) const { return op >= 0 && Index(op) < step_.ops.size(); }
  bool Reaches(OpId op) const { return op == kNoOp || IsOp(op); }

  void CheckHead();
  void CheckGap(const GapDecision& gap);
  bool CheckEnds(const GapDecision& gap);
  bool CheckWritten(const GapDecision& gap);
  void CheckSwap(const GapDecision& gap);
  void CheckRecompute(const GapDecision& gap);
  void CheckEarlyCopies();
  void CheckOp(const OpDecision& decision);
  void CheckEntry(const Recomputation& entry);
  std::string WhereMissing(const Recomputation& entry) const;
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
  if (runtime.copy_chunk != 0 && runtime.copy_chunk < kLeastCopyChunk) Say("copy_chunk must be 0 or at least 64 KiB");
}

void Checker::CheckGap(const GapDecision& gap) {
  if (gap.tensor < 0 || Index(gap.tensor) >= step_.tensors.size()) return Say("no such tensor");
  if (!Reaches(gap.after) || !IsOp(gap.before) || !Reaches(gap.out_after) || !Reaches(gap.in_at)) {
    return Say(fmt::format("tensor '{}': no such op", TensorName(gap.tensor)));
  }
  const TensorClass use = step_.tensors[Index(gap.tensor)].use;
  if (!TraitsOf(use).may_move) {
    return Say(fmt::format("tensor '{}' is {}, which always stays on the device", TensorName(gap.tensor),
                           TensorClassName(use)));
  }
  if (!CheckEnds(gap)) return;
  if (gap.samples.IsWhole() && !gaps_seen_.emplace(gap.tensor, gap.before).second) {
    Say(fmt::format("a second decision on the gap of tensor '{}' before {}", TensorName(gap.tensor),
                    OpName(gap.before)));
  }
  if (gap.action == GapAction::kSwap) {
    CheckSwap(gap);
  } else {
    CheckRecompute(gap);
  }
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
    Say(fmt::format("tensor '{}' is used next after {} by {}, not by {}", name, OpName(gap.after),
                    next == kNoOp ? "no op" : OpName(next), OpName(gap.before)));
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

OpId Checker::LastWriter(const GapDecision& gap) const {
  OpId last = kNoOp;
  for (OpId op : uses_.of[Index(gap.tensor)]) {
    const std::vector<TensorId>& writes = step_.ops[Index(op)].writes;
    if (op <= gap.after && Contains(writes, gap.tensor)) last = op;
  }
  return last;
}

void Checker::CheckSwap(const GapDecision& gap) {
  const std::string& name = TensorName(gap.tensor);
  const bool input = step_.tensors[Index(gap.tensor)].Traits().on_host;
  const OpId writer = LastWriter(gap);
  if (gap.out_after < writer) {
    Say(fmt::format("tensor '{}' cannot be copied out after {}: {} still writes it", name, OpName(gap.out_after),
                    OpName(writer)));
  }
  if (gap.out_after > gap.after && !input) {
    Say(fmt::format("tensor '{}': out_after {} lies behind the start of the gap, {}", name, OpName(gap.out_after),
                    OpName(gap.after)));
  }
  if (input && gap.out_after != gap.after && gap.out_after != kNoOp) {
    Say(fmt::format("tensor '{}' is on the host already: out_after has no meaning for it", name));
  }
  if (gap.in_at <= gap.after || gap.in_at > gap.before) {
    Say(fmt::format("tensor '{}': in_at {} lies outside the gap, which is behind {} up to {}", name, OpName(gap.in_at),
                    OpName(gap.after), OpName(gap.before)));
  }
  if (!gap.keep_passed) Say(fmt::format("tensor '{}': keep_passed belongs to recompute", name));
  if (!gap.keep_result) {
    Say(fmt::format("tensor '{}': keep_result belongs to recompute; the gap that follows has a decision of its own",
                    name));
  }
}

void Checker::CheckRecompute(const GapDecision& gap) {
  const std::string& name = TensorName(gap.tensor);
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
    if (gap.action != GapAction::kSwap || gap.out_after == gap.after) continue;
    if (step_.tensors[Index(gap.tensor)].Traits().on_host) continue;  // no copy
    const auto [first, last] = decisions.equal_range(gap.tensor);
    for (auto it = first; it != last; ++it) {
      const GapDecision& other = *it->second;
      const bool absent = other.before <= gap.after && (gap.out_after < other.before || !other.keep_result);
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

// Where results of the entry's op are recomputed: "that of 'x' between 'a' and 'b'".
std::string Checker::WhereMissing(const Recomputation& entry) const {
  std::string text;
  const std::vector<TensorId>& writes = step_.ops[Index(entry.run)].writes;
  for (const GapDecision& gap : plan_.gaps) {
    if (gap.action != GapAction::kRecompute) continue;
    if (std::find(writes.begin(), writes.end(), gap.tensor) == writes.end()) continue;
    text += fmt::format("{} '{}' missing between {} and {}", text.empty() ? "only" : ",", TensorName(gap.tensor),
                        OpName(gap.after), OpName(gap.before));
  }
  return text.empty() ? "none anywhere" : text;
}

void Checker::CheckEntry(const Recomputation& entry) {
  if (!IsOp(entry.before) || !IsOp(entry.run)) return Say("no such op");
  const std::string run = OpName(entry.run), before = OpName(entry.before);
  if (!step_.IsForward(entry.run)) {
    return Say(fmt::format("run: expected a forward op, to run again before {}, found {}, which is none", before, run));
  }
  bool any = false;
  for (const GapDecision& gap : plan_.gaps) {
    const std::vector<TensorId>& writes = step_.ops[Index(entry.run)].writes;
    if (gap.action != GapAction::kRecompute || gap.after >= entry.before || entry.before > gap.before) continue;
    if (!Contains(writes, gap.tensor)) continue;
    any = true;
    if (LastWriter(gap) != entry.run) {
      Say(fmt::format(
          "run: expected {}, the last op that writes tensor '{}' (with it all run that do), found {}, which "
          "leaves it unfinished",
          OpName(LastWriter(gap)), TensorName(gap.tensor), run));
    }
    if (entry.before == gap.before && !entry.keep) {
      Say(
          fmt::format("keep: expected keep_result: false in the gap of tensor '{}' before {}, found keep: false here; "
                      "that op uses the tensor, and the gap says whether it stays",
                      TensorName(gap.tensor), before));
    }
  }
  if (!any) {
    Say(fmt::format(
        "{} before {}: expected a result of {} to be missing there, in a gap with action recompute, found {}", run,
        before, run, WhereMissing(entry)));
  }
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
