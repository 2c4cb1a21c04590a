// What PoocH plans for ResNets: how far its search went, what it makes of memory, link and runtime.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "sim/plan/runtime.h"
#include "sim/planning/plan_cache.h"
#include "sim/strategies/pooch/ladder.h"
#include "tests/sim/zoo_setting.h"

namespace spillway {
namespace {

Machine WithLink(Machine machine, double factor) {  // copies take `factor` times as long
  for (TransferCurve& curve : machine.links[0].curves) {
    for (TransferCurve::Point& point : curve.points) {
      point.time = static_cast<Nanos>(static_cast<double>(point.time) * factor);
    }
  }
  return machine;
}

Plan WithoutReasons(Plan plan) {
  for (GapDecision& gap : plan.gaps) gap.reason.clear();
  return plan;
}

std::string CappedOnLadder(const LadderLimits& limits = {}) {
  return fmt::format("capped at {} simulations for each of {} capacities", limits.step1, limits.rungs);
}

Classes ClassesOf(const ZooSetting& s, const Plan& plan) {
  Classes classes;
  for (const TensorId map : s.step.maps) {
    const GapDecision* gap = DecisionOn(plan, map);
    const bool swap = gap != nullptr && gap->action == GapAction::kSwap;
    classes.push_back(gap == nullptr ? MapClass::kKeep : swap ? MapClass::kSwap : MapClass::kRecompute);
  }
  return classes;
}

// Of the classes of `plan`, in PoocH's model.
Nanos ModelTime(const ZooSetting& s, const Plan& plan, bool keep_passed) {
  const PoochModel model = MakeModel(s.problem);
  Search search(model, SwapInRule::kWhenRoom);
  search.keep_passed = keep_passed;
  return search.Simulate(ClassesOf(s, plan)).total;
}

TEST_CASE("the plan says how far the search went") {
  ZooSetting s("resnet50", 384, LoadMachine("v100-x86-pcie3"));
  s.problem.simulation_cap = 500;
  const Planned capped = s.PlanBy("swap-opt");
  CHECK(capped.plan.search == "capped at 500 simulations");
  CHECK(capped.plan.evaluations < 700);
  const ZooSetting fast("resnet50", 384, WithLink(LoadMachine("v100-x86-pcie3"), 0.1));
  for (const char* name : {"swap-opt", "pooch"}) {
    const std::string search = fast.PlanBy(name).plan.search;
    CHECK(search == "exact for one capacity");
  }
  CHECK(fast.PlanBy("pooch-released").plan.search.empty());
}

TEST_CASE("with more memory a capped search finds nothing slower", "[plain]") {
  for (const std::int64_t batch : {256, 640}) {
    ZooSetting s("resnet50", batch, LoadMachine("v100-x86-pcie3"));
    PlanCache shared;
    s.problem.plans = &shared;
    Nanos last = kNever;
    for (Bytes capacity = 15'000 * kMB; capacity <= 16'000 * kMB; capacity += 160 * kMB + 1) {
      CAPTURE(batch, capacity);
      s.problem.capacity = capacity;
      const Planned planned = s.PlanBy("pooch");
      REQUIRE(planned.plan.search == CappedOnLadder());
      const Nanos time = ModelTime(s, planned.plan, false);
      CHECK(time <= last);
      last = time;
    }
  }
}

// Whose step 2, every map looked at in every round, took 30,000 simulations a rung, so that no more than four were tried.
TEST_CASE("a deep network has the whole ladder", "[plain]") {
  const ZooSetting s("resnet152", 256, LoadMachine("v100-x86-pcie3"));
  const Planned planned = s.PlanBy("pooch");
  const LadderLimits limits = LimitsFor(s.step);
  CHECK(limits.rungs < LadderLimits{}.rungs);
  CHECK(planned.plan.search == CappedOnLadder(limits));
  CHECK(planned.plan.evaluations < limits.rungs * (limits.step1 + limits.step2) + 1000);  // and judging, reasons
}

// Every reason is of the capacity that there is, whatever rung the classes were found for.
TEST_CASE("what costs no time here is what has hidden copies here", "[plain]") {
  const ZooSetting s("resnet50", 512, LoadMachine("v100-x86-pcie3"));
  const Planned planned = s.PlanBy("pooch");
  const PoochModel model = MakeModel(s.problem);
  Search search(model, SwapInRule::kWhenRoom);
  search.keep_passed = false;
  const Classes classes = ClassesOf(s, planned.plan);
  const Nanos total = search.Simulate(classes).total;
  int swapped = 0;
  for (std::size_t m = 0; m < classes.size(); ++m) {
    const GapDecision* gap = DecisionOn(planned.plan, s.step.maps[m]);
    if (gap == nullptr || gap->action != GapAction::kSwap || model.profile().maps[m].on_host) continue;
    ++swapped;
    const bool free = search.Simulate(classes, static_cast<std::int32_t>(m)).total >= total;
    INFO(gap->reason);
    CHECK((gap->reason.find("swapping costs no time") != std::string::npos) == free);
  }
  CHECK(swapped > 5);
}

TEST_CASE("PoocH frees the maps that it passes on the way to another one", "[plain]") {
  const ZooSetting s("resnet50", 512, LoadMachine("v100-x86-pcie3"));
  for (const bool keep : {false, true}) {
    const Planned planned = s.PlanBy(keep ? "pooch-keep-passed" : "pooch");
    int recomputed = 0;
    for (const GapDecision& gap : planned.plan.gaps) {
      if (gap.action != GapAction::kRecompute) continue;
      ++recomputed;
      CHECK(gap.keep_passed == keep);
    }
    CHECK(recomputed > 10);
  }
  // Keeping them is the kinder runtime: for the same decisions and for what is found for each.
  const Nanos freed = ModelTime(s, s.PlanBy("pooch").plan, false);
  CHECK(ModelTime(s, s.PlanBy("pooch").plan, true) < freed);
  CHECK(ModelTime(s, s.PlanBy("pooch-keep-passed").plan, true) < freed);
}

TEST_CASE("planners cut backward where the runtime does") {
  ZooSetting s("resnet50", 512, LoadMachine("v100-x86-pcie3"));
  const std::size_t layers = MakeModel(s.problem).profile().timings.size();
  s.problem.use_runtime = true;
  s.problem.runtime = RuntimeByName("pooch");
  CHECK(MakeModel(s.problem).profile().timings.size() == layers);
  s.problem.runtime.backward_units = BackwardUnits::kBreakPoints;
  CHECK(MakeModel(s.problem).profile().timings.size() < layers);
  const Planned planned = s.PlanBy("swap-all");
  const std::vector<std::int32_t> unit = UnitOfOps(s.step, BackwardUnits::kBreakPoints);
  for (const GapDecision& gap : planned.plan.gaps) {
    CHECK(unit[Index(gap.in_at)] != unit[Index(gap.in_at - 1)]);  // swap-ins are issued where a unit begins
  }
}

TEST_CASE("PoocH keeps everything that stalls where there is room") {
  ZooSetting s("resnet50", 32, LoadMachine("v100-x86-pcie3"));
  const Planned planned = s.PlanBy("pooch-released");
  // Everything fits: the greedy pass keeps every map.
  CHECK(planned.plan.gaps.empty());
  // The paper's step 1 never looks at hidden maps; what it swaps costs nothing, so nothing is recomputed.
  CHECK(CountClasses(s.PlanBy("pooch").plan, s.step).recompute == 0);
}

TEST_CASE("without copy times nothing is recomputed") {
  ZooSetting s("resnet50", 512, WithLink(LoadMachine("v100-x86-pcie3"), 0));
  for (const char* name : {"pooch", "pooch-released"}) {
    const Planned planned = s.PlanBy(name);
    REQUIRE(planned.feasible);
    CHECK(CountClasses(planned.plan, s.step).recompute == 0);
  }
}

TEST_CASE("a slower link makes for more recomputation") {
  const ZooSetting fast("resnet50", 512, LoadMachine("v100-power9-nvlink2"));
  const ZooSetting slow("resnet50", 512, LoadMachine("v100-x86-pcie3"));
  for (const char* name : {"pooch", "pooch-released"}) {
    CHECK(CountClasses(fast.PlanBy(name).plan, fast.step).recompute <
          CountClasses(slow.PlanBy(name).plan, slow.step).recompute);
  }
  // SuperNeurons' rules do not look at the link.
  const Plan on_fast = WithoutReasons(fast.PlanBy("superneurons").plan);
  const Plan on_slow = WithoutReasons(slow.PlanBy("superneurons").plan);
  CHECK((on_fast.gaps == on_slow.gaps));
}

TEST_CASE("the model and the full path agree on PoocH's runtime") {
  for (const char* machine : {"v100-x86-pcie3", "v100-power9-nvlink2"}) {
    const ZooSetting s("resnet50", 384, LoadMachine(machine));
    const PoochModel model = MakeModel(s.problem);
    Search search(model, SwapInRule::kWhenRoom);
    const Nanos modelled = search.Simulate(search.AllSwap()).total;
    const Evaluation full = Evaluate(s.PlanBy("swap-all").plan, s.problem, {.verify = true, .bounds = false});
    REQUIRE(full.feasible);
    CHECK(static_cast<double>(full.step_time) / static_cast<double>(modelled) == Approx(1).margin(0.03));
  }
}

}  // namespace
}  // namespace spillway
