// What may be decided on one gap: between which ops, and when copies leave and come.
#include <catch2/catch.hpp>

#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/plan/plan.h"
#include "tests/sim/chain_plans.h"

namespace spillway {

using namespace chain_plans;

TEST_CASE("a copy out may start after the last writer, not before, and not behind the gap's start") {
  GapDecision gap = Swap(kM2, 2, 4);
  gap.out_after = 1;  // f2 writes m2
  CHECK(Complaint(gap) == "");
  gap.out_after = 0;
  CHECK(Complaint(gap) == "gaps[0]: tensor 'm2' cannot be copied out after 'f1:forward': 'f2:forward' still writes it");
  gap.out_after = 3;
  CHECK(Complaint(gap) ==
        "gaps[0]: tensor 'm2': out_after 'b3:backward' lies behind the start of the gap, 'f3:forward'");
}

TEST_CASE("what leaves later than its gap begins leaves within it") {
  GapDecision gap = Swap(kM2, 2, 4);
  for (const OpId op : {2, 3}) {
    gap.leaves_after = op;
    CHECK(Complaint(gap) == "");
  }
  for (const OpId op : {1, 4}) {
    gap.leaves_after = op;
    CHECK_THAT(Complaint(gap), Catch::StartsWith("gaps[0]: tensor 'm2': expected leaves_after within the gap, from "
                                                 "'f3:forward' to the op before 'b2:backward', found '"));
  }
  gap.leaves_after = 3;
  gap.out_after = 3;
  CHECK(Complaint(gap) == "");
  gap.in_at = 3;
  CHECK(Complaint(gap) ==
        "gaps[0]: tensor 'm2': in_at 'b3:backward' lies outside the gap, which is behind 'b3:backward' up to "
        "'b2:backward'");
  gap.in_at = 4;
  gap.out_after = 4;
  CHECK(Complaint(gap) == "gaps[0]: tensor 'm2': out_after 'b2:backward' lies behind leaves_after, 'b3:backward'");
  GapDecision before = Swap(kData, kNoOp, 0);
  before.leaves_after = 0;
  CHECK_THAT(Complaint(before), Catch::Contains("is on the host before its first use: leaves_after has no meaning"));
  GapDecision again = Recompute(kM1, 1, 5);
  again.leaves_after = 3;
  CHECK(Complaint(again) == "");
  again.leaves_after = 99;
  CHECK(Complaint(again) == "gaps[0]: tensor 'm1': no such op");
}

TEST_CASE("a copy out that starts before its gap needs the tensor on the device until then") {
  // t is made by op 0 and used by ops 1, 2 and 4. The gap (2, 4) may be prepared from op 0 on...
  HandStep b;
  const TensorId t = b.Tensor("t", TensorClass::kFeatureMap, 1);
  b.Op("f0", Pass::kForward, 1, {}, {t});
  b.Op("f1", Pass::kForward, 1, {t}, {});
  b.Op("b2", Pass::kBackward, 1, {t}, {});
  b.Op("b3", Pass::kBackward, 1, {}, {});
  b.Op("b4", Pass::kBackward, 1, {t}, {});
  const TrainingStep step = b.Take();
  GapDecision late = Swap(t, 2, 4);
  late.out_after = 0;
  CHECK(CheckPlan(PlanOf({late}), step).empty());
  // ... unless t is away between ops 1 and 2. From op 2 on it is back.
  const std::string away =
      "gaps[1]: tensor 't' cannot be copied out after 'f0': it is not on the device all the time until 'b2'";
  CHECK(CheckPlan(PlanOf({Swap(t, 1, 2), late}), step) == std::vector<std::string>{away});
  CHECK(CheckPlan(PlanOf({Swap(t, 1, 2), Swap(t, 2, 4)}), step).empty());
  // A result that is not kept is gone after every use: here after op 1, before the gap starts.
  GapDecision passing = Recompute(t, 0, 1);
  passing.keep_result = false;
  late.out_after = 1;
  CHECK(CheckPlan(PlanOf({passing, late}), step).size() == 1);
  passing.keep_result = true;
  CHECK(CheckPlan(PlanOf({passing, late}), step).empty());
}

TEST_CASE("a copy in is issued inside the gap") {
  GapDecision gap = Swap(kM2, 2, 4);
  gap.in_at = 3;
  CHECK(Complaint(gap) == "");
  for (OpId outside : {2, 5, kNoOp}) {
    gap.in_at = outside;
    CHECK_THAT(Complaint(gap),
               Catch::Contains("lies outside the gap, which is behind 'f3:forward' up to 'b2:backward'"));
  }
}

TEST_CASE("a gap lies between consecutive uses") {
  CHECK(Complaint(Swap(kM1, 0, 5)) ==
        "gaps[0]: tensor 'm1' is used next after 'f1:forward' by 'f2:forward', not by 'b1:backward'");
  CHECK(Complaint(Swap(kM1, 2, 5)) == "gaps[0]: 'f3:forward' does not use tensor 'm1'");
  CHECK(Complaint(Swap(kM1, 5, 5)) ==
        "gaps[0]: tensor 'm1' is used next after 'b1:backward' by no op, not by 'b1:backward'");
}

TEST_CASE("only the input can be absent before its first use") {
  CHECK(Complaint(Swap(kData, kNoOp, 0)) == "");
  CHECK(Complaint(Swap(kM1, kNoOp, 0)) == "gaps[0]: tensor 'm1' does not exist before its first use 'f1:forward'");
}

TEST_CASE("the input is never copied out") {
  GapDecision gap = Swap(kData, 0, 5);
  gap.out_after = kNoOp;
  CHECK(Complaint(gap) == "");
  gap.out_after = 3;
  CHECK(Complaint(gap) == "gaps[0]: tensor 'data' is on the host already: out_after has no meaning for it");
}

TEST_CASE("recomputation needs a forward writer") {
  CHECK(Complaint(Recompute(kM2, 2, 4)) == "");
  CHECK(Complaint(Recompute(kM1, 0, 1)) == "");  // for a later forward use
  CHECK(Complaint(Recompute(kData, 0, 5)) == "gaps[0]: tensor 'data' cannot be recomputed: no forward op computes it");
  CHECK(Complaint(Recompute(kG2, 3, 4)) == "gaps[0]: tensor 'g2' cannot be recomputed: no forward op computes it");
}

TEST_CASE("what backward has overwritten cannot be recomputed") {
  HandStep b;
  const TensorId t = b.Tensor("t", TensorClass::kFeatureMap, 1);
  b.Op("f", Pass::kForward, 1, {}, {t});
  b.Op("b1", Pass::kBackward, 1, {t}, {t});
  b.Op("b2", Pass::kBackward, 1, {t}, {});
  const TrainingStep step = b.Take();
  CHECK(Complaint(Recompute(t, 0, 1), step) == "");
  CHECK(Complaint(Recompute(t, 1, 2), step) == "gaps[0]: tensor 't' cannot be recomputed: backward op 'b1' wrote it");
}

TEST_CASE("fields of the other action are refused") {
  GapDecision swap = Swap(kM2, 2, 4);
  swap.keep_result = false;
  CHECK_THAT(Complaint(swap), Catch::Contains("keep_result belongs to recompute"));
  swap.keep_result = true;
  swap.keep_passed = false;
  CHECK_THAT(Complaint(swap), Catch::Contains("keep_passed belongs to recompute"));
  GapDecision recompute = Recompute(kM2, 2, 4);
  recompute.keep_result = false;
  CHECK(Complaint(recompute) == "");
  recompute.in_at = 4;
  CHECK(Complaint(recompute) == "gaps[0]: tensor 'm2': out_after and in_at belong to swap");
}

TEST_CASE("parameters, optimizer state and auxiliary tensors never move") {
  for (TensorClass use : {TensorClass::kParameter, TensorClass::kOptimizerState, TensorClass::kAuxiliary}) {
    HandStep b;
    const TensorId t = b.Tensor("t", use, 1);
    b.Op("f", Pass::kForward, 1, {}, {t});
    b.Op("b", Pass::kBackward, 1, {t}, {});
    const std::string complaint = Complaint(Swap(t, 0, 1), b.Take());
    CHECK_THAT(complaint, Catch::Contains("always stays on the device"));
    const bool between_steps = complaint.ends_with(" within a step: expected before: next_step");
    CHECK(between_steps == (use != TensorClass::kAuxiliary));
  }
}

TEST_CASE("a tensor does not leave before its last forward writer is done") {
  // In AlexNet a kernel of its own adds the bias to what the convolution has written.
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("alexnet", {.batch = 2}));
  const Uses uses(step);
  int refused = 0, accepted = 0;
  for (TensorId t = 0; t < static_cast<TensorId>(step.tensors.size()); ++t) {
    const std::vector<OpId>& ops = uses.of[static_cast<std::size_t>(t)];
    const std::vector<OpId>& writers = uses.writers[static_cast<std::size_t>(t)];
    const TensorClass use = step.tensors[static_cast<std::size_t>(t)].use;
    if (writers.empty() || use == TensorClass::kAuxiliary) continue;
    for (std::size_t k = 0; k + 1 < ops.size(); ++k) {
      Plan plan = PlanOf({Swap(t, ops[k], ops[k + 1])});
      plan.network = "alexnet";
      plan.batch = 2;
      const bool early = ops[k] < writers.back();
      INFO(step.tensors[static_cast<std::size_t>(t)].name);
      CHECK(CheckPlan(plan, step).size() == (early ? 1 : 0));
      (early ? refused : accepted) += 1;
    }
  }
  CHECK(refused == 8);  // five convolutions and three fully connected layers
  CHECK(accepted > refused);
}

TEST_CASE("a gap between two forward writers is refused with both ops") {
  HandStep b;
  const TensorId t = b.Tensor("t", TensorClass::kFeatureMap, 1);
  b.Op("convolution", Pass::kForward, 1, {}, {t});
  b.Op("bias", Pass::kForward, 1, {t}, {t});
  b.Op("backward", Pass::kBackward, 1, {t}, {});
  const TrainingStep step = b.Take();
  const std::string message =
      "gaps[0]: tensor 't' cannot leave the device after 'convolution': 'bias' still writes it; a gap starts after its "
      "last forward writer at the earliest";
  CHECK(Complaint(Swap(t, 0, 1), step) == message);
  CHECK(Complaint(Recompute(t, 0, 1), step) == message);
  CHECK(Complaint(Swap(t, 1, 2), step) == "");
  CHECK(Complaint(Recompute(t, 1, 2), step) == "");
}

}  // namespace spillway
