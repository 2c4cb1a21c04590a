// pooch-parts: layers that do not fit by themselves, all else classified as PoocH does.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "sim/strategies/pooch/fixed_ops.h"
#include "sim/strategies/pooch/pooch_profile.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/parts_place.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

struct Place : PartsPlace {
  using PartsPlace::PartsPlace;
  Problem Within(Bytes capacity) const { return {.step = &step, .costs = &costs, .capacity = capacity, .runtime = {}}; }
  Planned By(const char* strategy, Bytes capacity) const { return StrategyByName(strategy).plan(Within(capacity)); }
  Evaluation Judged(const Planned& planned, Bytes capacity) const { return Evaluate(planned.plan, Within(capacity)); }
  Bytes LargestOp() const { return tables.WorkingSet(tables.LargestWorkingSet()); }
};

}  // namespace

TEST_CASE("pooch-parts runs where a layer does not fit by itself, and is not behind swap-all-parts") {
  int feasible = 0, ahead = 0, other_classes = 0;
  for (const SmallNetwork& network : kNetworks) {
    const Place p(network.build(), network.options);
    for (int percent = 50; percent < 100; percent += 10) {
      const Bytes capacity = p.LargestOp() * percent / 100;
      INFO(network.name << " in " << percent << " % of its largest op");
      CHECK_FALSE(p.By("pooch", capacity).feasible);
      const Planned planned = p.By("pooch-parts", capacity), swapped = p.By("swap-all-parts", capacity);
      CHECK(planned.feasible == swapped.feasible);
      if (!planned.feasible) {
        CHECK(planned.reason == swapped.reason);
        continue;
      }
      REQUIRE(CheckPlan(planned.plan, p.step).empty());
      const Evaluation e = p.Judged(planned, capacity), all = p.Judged(swapped, capacity);  // proved by verify
      REQUIRE(e.feasible);
      REQUIRE(all.feasible);
      CHECK(e.scope.parts == PartScope::kStreamed);
      CHECK(e.bounds.Best() <= e.step_time);
      CHECK(e.step_time <= all.step_time);
      ++feasible;
      ahead += e.step_time < all.step_time ? 1 : 0;
      other_classes += e.classes.keep > all.classes.keep || e.classes.recompute > 0 ? 1 : 0;
    }
  }
  UNSCOPED_INFO(feasible << " plans, " << ahead << " faster than with every map swapped, " << other_classes
                         << " that keep or recompute maps");
  CHECK(feasible > 9);
  CHECK(ahead > 2);
  CHECK(other_classes >= ahead / 2);
}

TEST_CASE("pooch-parts is pooch where every op fits") {
  const Place p(ResNet(), "chainer");
  Problem problem = p.Within(p.LargestOp() * 3);
  problem.use_runtime = true;
  const Planned pooch = StrategyByName("pooch").plan(problem), parts = StrategyByName("pooch-parts").plan(problem);
  REQUIRE(pooch.feasible);
  CHECK(parts.plan.gaps == pooch.plan.gaps);
  CHECK(parts.plan.ops.empty());
  CHECK(parts.plan.strategy == "pooch-parts");
}

// Two layers' maps by hand: what is streamed is on the device for the ops alone that use it whole.
TEST_CASE("what is fixed before maps are classified") {
  const Place p(Vgg());
  const OpId relu = p.Op("relu_conv1_1:forward"), pool = p.Op("pool1:forward");
  const TensorId conv = p.step.ops[Index(relu)].reads[0], map = p.step.ops[Index(relu)].writes[0];
  Plan plan = p.Whole();
  plan.ops.push_back({.op = relu, .parts = {{.samples = 4}, {.samples = 4}}, .streamed = {map}});
  const std::vector<OpId>& uses = p.tables.uses.of[Index(map)];
  REQUIRE(uses.front() == relu);
  plan.gaps.push_back(
      {.tensor = map, .after = relu, .before = uses[1], .out_after = relu, .in_at = uses[1], .reason = ""});
  const FixedOps fixed(p.Within(kGB), p.tables, plan);
  CHECK(fixed.Holds(map));
  CHECK_FALSE(fixed.Holds(conv));
  CHECK_FALSE(fixed.StartsOnDevice(map));
  CHECK(fixed.Arrives(uses[1], map));
  CHECK_FALSE(fixed.Arrives(relu, map));
  CHECK(fixed.Leaves(uses.back(), map));
  CHECK_FALSE(fixed.Leaves(uses[1], map));  // it stays for backward: nobody has said otherwise
  CHECK(fixed.gaps().size() == 1);
  CHECK(fixed.MayRunAgain(conv));
  CHECK_FALSE(fixed.MayRunAgain(map));
  CHECK_FALSE(fixed.MayRunAgain(p.step.ops[Index(uses[1])].writes[0]));
  CHECK(fixed.MayRunAgain(p.step.ops[Index(pool)].writes[0]));  // two convolutions and their maps later
  // Half of the map going out, and half of it ahead.
  REQUIRE(fixed.CostOf(relu) != nullptr);
  CHECK(fixed.CostOf(pool) == nullptr);
  const Bytes bytes = p.step.tensors[Index(map)].bytes;
  CHECK(fixed.CostOf(relu)->workspace == bytes);
  CHECK(fixed.CostOf(relu)->time >= bytes);  // a byte a nanosecond out
  const PoochProfile with = ProfileStep(p.step, p.costs, kGB, 0, BackwardUnits::kLayers, &fixed);
  const PoochProfile without = ProfileStep(p.step, p.costs, kGB);
  const auto decidable = [](const PoochProfile& profile) {
    return std::count_if(profile.maps.begin(), profile.maps.end(), [](const auto& m) { return m.Decidable(); });
  };
  CHECK(decidable(with) == decidable(without) - 1);
}

}  // namespace spillway
