#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/evaluate.h"
#include "sim/strategies/classify.h"
#include "sim/strategies/pooch/ladder.h"
#include "sim/strategy.h"

namespace spillway {
namespace {

struct Setting {  // a network on a machine; owns what a Problem points to
  Setting(const std::string& network, std::int64_t batch, Machine the_machine)
      : machine(std::move(the_machine)),
        costs(machine),
        step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
  }
  Setting(const Setting&) = delete;
  Planned PlanBy(const char* name) const { return StrategyByName(name).plan(problem); }
  // Bytes with everything on the device.
  Bytes InCoreBytes() const {
    const PoochModel model = MakeModel(problem);
    Search search(model, SwapInRule::kWhenRoom);
    return search.SimulateUnlimited(Classes(step.maps.size(), MapClass::kKeep)).peak + model.profile().persistent;
  }

  Machine machine;
  CostModel costs;
  TrainingStep step;
  Problem problem;
};

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

const GapDecision* DecisionOn(const Plan& plan, TensorId tensor) {
  for (const GapDecision& gap : plan.gaps) {
    if (gap.tensor == tensor) return &gap;
  }
  return nullptr;
}

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
  const Setting s("resnet50", 8, LoadMachine("unit"));
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
  const Setting s("resnet50", 4, LoadMachine("unit"));
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
  const Setting s("resnet50", 64, LoadMachine("v100-x86-pcie3"));
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
  const Setting s("resnet50", 384, LoadMachine("v100-x86-pcie3"));
  for (const Strategy& strategy : Strategies()) {
    CAPTURE(strategy.name);
    const Planned planned = strategy.plan(s.problem);
    if (std::string(strategy.name) == "accumulate") {  // moves nothing, and knows that this does not fit
      CHECK_THAT(planned.reason, Catch::StartsWith("out_of_memory: "));
      continue;
    }
    REQUIRE(planned.feasible);
    CHECK(CheckPlan(planned.plan, s.step).empty());
    const ClassCounts counts = CountClasses(planned.plan, s.step);
    CHECK(counts.keep + counts.swap + counts.recompute == 105);
    const Planned again = strategy.plan(s.problem);
    CHECK((again.plan == planned.plan));
    CHECK(again.plan.evaluations == planned.plan.evaluations);
    for (const GapDecision& gap : planned.plan.gaps) CHECK_FALSE(gap.reason.empty());
  }
}

TEST_CASE("the plan says how far the search went") {
  Setting s("resnet50", 384, LoadMachine("v100-x86-pcie3"));
  s.problem.simulation_cap = 500;
  const Planned capped = s.PlanBy("swap-opt");
  CHECK(capped.plan.search == "capped at 500 simulations");
  CHECK(capped.plan.evaluations < 700);
  const Setting fast("resnet50", 384, WithLink(LoadMachine("v100-x86-pcie3"), 0.1));
  for (const char* name : {"swap-opt", "pooch"}) {
    const std::string search = fast.PlanBy(name).plan.search;
    CHECK(search == "exact for one capacity");
  }
  CHECK(fast.PlanBy("pooch-released").plan.search.empty());
}

std::string CappedOnLadder(const LadderLimits& limits = {}) {
  return fmt::format("capped at {} simulations for each of {} capacities", limits.step1, limits.rungs);
}

Classes ClassesOf(const Setting& s, const Plan& plan) {
  Classes classes;
  for (const TensorId map : s.step.maps) {
    const GapDecision* gap = DecisionOn(plan, map);
    const bool swap = gap != nullptr && gap->action == GapAction::kSwap;
    classes.push_back(gap == nullptr ? MapClass::kKeep : swap ? MapClass::kSwap : MapClass::kRecompute);
  }
  return classes;
}

// Of the classes of `plan`, in PoocH's model.
Nanos ModelTime(const Setting& s, const Plan& plan, bool keep_passed) {
  const PoochModel model = MakeModel(s.problem);
  Search search(model, SwapInRule::kWhenRoom);
  search.keep_passed = keep_passed;
  return search.Simulate(ClassesOf(s, plan)).total;
}

TEST_CASE("with more memory a capped search finds nothing slower", "[plain]") {
  for (const std::int64_t batch : {256, 640}) {
    Setting s("resnet50", batch, LoadMachine("v100-x86-pcie3"));
    RungMemo rungs;
    s.problem.rungs = &rungs;
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
  const Setting s("resnet152", 256, LoadMachine("v100-x86-pcie3"));
  const Planned planned = s.PlanBy("pooch");
  const LadderLimits limits = LimitsFor(s.step);
  CHECK(limits.rungs < LadderLimits{}.rungs);
  CHECK(planned.plan.search == CappedOnLadder(limits));
  CHECK(planned.plan.evaluations < limits.rungs * (limits.step1 + limits.step2) + 1000);  // and judging, reasons
}

// Every reason is of the capacity that there is, whatever rung the classes were found for.
TEST_CASE("what costs no time here is what has hidden copies here", "[plain]") {
  const Setting s("resnet50", 512, LoadMachine("v100-x86-pcie3"));
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
  const Setting s("resnet50", 512, LoadMachine("v100-x86-pcie3"));
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
  Setting s("resnet50", 512, LoadMachine("v100-x86-pcie3"));
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
  Setting s("resnet50", 32, LoadMachine("v100-x86-pcie3"));
  const Planned planned = s.PlanBy("pooch-released");
  // Everything fits: the greedy pass keeps every map.
  CHECK(planned.plan.gaps.empty());
  // The paper's step 1 never looks at hidden maps; what it swaps costs nothing, so nothing is recomputed.
  CHECK(CountClasses(s.PlanBy("pooch").plan, s.step).recompute == 0);
}

TEST_CASE("without copy times nothing is recomputed") {
  Setting s("resnet50", 512, WithLink(LoadMachine("v100-x86-pcie3"), 0));
  for (const char* name : {"pooch", "pooch-released"}) {
    const Planned planned = s.PlanBy(name);
    REQUIRE(planned.feasible);
    CHECK(CountClasses(planned.plan, s.step).recompute == 0);
  }
}

TEST_CASE("a slower link makes for more recomputation") {
  const Setting fast("resnet50", 512, LoadMachine("v100-power9-nvlink2"));
  const Setting slow("resnet50", 512, LoadMachine("v100-x86-pcie3"));
  for (const char* name : {"pooch", "pooch-released"}) {
    CHECK(CountClasses(fast.PlanBy(name).plan, fast.step).recompute <
          CountClasses(slow.PlanBy(name).plan, slow.step).recompute);
  }
  // SuperNeurons' rules do not look at the link.
  const Plan on_fast = WithoutReasons(fast.PlanBy("superneurons").plan);
  const Plan on_slow = WithoutReasons(slow.PlanBy("superneurons").plan);
  CHECK((on_fast.gaps == on_slow.gaps));
}

TEST_CASE("superneurons decides by position and kind") {
  const Setting s("resnet50", 384, LoadMachine("v100-x86-pcie3"));
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
  Setting s("resnet50", 512, LoadMachine("v100-x86-pcie3"));
  s.problem.capacity = 2 * kGB;
  for (const char* name : {"swap-all-unscheduled", "swap-all", "swap-opt", "pooch", "pooch-released", "superneurons"}) {
    const Planned planned = s.PlanBy(name);
    CHECK_FALSE(planned.feasible);
    CHECK_THAT(planned.reason, Catch::StartsWith("out_of_memory: needs ") && Catch::Contains(" as early as op ") &&
                                   Catch::EndsWith("2.00 GB are usable"));
  }
}

TEST_CASE("a plan that misses its memory by a little says so in figures that differ") {
  Setting s("cifar-resnet20", 64, LoadMachine("v100-x86-pcie3"));
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
  Setting s("resnet50", 384, LoadMachine("v100-x86-pcie3"));
  const Planned own = s.PlanBy("pooch");
  s.problem.use_runtime = true;
  s.problem.runtime = RuntimeByName("arena");
  const Planned ours = s.PlanBy("pooch");
  CHECK(ours.plan.runtime == RuntimeByName("arena"));
  CHECK((ours.plan.gaps == own.plan.gaps));  // decisions do not depend on it
}

TEST_CASE("the model and the full path agree on PoocH's runtime") {
  for (const char* machine : {"v100-x86-pcie3", "v100-power9-nvlink2"}) {
    const Setting s("resnet50", 384, LoadMachine(machine));
    const PoochModel model = MakeModel(s.problem);
    Search search(model, SwapInRule::kWhenRoom);
    const Nanos modelled = search.Simulate(search.AllSwap()).total;
    const Evaluation full = Evaluate(s.PlanBy("swap-all").plan, s.problem, {.verify = true, .bounds = false});
    REQUIRE(full.feasible);
    CHECK(static_cast<double>(full.step_time) / static_cast<double>(modelled) == Approx(1).margin(0.03));
  }
}

TEST_CASE("networks without joins, and in-core training's bytes") {
  const Setting s("vgg16", 32, LoadMachine("unit"));
  const Bytes whole = s.InCoreBytes();
  CHECK(whole > s.step.MapBytes());
  const Evaluation in_core = Evaluate(s.PlanBy("in-core").plan, s.problem, {.verify = false, .bounds = false});
  REQUIRE(in_core.feasible);
  CHECK(static_cast<double>(in_core.live_peak_bytes) / static_cast<double>(whole) == Approx(1).margin(0.02));
}

}  // namespace
}  // namespace spillway
