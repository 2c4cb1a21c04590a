// What all strategies have in common, and the simple ones.
#include "sim/strategies/strategies.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/plan/runtime.h"
#include "tests/deep.h"
#include "tests/sim/zoo_setting.h"

namespace spillway {
namespace {

TEST_CASE("strategies and runtimes have names") {
  CHECK(Strategies().size() >= 9);
  for (const Strategy& strategy : Strategies()) CHECK(&StrategyByName(strategy.name) == &strategy);  // no name twice
  CHECK_THROWS_WITH(StrategyByName("poch"), Catch::Contains("no strategy 'poch'") && Catch::Contains("'pooch'"));
  CHECK(RuntimeByName("arena") == Runtime{});
  const Runtime& pooch = RuntimeByName("pooch");
  CHECK(pooch.copy_streams == 1);
  CHECK(pooch.memory == MemoryModel::kPool);
  CHECK(pooch.barrier == Barrier::kPhase);
  CHECK(pooch.host_syncs == HostSyncs::kBackwardLayer);
  CHECK(pooch.swap_in_waits == SwapInWaits::kBackwardLayer);
  CHECK_THROWS_AS(RuntimeByName("arna"), UserError);
}

TEST_CASE("the profile holds every op once and every byte") {
  const ZooSetting s("resnet50", 8, LoadMachine("unit"));
  const PoochProfile p = ProfileStep(s.step, s.costs, s.problem.capacity);
  Nanos ops = 0, rows = 0;
  for (const Op& op : s.step.ops) ops += s.costs.Kernel(LaunchOf(op)).time;
  for (const PoochProfile::ForwardOp& op : p.forward) rows += op.time;
  for (const PoochProfile::Timing& timing : p.timings) rows += timing.time;
  CHECK(rows == ops);
  CHECK(p.forward.size() == static_cast<std::size_t>(s.step.first_backward));
  REQUIRE(p.maps.size() == 105);
  CHECK(p.maps[0].on_host);
  CHECK(p.maps[0].out_time == 0);
  CHECK(p.maps[0].in_time == 8 * 3 * 224 * 224 * 4);  // a byte a nanosecond
  CHECK(p.upload == p.maps[0].in_time);
  // Convolutions: 53 in ResNet-50, whose results batch norm reads.
  CHECK(std::count_if(p.maps.begin(), p.maps.end(), [](const auto& map) { return map.convolution; }) == 53);
  // Each map leaves once.
  CHECK(p.leaving.size() == 105);
  // Whatever is allocated is released: what is live before the first timing is what forward left of it.
  Bytes live = p.initial;
  for (const PoochProfile::ForwardOp& op : p.forward) live += op.allocates - op.releases;
  for (const PoochProfile::Map& map : p.maps) live -= map.bytes;
  CHECK(live == p.timings[0].before);
  // Every map but the input can be computed from other values.
  for (std::size_t m = 1; m < p.maps.size(); ++m) CHECK(p.values[m].writers_end > p.values[m].writers_begin);
}

TEST_CASE("in-core and recompute-all follow from the network alone") {
  const ZooSetting s("resnet50", 4, LoadMachine("unit"));
  const Planned in_core = s.PlanBy("in-core");
  CHECK(in_core.feasible);
  CHECK(in_core.plan.gaps.empty());
  CHECK(in_core.plan.runtime == RuntimeByName("arena"));
  const Planned recompute = s.PlanBy("recompute-all");
  const ClassCounts counts = CountClasses(recompute.plan, s.step);
  CHECK(counts.keep == 1);  // the input
  CHECK(counts.recompute == 104);
  CHECK(CheckPlan(recompute.plan, s.step).empty());
  // Results that stay: pool1 and the outputs of the first 15 of 16 blocks, each read twice.
  CHECK(std::count_if(recompute.plan.gaps.begin(), recompute.plan.gaps.end(),
                      [](const GapDecision& gap) { return gap.keep_result; }) == 16);
}

TEST_CASE("swap-all decides every map, in order of need") {
  const ZooSetting s("resnet50", 64, LoadMachine("v100-x86-pcie3"));
  for (const char* name : {"swap-all", "swap-all-unscheduled"}) {
    const Planned planned = s.PlanBy(name);
    REQUIRE(planned.feasible);
    CHECK(CheckPlan(planned.plan, s.step).empty());
    CHECK(CountClasses(planned.plan, s.step).swap == 105);
    CHECK(std::is_sorted(planned.plan.gaps.begin(), planned.plan.gaps.end(),
                         [](const GapDecision& a, const GapDecision& b) { return a.in_at < b.in_at; }));
    CHECK(planned.plan.strategy == name);
    CHECK(planned.plan.batch == 64);
    CHECK(planned.plan.machine == "v100-x86-pcie3");
    CHECK(planned.plan.runtime == RuntimeByName("pooch"));
    CHECK(planned.plan.capacity == s.problem.capacity);
    CHECK(planned.plan.evaluations == 1);
  }
}

TEST_CASE("every plan obeys the rules and comes out the same twice") {
  const ZooSetting s(Cases("resnet18", "resnet50"), Cases(1024, 384), LoadMachine("v100-x86-pcie3"));
  for (const Strategy& strategy : Drawn(Strategies())) {
    CAPTURE(strategy.name);
    const Planned planned = strategy.plan(s.problem);
    if (std::string(strategy.name) == "accumulate") {  // moves nothing, and knows that this does not fit
      CHECK_THAT(planned.reason, Catch::StartsWith("out_of_memory: "));
      continue;
    }
    REQUIRE(planned.feasible);
    CHECK(CheckPlan(planned.plan, s.step).empty());
    const ClassCounts counts = CountClasses(planned.plan, s.step);
    CHECK(counts.keep + counts.swap + counts.recompute == static_cast<int>(s.step.maps.size()));
    const Planned again = strategy.plan(s.problem);
    CHECK((again.plan == planned.plan));
    CHECK(again.plan.evaluations == planned.plan.evaluations);
    for (const GapDecision& gap : planned.plan.gaps) CHECK_FALSE(gap.reason.empty());
  }
}

TEST_CASE("superneurons decides by position and kind") {
  const ZooSetting s("resnet50", 384, LoadMachine("v100-x86-pcie3"));
  const Planned planned = s.PlanBy("superneurons");
  REQUIRE(planned.feasible);
  const PoochProfile p = ProfileStep(s.step, s.costs, s.problem.capacity);
  bool kept = false;
  for (const PoochProfile::Map& map : p.maps) {
    const GapDecision* gap = DecisionOn(planned.plan, map.tensor);
    CHECK_FALSE((kept && gap != nullptr));  // from the first kept map on all are
    kept = kept || gap == nullptr;
    if (gap == nullptr) continue;
    CHECK((gap->action == GapAction::kSwap) == (map.convolution || map.on_host));
  }
  CHECK(kept);
  // Swap-ins are issued with convolutions or at the start of backward.
  for (const GapDecision& gap : planned.plan.gaps) {
    if (gap.action != GapAction::kSwap || gap.in_at == s.step.first_backward) continue;
    CHECK(s.step.ops[static_cast<std::size_t>(gap.in_at)].kind == OpKind::kConvolution);
  }
}

TEST_CASE("what cannot work says why") {
  ZooSetting s("resnet50", 512, LoadMachine("v100-x86-pcie3"));
  s.problem.capacity = 2 * kGB;
  for (const char* name : {"swap-all-unscheduled", "swap-all", "swap-opt", "pooch", "pooch-released", "superneurons"}) {
    const Planned planned = s.PlanBy(name);
    CHECK_FALSE(planned.feasible);
    CHECK_THAT(planned.reason, Catch::StartsWith("out_of_memory: needs ") && Catch::Contains(" as early as op ") &&
                                   Catch::EndsWith("2.00 GB are usable"));
  }
}

TEST_CASE("a plan that misses its memory by a little says so in figures that differ") {
  ZooSetting s("cifar-resnet20", 64, LoadMachine("v100-x86-pcie3"));
  Bytes fails = 0, fits = 16 * kGB;
  while (fits - fails > 1) {
    s.problem.capacity = fails + (fits - fails) / 2;
    (s.PlanBy("swap-all").feasible ? fits : fails) = s.problem.capacity;
  }
  s.problem.capacity = fails;
  const std::string reason = s.PlanBy("swap-all").reason;
  INFO(reason);
  const std::size_t needs = reason.find("needs ") + 6, usable = reason.rfind(", ") + 2;
  const std::string needed = reason.substr(needs, reason.find(" as early as op ") - needs);
  CHECK(reason.substr(usable) != needed + " are usable");
  CHECK(reason.substr(usable).ends_with("are usable"));
}

TEST_CASE("the problem may override the runtime") {
  ZooSetting s("resnet50", 384, LoadMachine("v100-x86-pcie3"));
  const Planned own = s.PlanBy("pooch");
  s.problem.use_runtime = true;
  s.problem.runtime = RuntimeByName("arena");
  const Planned ours = s.PlanBy("pooch");
  CHECK(ours.plan.runtime == RuntimeByName("arena"));
  CHECK((ours.plan.gaps == own.plan.gaps));  // decisions do not depend on it
}

TEST_CASE("networks without joins, and in-core training's bytes") {
  const ZooSetting s("vgg16", 32, LoadMachine("unit"));
  const Bytes whole = s.InCoreBytes();
  CHECK(whole > s.step.MapBytes());
  const Evaluation in_core = Evaluate(s.PlanBy("in-core").plan, s.problem, {.verify = false, .bounds = false});
  REQUIRE(in_core.feasible);
  CHECK(static_cast<double>(in_core.live_peak_bytes) / static_cast<double>(whole) == Approx(1).margin(0.02));
}

}  // namespace
}  // namespace spillway
