// Alternatives from the middle of a traced run, against whole simulations of them.
#include "sim/strategies/pooch/pooch_alternatives.h"

#include <catch2/catch.hpp>
#include <iterator>
#include <string>

#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/program/step_tables.h"
#include "sim/strategies/pooch/search.h"
#include "tests/deep.h"

namespace spillway {
namespace {

constexpr SwapInRule kRules[] = {SwapInRule::kOneAhead, SwapInRule::kWhenRoom, SwapInRule::kBursts,
                                 SwapInRule::kPreviousConvolution};

struct Tally {
  int asked = 0, shorter = 0, fits = 0, does_not_fit = 0, endless = 0, gains = 0, seen_early = 0;
};

// Some maps kept and about `again` per cent of the others recomputed, as far as that fits and comes to an end.
Classes RandomClasses(Search& search, std::uint32_t again, Random& random) {
  Classes classes = search.AllSwap();
  const std::uint32_t kept = random.Below(60);
  for (std::size_t m = 0; m < classes.size(); ++m) {
    const std::uint32_t drawn = random.Below(kept + 100);
    if (drawn >= kept + again) continue;
    const bool recompute = drawn >= kept && search.model->profile().maps[m].Recomputable();
    classes[m] = recompute ? MapClass::kRecompute : MapClass::kKeep;
    if (!search.Simulate(classes).feasible) classes[m] = MapClass::kSwap;
  }
  return classes;
}

void CheckAlternatives(Search& search, Classes classes, Tally& tally) {
  SwapAlternatives alternatives(search);
  const Simulation base = alternatives.SetOut(classes);
  CHECK(base.total == search.Simulate(classes).total);
  for (std::size_t m = 0; m < classes.size(); ++m) {
    if (classes[m] != MapClass::kSwap || !search.model->profile().maps[m].Recomputable()) continue;
    const auto map = static_cast<std::int32_t>(m);
    INFO("map " << map);
    const Simulation instant = search.Simulate(classes, map), same = alternatives.Instant(map);
    REQUIRE(same.forward == instant.forward);
    REQUIRE(same.total == instant.total);
    REQUIRE(same.backward_compute == instant.backward_compute);
    classes[m] = MapClass::kRecompute;
    const Simulation recomputed = search.Simulate(classes), again = alternatives.Recomputed(map);
    classes[m] = MapClass::kSwap;
    REQUIRE(again.feasible == recomputed.feasible);
    REQUIRE(again.endless == recomputed.endless);
    if (again.feasible) REQUIRE(again.backward_compute == recomputed.backward_compute);
    const Simulation all = alternatives.RecomputedInTime(map, kNever);
    REQUIRE(all.endless == recomputed.endless);
    if (all.feasible) REQUIRE(all.forward == recomputed.forward);
    REQUIRE(all.total == recomputed.total);
    const Nanos enough = alternatives.RecomputedInTime(map, base.total).total;
    REQUIRE((enough == recomputed.total || (enough == kNever && recomputed.total >= base.total)));
    tally.gains += recomputed.total < base.total ? 1 : 0;
    tally.seen_early += enough != recomputed.total ? 1 : 0;
    ++tally.asked;
    tally.shorter += instant.total < base.total ? 1 : 0;
    tally.fits += again.feasible ? 1 : 0;
    tally.endless += again.endless ? 1 : 0;
    tally.does_not_fit += !again.feasible && !again.endless ? 1 : 0;
  }
}

void CheckSome(const PoochModel& model, SwapInRule rule, bool keep_passed, Random& random, Tally& tally) {
  Search search(model, rule);
  search.keep_passed = keep_passed;
  if (!search.Simulate(search.AllSwap()).feasible) return;
  CheckAlternatives(search, search.AllSwap(), tally);
  for (const std::uint32_t again : {30, 60, 95}) CheckAlternatives(search, RandomClasses(search, again, random), tally);
}

}  // namespace

TEST_CASE("alternatives are what whole simulations of them are") {
  Tally tally;
  Random random(11);
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const std::vector<std::string> networks = {"resnet50", "vgg16", "googlenet", "densenet121", "resnet101", "resnet152"};
  for (const std::string& network : Drawn(networks)) {
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = 64}), StepOptionsByName("chainer"));
    const Bytes least = StepTables(step, costs).WorkingSet(StepTables(step, costs).LargestWorkingSet());
    for (const int percent : {104, 110, 150, 250, 400}) {
      const Problem problem{.step = &step, .costs = &costs, .capacity = least * percent / 100, .runtime = {}};
      const PoochModel model = MakeModel(problem);
      for (const bool keep_passed : {false, true}) {
        for (const SwapInRule rule : kRules) {
          INFO(network << " in " << percent << " %, " << (keep_passed ? "keeps" : "frees") << " what it passes, rule "
                       << static_cast<int>(rule));
          CheckSome(model, rule, keep_passed, random, tally);
        }
      }
    }
  }
  INFO(tally.asked << " asked, " << tally.shorter << " shorter, " << tally.fits << " fit, " << tally.does_not_fit
                   << " do not, " << tally.endless << " without end, " << tally.gains << " gain time, "
                   << tally.seen_early << " are seen early to gain none");
  CHECK(tally.asked > Cases(300, 2000));
  CHECK(tally.shorter > Cases(10, 300));
  CHECK(tally.fits > Cases(100, 1000));
  CHECK(tally.does_not_fit >= Cases(0, 11));
  CHECK(tally.endless >= Cases(0, 11));
  CHECK(tally.gains > Cases(50, 1000));
  CHECK(tally.seen_early >= Cases(0, 11));
}

TEST_CASE("when swap-ins are issued follows from bytes, not from when they were before") {
  Random random(17);
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("resnet50", {.batch = 64}), StepOptionsByName("chainer"));
  const Bytes least = StepTables(step, costs).WorkingSet(StepTables(step, costs).LargestWorkingSet());
  int when_needed = 0;
  for (int i = 0; i < 200; ++i) {
    const Bytes capacity = least * (104 + random.Below(200)) / 100;
    const PoochModel model = MakeModel(Problem{.step = &step, .costs = &costs, .capacity = capacity, .runtime = {}});
    Search search(model, kRules[random.Below(std::size(kRules))]);
    if (!search.Fits(RandomClasses(search, random.Below(100), random))) continue;
    for (Bytes& load : search.scratch.load) load = model.profile().capacity / 100 * (60 + random.Below(41));
    SimulationScratch again = search.scratch;
    for (SimulationScratch::SwapIn& swap_in : again.swap_ins) swap_in.issue = random.Between(0, swap_in.need);
    IssueSwapIns(model.profile(), search.rule, search.scratch);
    IssueSwapIns(model.profile(), search.rule, again);
    for (std::size_t k = 0; k < again.swap_ins.size(); ++k) {
      REQUIRE(again.swap_ins[k].issue == search.scratch.swap_ins[k].issue);
      when_needed += again.swap_ins[k].issue == again.swap_ins[k].need ? 1 : 0;
    }
  }
  CHECK(when_needed > 300);
}

}  // namespace spillway
