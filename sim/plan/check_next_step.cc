// The rules of sim/plan/plan.h on gaps that end in the next step (kNextStep).
#include <fmt/format.h>

#include <string>
#include <vector>

#include "hw/text/lists.h"
#include "sim/plan/check_op.h"

namespace spillway {

namespace {

class NextStepChecker {
 public:
  NextStepChecker(const GapDecision& gap, const TrainingStep& step, const Uses& uses)
      : gap_(gap), step_(step), uses_(uses.of[Index(gap.tensor)]), tensor_(step.tensors[Index(gap.tensor)]) {
    for (const OpId op : uses_) {
      if (Contains(step.ops[Index(op)].writes, gap.tensor)) writer_ = op;
    }
  }

  std::vector<std::string> Run() {
    if (!CheckTensor() || !CheckAfter()) return std::move(mistakes_);
    if (gap_.action != GapAction::kSwap) Say("expected action: swap, as nothing computes it again");
    CheckLeaving();
    CheckOut();
    if (gap_.in_at < 0 || gap_.in_at > uses_.front()) {
      Say(fmt::format("expected in_at from the first op to its first use, {}, found {}", Name(uses_.front()),
                      Name(gap_.in_at)));
    }
    if (!gap_.keep_result || !gap_.keep_passed) Say("keep_result and keep_passed belong to recompute");
    if (!gap_.samples.IsWhole()) Say("samples have no meaning there");
    return std::move(mistakes_);
  }

 private:
  void Say(const std::string& what) {
    mistakes_.push_back(fmt::format("tensor '{}', in a gap to the next step: {}", tensor_.name, what));
  }
  std::string Name(OpId op) const { return op < 0 ? "start" : "'" + step_.ops[Index(op)].name + "'"; }

  bool CheckTensor() {
    if (!tensor_.Traits().resident) {
      Say(fmt::format("it is {}, and only parameters and states stay on the device from step to step",
                      TensorClassName(tensor_.use)));
    } else if (uses_.empty()) {
      Say("no op uses it");
    } else if (!MayRestOnHost(step_, gap_.tensor)) {
      Say(fmt::format("its first use, {}, reads nothing that the step before leaves", Name(uses_.front())));
    }
    return mistakes_.empty();
  }

  bool CheckAfter() {
    if (gap_.after == uses_.back()) return true;
    Say(fmt::format("expected after: {}, its last use, found {}", Name(uses_.back()), Name(gap_.after)));
    return false;
  }

  void CheckLeaving() {
    if (gap_.leaves_after == kNoOp || gap_.leaves_after >= gap_.after) return;
    Say(fmt::format("expected leaves_after at its last use, {}, or behind it, found {}", Name(gap_.after),
                    Name(gap_.leaves_after)));
  }

  // What no op writes is on the host already.
  void CheckOut() {
    if (writer_ == kNoOp) {
      if (gap_.out_after == gap_.after || gap_.out_after == kNoOp) return;
      return Say(fmt::format("no op writes it, so that it is not copied out: expected no out_after, found {}",
                             Name(gap_.out_after)));
    }
    if (gap_.out_after >= writer_ && gap_.out_after <= gap_.Leaves()) return;
    Say(fmt::format("expected out_after from its last writer, {}, to where it leaves, {}, found {}", Name(writer_),
                    Name(gap_.Leaves()), Name(gap_.out_after)));
  }

  const GapDecision& gap_;
  const TrainingStep& step_;
  const std::vector<OpId>& uses_;
  const Tensor& tensor_;
  OpId writer_ = kNoOp;  // the last one
  std::vector<std::string> mistakes_;
};

}  // namespace

std::vector<std::string> NextStepMistakes(const GapDecision& gap, const TrainingStep& step, const Uses& uses) {
  return NextStepChecker(gap, step, uses).Run();
}

}  // namespace spillway
