// What a step's ops use, what a plan makes of its maps, and the units of its backward.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/plan/plan.h"
#include "tests/sim/chain_plans.h"

namespace spillway {

using namespace chain_plans;

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

namespace {

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

}  // namespace

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

}  // namespace spillway
