// What plans may say of sections of tensors, in memory and in files.
#include <catch2/catch.hpp>

#include "model/network/network.h"
#include "sim/plan/parts.h"
#include "tests/sim/half_swapped.h"
#include "tests/sim/stream_all.h"
#include "tests/user_errors.h"

namespace spillway {

TEST_CASE("what sections may not be") {
  const PartsPlace p(LargeMaps());
  const Plan good = HalfSwapped(p);
  const std::string name = p.step.tensors[Index(good.gaps[0].tensor)].name;
  const auto says = [&](auto change) {
    Plan plan = good;
    change(plan);
    return Says(p, plan);
  };
  CHECK(says([](Plan& plan) {
          plan.gaps[0].samples = {8, 17};
        }) == "gaps[0]: tensor '" + name + "': expected samples within [0, 16], found [8, 17]\n");
  CHECK(says([](Plan& plan) {
          plan.gaps[0].samples = {2, 4};
        }).find("of at least 64 KiB, found 32 KiB for samples [0, 2]") != std::string::npos);
  CHECK(says([](Plan& plan) {
          plan.gaps.push_back(plan.gaps[0]);
          plan.gaps[1].samples = {4, 16};
        }).find("gaps[1]: a second decision on samples of tensor '" + name + "'") == 0);
  CHECK(says([](Plan& plan) {
          plan.gaps.push_back(plan.gaps[0]);
          plan.gaps[1].samples = {};
        }).find("a second decision") != std::string::npos);
  CHECK(says([](Plan& plan) {
          plan.runtime.memory = MemoryModel::kPool;
        }).find("expected a runtime with memory: arena, found pool") != std::string::npos);
  CHECK(says([](Plan& plan) {
          plan.gaps[0].action = GapAction::kRecompute;
          plan.gaps[0].out_after = plan.gaps[0].in_at = kNoOp;
        }).find("samples belong to swap") != std::string::npos);
  CHECK(says([&](Plan& plan) {
          plan.gaps[0].tensor = p.step.ops[Index(p.Op("fc:forward"))].reads[1];
        }).find("always stays on the device") != std::string::npos);
  CHECK(says([&](Plan& plan) {
          const TensorId stem = p.step.ops[Index(p.Op("conv1:forward"))].writes[0];
          const std::vector<OpId>& uses = p.tables.uses.of[Index(stem)];
          plan.gaps = {{.tensor = stem,
                        .after = uses[0],
                        .before = uses[1],
                        .out_after = uses[0],
                        .in_at = uses[1],
                        .reason = "by hand",
                        .samples = {8, 16}}};
          plan.ops = {StreamAll(p, uses[0], {{.samples = 8}, {.samples = 8}})};
        }).find("'conv1:forward' streams tensor 'conv1', which is swapped in sections") != std::string::npos);
}

// 11 x 11 x 5 numbers a sample: 2,420 bytes.
TEST_CASE("sections of odd maps lie at multiples of 512 bytes") {
  NetworkBuilder b("odd", {.n = 512, .c = 3, .h = 11, .w = 11});
  const LayerId conv = b.Convolution("conv", kNetworkInput, Square(5, 3, 1, 1));
  const PartsPlace p(b.Loss(b.Linear("fc", b.Relu("relu", b.Convolution("conv2", conv, Square(4, 3, 1, 1))), 3)));
  TensorId map = kNoTensor;
  for (const TensorId t : p.step.maps) {
    if (p.step.tensors[Index(t)].name == "conv") map = t;
  }
  REQUIRE(map != kNoTensor);
  CHECK(SamplesApart(p.step.tensors[Index(map)]) == 128);
  const MapGap gap = ForwardBackwardGap(p.step, p.tables.uses, map);
  Plan plan = p.Whole();
  plan.gaps.push_back(SwappedByHand(map, gap));
  plan.gaps.back().samples = {100, 300};
  INFO(Says(p, plan));
  CHECK(
      Says(p, plan).find("expected a section of multiples of 128 samples, as [0, 384], so that its bytes are multiples "
                         "of 512, found [100, 300]") != std::string::npos);
  plan.gaps[0].samples = {128, 256};
  CHECK(Says(p, plan) == "");
  CHECK(ViolationsOf(p.Lowered(plan), p.step) == "");
}

TEST_CASE("samples of a plan file") {
  const PartsPlace p(LargeMaps());
  const std::string text = PlanToYaml(HalfSwapped(p), p.step);
  CHECK(text.find(", samples: [8, 16], reason: ") != std::string::npos);
  for (const char* wrong : {"[8]", "[8, 8]", "[8, x]", "[-1, 8]", "8", "[8, 16, 24]"}) {
    std::string changed = text;
    changed.replace(changed.find("[8, 16]"), 7, wrong);
    INFO(changed);
    CHECK(ErrorOf([&] {
            ParsePlan(changed, "plan.yaml", p.step);
          }).find("samples: expected the first sample and the one behind the last, as in [0, 64]") !=
          std::string::npos);
  }
}

}  // namespace spillway
