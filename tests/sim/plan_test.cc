// The chain of tests/step_builder.h with 3 layers:
//
//   op     0    1    2    3    4    5           tensor  ops
//          f1   f2   f3   b3   b2   b1          data    0, 5       m2  1, 2, 4     g2  3, 4
//                                               m1      0, 1, 5    m3  2, 3        g1  4, 5
#include "sim/plan/plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/network/network.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

constexpr TensorId kData = 0, kM1 = 1, kM2 = 2, kM3 = 3, kG2 = 5;  // 4 is g1

Plan PlanOf(std::vector<GapDecision> gaps) {
  Plan plan;
  plan.network = "hand";
  plan.batch = 1;
  plan.gaps = std::move(gaps);
  return plan;
}
GapDecision Swap(TensorId tensor, OpId after, OpId before) {
  return {.tensor = tensor, .after = after, .before = before, .out_after = after, .in_at = before, .reason = ""};
}
GapDecision Recompute(TensorId tensor, OpId after, OpId before) {
  return {.tensor = tensor, .after = after, .before = before, .action = GapAction::kRecompute, .reason = ""};
}
// The message about a plan with this one decision; "" when there is none.
std::string Complaint(const GapDecision& gap, const TrainingStep& step = MakeChain()) {
  const std::vector<std::string> messages = CheckPlan(PlanOf({gap}), step);
  REQUIRE(messages.size() <= 1);
  return messages.empty() ? "" : messages.front();
}

}  // namespace

TEST_CASE("uses are the ops that read or write a tensor, in order and once each") {
  const Uses uses(MakeChain());
  CHECK(uses.of[kData] == std::vector<OpId>{0, 5});
  CHECK(uses.of[kM1] == std::vector<OpId>{0, 1, 5});
  CHECK(uses.of[kM3] == std::vector<OpId>{2, 3});
  CHECK(uses.of[kG2] == std::vector<OpId>{3, 4});
}

TEST_CASE("an op that updates a tensor in place is one use") {
  HandStep b;
  const TensorId t = b.Tensor("t", TensorClass::kFeatureMap, 1);
  b.Op("convolution", Pass::kForward, 1, {}, {t});
  b.Op("bias", Pass::kForward, 1, {t}, {t});
  b.Op("backward", Pass::kBackward, 1, {t}, {t});
  const Uses uses(b.Take());
  CHECK(uses.of[0] == std::vector<OpId>{0, 1, 2});
  CHECK(uses.writers[0] == std::vector<OpId>{0, 1});  // forward only
}

TEST_CASE("writers are forward ops only") {
  const Uses uses(MakeChain());
  CHECK(uses.writers[kM2] == std::vector<OpId>{1});
  CHECK(uses.writers[kData].empty());
  CHECK(uses.writers[kG2].empty());
}

TEST_CASE("next and previous uses, also from ops that do not use the tensor") {
  const Uses uses(MakeChain());
  CHECK(uses.Next(kM1, kNoOp) == 0);
  CHECK(uses.Next(kM1, 0) == 1);
  CHECK(uses.Next(kM1, 1) == 5);
  CHECK(uses.Next(kM1, 3) == 5);
  CHECK(uses.Next(kM1, 5) == kNoOp);
  CHECK(uses.Previous(kM1, 5) == 1);
  CHECK(uses.Previous(kM1, 4) == 1);
  CHECK(uses.Previous(kM1, 1) == 0);
  CHECK(uses.Previous(kM1, 0) == kNoOp);
}

TEST_CASE("the gap between forward and backward") {
  const TrainingStep step = MakeChain();
  const Uses uses(step);
  const auto gap_of = [&](TensorId map) {
    const MapGap gap = ForwardBackwardGap(step, uses, map);
    return std::pair(gap.after, gap.before);
  };
  CHECK(gap_of(kData) == std::pair(0, 5));
  CHECK(gap_of(kM1) == std::pair(1, 5));
  CHECK(gap_of(kM2) == std::pair(2, 4));
  CHECK(gap_of(kM3) == std::pair(2, 3));
}

TEST_CASE("a map that backward never uses has no such gap, nor has any in inference") {
  HandStep b;
  const TensorId input = b.Tensor("input", TensorClass::kInput, 1);
  const TensorId t = b.Tensor("t", TensorClass::kFeatureMap, 1);
  b.Op("f", Pass::kForward, 1, {input}, {t});
  b.Op("loss", Pass::kForward, 1, {t}, {});
  const TrainingStep step = b.Take();
  REQUIRE(step.inference);
  for (TensorId map : {input, t}) {
    const MapGap gap = ForwardBackwardGap(step, Uses(step), map);
    CHECK(gap.after == kNoOp);
    CHECK(gap.before == kNoOp);
  }
  CHECK(CountClasses(PlanOf({}), step).keep == 2);
}

TEST_CASE("an input that only backward reads has a gap that starts before everything") {
  HandStep b;
  const TensorId input = b.Tensor("input", TensorClass::kInput, 1);
  b.Op("f", Pass::kForward, 1, {}, {});
  b.Op("b", Pass::kBackward, 1, {input}, {});
  const TrainingStep step = b.Take();
  const MapGap gap = ForwardBackwardGap(step, Uses(step), input);
  CHECK(gap.after == kNoOp);
  CHECK(gap.before == 1);
}

TEST_CASE("classes are counted by the decision between forward and backward") {
  const TrainingStep step = MakeChain();
  // Four maps: data swapped, m1 recomputed, m2 swapped; m3 not decided. A gap elsewhere does not make a class.
  const ClassCounts counts = CountClasses(
      PlanOf({Swap(kData, 0, 5), Recompute(kM1, 1, 5), Swap(kM2, 2, 4), Swap(kG2, 3, 4), Swap(kM3, 2, 3)}), step);
  CHECK(counts.keep == 0);
  CHECK(counts.swap == 3);
  CHECK(counts.recompute == 1);
  const ClassCounts early = CountClasses(PlanOf({Swap(kM1, 0, 1)}), step);
  CHECK(early.keep == 4);
  CHECK(early.swap == 0);
}

TEST_CASE("a sound plan has no mistakes") {
  const Plan plan = PlanOf({Swap(kData, kNoOp, 0), Swap(kData, 0, 5), Recompute(kM1, 1, 5), Swap(kM2, 2, 4)});
  CHECK(CheckPlan(plan, MakeChain()).empty());
}

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
    CHECK_THAT(Complaint(Swap(t, 0, 1), b.Take()), Catch::Contains("always stays on the device"));
  }
}

TEST_CASE("one decision a gap and an op") {
  const TrainingStep step = MakeChain();
  Plan plan = PlanOf({Swap(kM2, 2, 4), Swap(kM1, 1, 5), Recompute(kM2, 2, 4)});
  plan.ops = {{.op = 3, .workspace = 5}, {.op = 3}};
  const std::vector<std::string> messages = CheckPlan(plan, step);
  REQUIRE(messages.size() == 2);
  CHECK(messages[0] == "gaps[2]: a second decision on the gap of tensor 'm2' before 'b2:backward'");
  CHECK(messages[1] == "ops[1]: a second decision on op 'b3:backward'");
}

TEST_CASE("indices out of range and negative figures are mistakes, not crashes") {
  const TrainingStep step = MakeChain();
  CHECK(Complaint(Swap(99, 2, 4)) == "gaps[0]: no such tensor");
  CHECK(Complaint(Swap(kNoTensor, 2, 4)) == "gaps[0]: no such tensor");
  CHECK(Complaint(Swap(kM2, 2, 99)) == "gaps[0]: tensor 'm2': no such op");
  CHECK(Complaint(Swap(kM2, 2, kNoOp)) == "gaps[0]: tensor 'm2': no such op");
  CHECK(Complaint(Swap(kM2, -2, 4)) == "gaps[0]: tensor 'm2': no such op");
  Plan plan = PlanOf({});
  plan.ops = {{.op = 6}, {.op = 1, .workspace = -1}};
  CHECK(CheckPlan(plan, step).size() == 2);
  plan.ops.clear();
  plan.runtime.copy_streams = 3;
  plan.runtime.framework_time = -1;
  plan.runtime.copy_chunk = -1;
  plan.runtime.collection_time = -1;
  plan.runtime.host_percent = 0;
  CHECK(CheckPlan(plan, step).size() == 5);
}

// The first ops of the units of backward, by layer, as far as the first `count` of them.
std::string Units(const TrainingStep& step, BackwardUnits units, std::size_t count) {
  const std::vector<std::int32_t> unit = UnitOfOps(step, units);
  std::string text;
  for (OpId op = step.first_backward; op < step.first_update && count > 0; ++op) {
    const std::string& layer = step.layer_names[Index(step.ops[Index(op)].layer)];
    const bool begins = op == step.first_backward || unit[Index(op)] != unit[Index(op - 1)];
    const bool same_layer = op > step.first_backward && step.ops[Index(op)].layer == step.ops[Index(op - 1)].layer;
    if (begins) text += text.empty() ? "" : " | ";
    if (begins || !same_layer) text += (begins ? "" : " ") + layer;
    count -= begins ? 1 : 0;
  }
  return text;
}

TEST_CASE("backward is cut into layers, or where a layer's result is a feature map") {
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("resnet50", {.batch = 2}), StepOptionsByName("chainer"));
  const auto starts = [](const std::string& text) { return 1 + std::count(text.begin(), text.end(), '|'); };
  const std::string layers = Units(step, BackwardUnits::kLayers, 1000);
  const std::string points = Units(step, BackwardUnits::kBreakPoints, 1000);
  INFO(layers << "\n" << points);
  CHECK(Units(step, BackwardUnits::kLayers, 5) == "loss | fc1000 | pool5 | res5c_relu | bn_5c_branch2c");
  CHECK(Units(step, BackwardUnits::kBreakPoints, 5) ==
        "loss fc1000 | pool5 | res5c_relu bn_5c_branch2c | res5c_branch2c | res5c_branch2b_relu");
  CHECK(starts(layers) == 159);  // 53 convolutions and batch norms, 49 ReLUs, two poolings, fc and the loss
  CHECK(starts(points) == 105);
  // Forward and the update are not touched, and no unit reaches from one part of the step into another.
  const std::vector<std::int32_t> a = UnitOfOps(step, BackwardUnits::kLayers);
  const std::vector<std::int32_t> b = UnitOfOps(step, BackwardUnits::kBreakPoints);
  for (OpId op = 0; op < step.first_backward; ++op) REQUIRE(a[Index(op)] == b[Index(op)]);
  for (const OpId op : {step.first_backward, step.first_update}) CHECK(b[Index(op)] == b[Index(op - 1)] + 1);
}

TEST_CASE("figures have bounds") {
  const TrainingStep step = MakeChain();
  const auto says = [&step](const Runtime& runtime, const OpDecision& decision = {.op = 0}) {
    Plan plan = PlanOf({});
    plan.runtime = runtime;
    plan.ops = {decision};
    const std::vector<std::string> messages = CheckPlan(plan, step);
    REQUIRE(messages.size() <= 1);
    return messages.empty() ? "" : messages.front();
  };
  CHECK(says({.copy_chunk = 64 * kKiB}) == "");
  CHECK(says({.copy_chunk = 64 * kKiB - 1}) == "copy_chunk must be 0 or at least 64 KiB");
  CHECK(says({.framework_time = kSecond}) == "");
  CHECK(says({.framework_time = kSecond + 1}) == "framework_time must be at most 1 s");
  CHECK(says({.collection_time = kSecond}) == "");
  CHECK(says({.collection_time = kSecond + 1}) == "collection_time must be at most 1 s");
  CHECK(says({}, {.op = 0, .workspace = 1000 * kGB}) == "");
  CHECK(says({}, {.op = 0, .again = OpAgain{.workspace = kGB}}) == "");
  CHECK(says({}, {.op = 0, .again = OpAgain{.workspace = -1}}) ==
        "ops[0]: op 'f1:forward', again: workspace must not be negative");
  CHECK(says({}, {.op = 3, .again = OpAgain{}}) ==
        "ops[0]: op 'b3:backward' does not run again: only forward ops are recomputed");
  CHECK(says({}, {.op = 0, .workspace = 1000 * kGB + 1}) == "ops[0]: op 'f1:forward': workspace must be at most 1 TB");
  for (std::int32_t algorithm : {-1, 1}) {
    CHECK(says({}, {.op = 0, .algorithm = algorithm}) == "ops[0]: op 'f1:forward' has no choice of algorithm");
    CHECK(says({}, {.op = 0, .again = OpAgain{.algorithm = algorithm}}) ==
          "ops[0]: op 'f1:forward' has no choice of algorithm");
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

TEST_CASE("a plan for another network or batch") {
  Plan plan = PlanOf({});
  plan.network = "vgg16";
  plan.batch = 7;
  const std::vector<std::string> messages = CheckPlan(plan, MakeChain());
  REQUIRE(messages.size() == 2);
  CHECK(messages[0] == "the plan is for network 'vgg16', not 'hand'");
  CHECK(messages[1] == "the plan is for batch 7, not 1");
}

}  // namespace spillway
