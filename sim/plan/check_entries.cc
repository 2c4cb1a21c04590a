// The rules of sim/plan/plan.h on a schedule of recomputations.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hw/text/lists.h"
#include "sim/plan/check_op.h"

namespace spillway {

namespace {

class EntryChecker {
 public:
  EntryChecker(const Plan& plan, const TrainingStep& step, const Uses& uses) : plan_(plan), step_(step), uses_(uses) {}

  std::vector<PlanMistake> Run() {
    for (index_ = 0; index_ < plan_.recompute.size(); ++index_) Check(plan_.recompute[index_]);
    return std::move(mistakes_);
  }

 private:
  void Say(std::string message) {
    mistakes_.push_back({PlanMistake::Where::kRecomputation, index_, std::move(message)});
  }
  const std::string& TensorName(TensorId t) const { return step_.tensors[Index(t)].name; }
  std::string OpName(OpId op) const { return op == kNoOp ? "start" : "'" + step_.ops[Index(op)].name + "'"; }
  bool IsOp(OpId op) const { return op >= 0 && Index(op) < step_.ops.size(); }

  void Check(const Recomputation& entry) {
    if (!IsOp(entry.before) || !IsOp(entry.run) || (entry.leaves_after != kNoOp && !IsOp(entry.leaves_after))) {
      return Say("no such op");
    }
    const std::string run = OpName(entry.run), before = OpName(entry.before);
    if (!step_.IsForward(entry.run)) {
      return Say(
          fmt::format("run: expected a forward op, to run again before {}, found {}, which is none", before, run));
    }
    CheckLeaves(entry);
    bool any = false;
    for (const GapDecision& gap : plan_.gaps) {
      if (gap.action != GapAction::kRecompute || gap.after >= entry.before || entry.before > gap.before) continue;
      if (!Contains(step_.ops[Index(entry.run)].writes, gap.tensor)) continue;
      any = true;
      CheckWithin(gap, entry);
    }
    if (any || CheckUnused(entry)) return;
    Say(fmt::format(
        "{} before {}: expected a result of {} to be missing there, in a gap with action recompute, found {}", run,
        before, run, WhereMissing(entry)));
  }

  void CheckLeaves(const Recomputation& entry) {
    if (entry.leaves_after == kNoOp) return;
    if (!entry.keep) {
      Say(fmt::format("leaves_after: expected none beside keep: false, which says that the results leave before {}",
                      OpName(entry.before)));
    } else if (entry.leaves_after < entry.before) {
      Say(fmt::format("leaves_after: expected {} or a later op, found {}", OpName(entry.before),
                      OpName(entry.leaves_after)));
    }
  }

  void CheckWriter(TensorId tensor, OpId writer, const Recomputation& entry) {
    if (writer == entry.run) return;
    Say(
        fmt::format("run: expected {}, the last op that writes tensor '{}' (with it all run that do), found {}, which "
                    "leaves it unfinished",
                    OpName(writer), TensorName(tensor), OpName(entry.run)));
  }

  // The entry is in the gap, of one of its results.
  void CheckWithin(const GapDecision& gap, const Recomputation& entry) {
    const std::string& name = TensorName(gap.tensor);
    CheckWriter(gap.tensor, LastWriterUntil(gap.after, gap.tensor, step_, uses_), entry);
    if (entry.before == gap.before && !entry.keep) {
      Say(fmt::format(
          "keep: expected keep_result: false in the gap of tensor '{}' before {}, found keep: false here; that op uses "
          "the tensor, and the gap says whether it stays",
          name, OpName(entry.before)));
    }
    if (entry.leaves_after >= gap.before) {
      Say(fmt::format("leaves_after: expected an op before {}, which ends the gap of tensor '{}', found {}",
                      OpName(gap.before), name, OpName(entry.leaves_after)));
    }
  }

  // Whether some result is used by no op any more, so that it is missing for other entries if for anybody.
  bool CheckUnused(const Recomputation& entry) {
    bool any = false;
    for (const TensorId t : step_.ops[Index(entry.run)].writes) {
      if (uses_.of[Index(t)].back() >= entry.before || !step_.tensors[Index(t)].Traits().may_move) continue;
      any = true;
      CheckWriter(t, uses_.writers[Index(t)].back(), entry);
      const OpId changes = ChangesOf(t);
      const bool changed = changes != kNoOp && changes < entry.before;
      if (!changed && step_.MayRecompute(t, entry.before)) continue;
      Say(fmt::format("tensor '{}' cannot be recomputed before {}: {}", TensorName(t), OpName(entry.before),
                      changed ? OpName(changes) + " has changed it, or what it is made from"
                              : "the recording does not let all that it takes run again"));
    }
    return any;
  }

  OpId ChangesOf(TensorId tensor) {
    if (changes_.empty()) changes_ = FirstChanges(step_);
    return changes_[Index(tensor)];
  }

  // Where results of the entry's op are recomputed: "only 'x' missing between 'a' and 'b'".
  std::string WhereMissing(const Recomputation& entry) const {
    std::string text;
    for (const GapDecision& gap : plan_.gaps) {
      if (gap.action != GapAction::kRecompute || gap.IsOpen()) continue;
      if (!Contains(step_.ops[Index(entry.run)].writes, gap.tensor)) continue;
      text += fmt::format("{} '{}' missing between {} and {}", text.empty() ? "only" : ",", TensorName(gap.tensor),
                          OpName(gap.after), OpName(gap.before));
    }
    return text.empty() ? "none anywhere" : text;
  }

  const Plan& plan_;
  const TrainingStep& step_;
  const Uses& uses_;
  std::size_t index_ = 0;
  std::vector<OpId> changes_;  // by tensor, once they are asked for
  std::vector<PlanMistake> mistakes_;
};

}  // namespace

OpId LastWriterUntil(OpId until, TensorId tensor, const TrainingStep& step, const Uses& uses) {
  OpId last = kNoOp;
  for (const OpId op : uses.of[Index(tensor)]) {
    if (op <= until && Contains(step.ops[Index(op)].writes, tensor)) last = op;
  }
  return last;
}

std::vector<OpId> FirstChanges(const TrainingStep& step) {
  std::vector<OpId> changes(step.tensors.size(), kNoOp);
  const auto note = [&changes](TensorId t, OpId op) {
    OpId& first = changes[Index(t)];
    if (op != kNoOp && (first == kNoOp || op < first)) first = op;
  };
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    if (step.IsForward(op)) continue;
    for (const TensorId t : step.ops[Index(op)].writes) note(t, op);
  }
  for (const Op& op : step.ops) {
    if (op.pass != Pass::kForward) continue;
    for (const TensorId source : op.reads) {
      for (const TensorId t : op.writes) note(t, changes[Index(source)]);
    }
  }
  return changes;
}

std::vector<PlanMistake> EntryMistakes(const Plan& plan, const TrainingStep& step, const Uses& uses) {
  return EntryChecker(plan, step, uses).Run();
}

}  // namespace spillway
