// No plan beats the bounds: random steps and those of small networks, random plans of everything that a Plan can say
// (gaps, algorithms, grants, runtimes), lowered and simulated without contention. The bounds are asked for the memory
// that the simulation really used, and for capacities that plans have to keep to.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/bounds/bounds.h"
#include "sim/engine/simulate.h"
#include "sim/evaluate/oracle.h"
#include "sim/program/lower/lower.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/sim/menu_costs.h"
#include "tests/small_networks.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  int From(int low, int high) { return low + static_cast<int>(engine_() % static_cast<unsigned>(high - low + 1)); }
  bool OneIn(int n) { return From(1, n) == 1; }
  Bytes Size() { return kAllocationUnit * From(1, 40); }
  template <typename T>
  T Pick(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(From(0, static_cast<int>(items.size()) - 1))];
  }

 private:
  std::mt19937 engine_;
};

void AddOnce(std::vector<TensorId>& list, TensorId tensor) {
  if (std::find(list.begin(), list.end(), tensor) == list.end()) list.push_back(tensor);
}

// A forward half that reads earlier results at will (with ops of two results and updates in place), and a backward
// half that reads maps, later ones first, and gradients.
TrainingStep RandomStep(Dice& dice) {
  HandStep b;
  std::vector<TensorId> maps, gradients;
  const TensorId input = b.Tensor("input", TensorClass::kInput, dice.Size());
  const TensorId weight = b.Tensor("weight", TensorClass::kParameter, dice.Size());
  const int longest = dice.OneIn(2) ? 3000 : 30000;
  int names = 0;
  const auto name = [&names](const char* letter) { return letter + std::to_string(names++); };
  const int forward = dice.From(2, 8), backward = dice.From(1, 9);
  for (int i = 0; i < forward; ++i) {
    std::vector<TensorId> reads{i == 0 ? input : maps.back()}, writes;
    if (i > 2 && dice.OneIn(3)) AddOnce(reads, dice.Pick(maps));
    if (dice.OneIn(2)) reads.push_back(weight);
    const bool in_place = i > 0 && dice.OneIn(7);
    if (in_place) writes.push_back(maps.back());
    for (int k = in_place ? 0 : dice.OneIn(7) ? 2 : 1; k > 0; --k) {
      maps.push_back(
          b.Tensor(name("m"), dice.OneIn(4) ? TensorClass::kTransient : TensorClass::kFeatureMap, dice.Size()));
      writes.push_back(maps.back());
    }
    if (dice.OneIn(6)) writes.push_back(b.Tensor(name("aux"), TensorClass::kAuxiliary, dice.Size()));
    b.Op(name("f"), Pass::kForward, dice.From(0, longest), reads, writes);
  }
  for (int i = 0; i < backward; ++i) {
    const auto count = static_cast<int>(maps.size());
    std::vector<TensorId> reads{maps[static_cast<std::size_t>(count - 1 - i * count / backward)]}, writes;
    if (dice.OneIn(3)) AddOnce(reads, dice.Pick(maps));
    if (dice.OneIn(6)) reads.push_back(input);
    if (!gradients.empty()) reads.push_back(dice.Pick(gradients));
    if (dice.OneIn(5)) {  // writes again what was used before, without reading it
      const TensorId again = dice.OneIn(2) || gradients.empty() ? dice.Pick(maps) : dice.Pick(gradients);
      if (std::find(reads.begin(), reads.end(), again) == reads.end()) writes.push_back(again);
    }
    if (!gradients.empty() && dice.OneIn(4)) {
      writes.push_back(reads.back());
    } else {
      gradients.push_back(b.Tensor(name("g"), TensorClass::kGradient, dice.Size()));
      writes.push_back(gradients.back());
    }
    b.Op(name("b"), Pass::kBackward, dice.From(0, longest), reads, writes);
  }
  return b.Take();
}

// What a backward op has written cannot be computed again.
bool BackwardWrote(const TrainingStep& step, TensorId tensor, OpId last) {
  for (OpId op = step.first_backward; op <= last; ++op) {
    const std::vector<TensorId>& writes = step.ops[Index(op)].writes;
    if (std::find(writes.begin(), writes.end(), tensor) != writes.end()) return true;
  }
  return false;
}

Plan RandomPlan(const TrainingStep& step, const Uses& uses, Dice& dice) {
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  plan.runtime.copy_streams = dice.From(1, 2);
  if (dice.OneIn(2)) plan.runtime.memory = MemoryModel::kPool;
  const int decided = dice.From(20, 100), recomputed = dice.From(0, 100);  // percent
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const TensorClass use = step.tensors[t].use;
    if (use == TensorClass::kParameter || use == TensorClass::kAuxiliary) continue;
    for (std::size_t k = 0; k + 1 < uses.of[t].size(); ++k) {
      const std::vector<OpId>& writers = uses.writers[t];
      const OpId after = uses.of[t][k], before = uses.of[t][k + 1];
      if (dice.From(1, 100) > decided || (!writers.empty() && after < writers.back())) continue;
      GapDecision gap{.tensor = static_cast<TensorId>(t), .after = after, .before = before, .reason = ""};
      const bool again = !writers.empty() && !BackwardWrote(step, gap.tensor, after);
      if (again && dice.From(1, 100) <= recomputed) {
        gap.action = GapAction::kRecompute;
      } else {
        gap.out_after = after;
        gap.in_at = dice.From(after + 1, before);
      }
      plan.gaps.push_back(gap);
    }
  }
  Random random(plan.gaps.size());
  if (random.Below(4) == 0) StayForAWhile(step, random, plan);
  return plan;
}

Machine RandomMachine(Dice& dice) {
  Machine machine = HandMachine(dice.From(1, 3));
  const int kind = dice.From(1, 4);
  for (TransferCurve& curve : machine.links[0].curves) {
    if (kind == 1) curve.points = {{3, 2}, {300000, 200000}};                 // a rate that is no whole number
    if (kind == 2) curve.points = {{1, 500}, {1000, 1000}, {100000, 40000}};  // latency, faster when large
  }
  return machine;
}

// Gives every second op or so two to four ways to run. What the library believes in need not be fast, and what is fast
// may want any workspace; one way wants none.
void AddMenus(Dice& dice, TrainingStep& step, MenuCosts& costs) {
  for (std::size_t op = 0; op < step.ops.size(); ++op) {
    if (dice.OneIn(2)) continue;
    std::vector<MenuCosts::Way> ways{{1, 0, dice.From(1, 30000)}};
    for (std::int32_t algorithm = 2; algorithm <= dice.From(2, 4); ++algorithm) {
      const Bytes workspace = dice.OneIn(3) ? 16 * kMiB : kAllocationUnit * dice.From(0, 60);
      ways.push_back({algorithm, workspace, dice.From(1, 30000)});
    }
    if (dice.OneIn(2)) std::reverse(ways.begin(), ways.end());
    step.ops[op].shape.in.c = static_cast<std::int64_t>(step.ops.size() * step.ops[op].shape.in.c + op);  // its own
    costs.SetMenu(step.ops[op], std::move(ways));
  }
}

// Decides about some of the ops that have a choice, for the first time and again, with grants that suffice.
void DecideOps(const TrainingStep& step, const CostModel& costs, Dice& dice, Plan& plan) {
  const int decided = dice.From(0, 100);                // percent
  Dice apart(static_cast<unsigned>(plan.gaps.size()));  // so that all else is drawn alike
  const bool other_again = apart.OneIn(3);              // farther from the bounds than others
  for (std::size_t op = 0; op < step.ops.size(); ++op) {
    if (dice.From(1, 100) > decided) continue;
    const MenuEntry entry = dice.Pick(costs.Menu(LaunchOf(step.ops[op])));
    const Bytes more = dice.OneIn(4) ? dice.Size() : 0;
    plan.ops.push_back({static_cast<OpId>(op), entry.algorithm, entry.workspace + more});
    if (!step.IsForward(static_cast<OpId>(op)) || !other_again) continue;
    const MenuEntry again = apart.Pick(costs.Menu(LaunchOf(step.ops[op])));
    plan.ops.back().again = {{.algorithm = again.algorithm, .workspace = again.workspace}};
  }
}

Runtime RandomRuntime(Dice& dice) {
  Runtime runtime;
  runtime.copy_streams = dice.From(1, 2);
  runtime.memory = dice.OneIn(2) ? MemoryModel::kPool : MemoryModel::kArena;
  runtime.barrier = dice.Pick(std::vector{Barrier::kNone, Barrier::kNone, Barrier::kPhase, Barrier::kOp});
  if (dice.OneIn(3)) runtime.host_syncs = HostSyncs::kBackwardLayer;
  if (dice.OneIn(4)) runtime.swap_in_waits = SwapInWaits::kBackwardLayer;
  if (dice.OneIn(4)) runtime.pool = PoolKind::kAddresses;
  if (dice.OneIn(4)) runtime.blocking_copies = BlockingCopies::kAll;
  if (dice.OneIn(4)) runtime.framework_time = dice.From(1, 2000);
  if (dice.OneIn(4)) runtime.copy_chunk = kLeastCopyChunk;
  if (dice.OneIn(4)) runtime.collection_time = dice.From(1, 2000);
  if (runtime.memory == MemoryModel::kArena && runtime.pool == PoolKind::kAddresses) {
    runtime.memory = MemoryModel::kCounted;
    runtime.pool = PoolKind::kBytes;
  }
  return runtime;
}

struct Tally {
  int cases = 0, memory_binds = 0, instant_binds = 0, close = 0, decided = 0, wider = 0;
  int contended = 0;  // what kernels lose beside copies makes the bound higher

  void Count(const Bounds& bounds, Nanos time, const Plan& plan) {
    ++cases;
    const bool binds = bounds.memory > std::max(bounds.compute, bounds.transfer);
    memory_binds += binds ? 1 : 0;
    instant_binds += bounds.instant > std::max({bounds.compute, bounds.transfer, bounds.memory}) ? 1 : 0;
    close += binds && bounds.memory * 10 >= time * 9 ? 1 : 0;
    decided += plan.ops.empty() ? 0 : 1;
  }
  void CountContention(const Bounds& bounds, const Bounds& alone) {
    REQUIRE(alone.instant - alone.instant / 1000 <= bounds.instant);  // the search for multipliers ends near the best
    contended += bounds.Best() > alone.Best() ? 1 : 0;
  }
};

void CheckStep(unsigned seed, bool menus, double slowdown, Tally& tally) {
  Dice dice(seed);
  TrainingStep step = RandomStep(dice);
  const Machine machine = RandomMachine(dice);
  MenuCosts costs(machine);
  if (menus) AddMenus(dice, step, costs);
  costs.SlowBesideCopies(slowdown);
  const StepTables tables(step, costs);
  Scratch scratch;
  for (int k = 0; k < 30; ++k) {
    Plan plan = RandomPlan(step, tables.uses, dice);
    if (menus) DecideOps(step, costs, dice, plan);
    REQUIRE(CheckPlan(plan, step).empty());
    const Bytes unlimited = Lower(plan, tables, 0).list_peak;
    const Lowered lowered = Lower(plan, tables, unlimited * dice.From(40, 100) / 100);
    Conditions conditions;
    for (const Launch& launch : lowered.program.launches) {
      conditions.copy_slowdown.push_back(costs.Kernel(launch).copy_slowdown);
    }
    const Simulated run = Simulate(lowered.program, Durations(lowered.program, costs), conditions, scratch);
    const Bounds bounds = LowerBounds(step, costs, run.live_peak, ScopeOf(plan));
    INFO("seed " << seed << " plan " << k << "\n" << PlanToYaml(plan, step));
    REQUIRE(bounds.Best() <= run.makespan);
    REQUIRE(ParsePlan(PlanToYaml(plan, step), "plan.yaml", step) == plan);
    tally.Count(bounds, run.makespan, plan);
    if (slowdown == 1) continue;
    costs.SlowBesideCopies(1);
    tally.CountContention(bounds, LowerBounds(step, costs, run.live_peak, ScopeOf(plan)));
    costs.SlowBesideCopies(slowdown);
  }
}

// Plans on any runtime within a capacity; one oracle for all of them, as planners have it.
void CheckCapacities(unsigned seed, int plans, Tally& tally) {
  Dice dice(seed);
  TrainingStep step = RandomStep(dice);
  const Machine machine = RandomMachine(dice);
  MenuCosts costs(machine);
  AddMenus(dice, step, costs);
  costs.SlowBesideCopies(seed % 2 == 0 ? 2.5 : 1);
  const auto facts = std::make_shared<const StepFacts>(step, costs);
  const Bytes most = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
  for (const Bytes capacity : {most, most + most / 4, most * 2}) {
    const Oracle oracle(facts, capacity);
    for (int k = 0; k < plans; ++k) {
      Plan plan = RandomPlan(step, facts->tables().uses, dice);
      plan.runtime = RandomRuntime(dice);
      DecideOps(step, costs, dice, plan);
      const Evaluation e = oracle.Evaluate(plan, {.verify = false, .timeline = false});
      if (!e.feasible) continue;
      INFO("seed " << seed << " plan " << k << " capacity " << capacity << "\n" << PlanToYaml(plan, step));
      REQUIRE(e.bounds.Best() <= e.step_time);
      REQUIRE(e.widest.Best() <= e.bounds.Best());
      tally.Count(e.bounds, e.step_time, plan);
      tally.wider += e.widest.Best() < e.bounds.Best() ? 1 : 0;
    }
  }
}

}  // namespace

TEST_CASE("no plan is faster than the bounds, and some come close") {
  Tally tally;
  for (unsigned seed = 1; seed <= 200; ++seed) CheckStep(seed, false, 1, tally);
  CHECK(tally.cases == 200 * 30);
  // The property would hold for a bound of 0 too: memory must often bind, and come within a tenth at times.
  CHECK(tally.memory_binds > 400);
  CHECK(tally.instant_binds > 100);
  CHECK(tally.close > 2);
}

TEST_CASE("nor are plans that choose algorithms and grant workspaces") {
  Tally tally;
  for (unsigned seed = 1; seed <= 300; ++seed) CheckStep(seed, true, 1, tally);
  CHECK(tally.cases == 300 * 30);
  CHECK(tally.decided > 7000);
  CHECK(tally.memory_binds > 600);
  CHECK(tally.instant_binds > 100);
  CHECK(tally.close > 0);
}

TEST_CASE("nor are plans whose copies slow kernels down, though the bounds count that") {
  Tally tally;
  const unsigned steps = Cases(100u, 400u);
  for (unsigned seed = 1; seed <= steps; ++seed) CheckStep(seed, seed % 2 == 0, seed % 3 == 0 ? 4 : 1.5, tally);
  CHECK(tally.cases == static_cast<int>(steps) * 30);
  INFO(tally.contended << " bounds are higher for it");
  CHECK(tally.contended > Cases(75, 300));
}

TEST_CASE("nor is any plan on any runtime within the capacity") {
  Tally tally;
  for (unsigned seed = 1000; tally.cases < Cases(15'000, 90'000); ++seed) CheckCapacities(seed, 200, tally);
  CHECK(tally.decided > tally.cases * 2 / 3);
  CHECK(tally.memory_binds > tally.cases / 30);
  CHECK(tally.instant_binds > tally.cases / 180);
  CHECK(tally.close > Cases(1, 10));
  CHECK(tally.wider > tally.cases / 10);
}

TEST_CASE("nor are plans for networks on the machines shipped") {
  Tally tally;
  for (const char* name : {"v100-x86-pcie3", "p100-x86-pcie3", "h100-sxm"}) {
    const Machine machine = LoadMachine(name);
    const CostModel costs(machine);
    for (const SmallNetwork& network : kNetworks) {
      const TrainingStep step = BuildTrainingStep(network.build(), StepOptionsByName(network.options));
      const auto facts = std::make_shared<const StepFacts>(step, costs);
      const Oracle in_core(facts, kMostWorkspace);
      const Bytes most = in_core.Evaluate(Plan{}, {.bounds = false, .timeline = false}).peak_bytes;
      Dice dice(7);
      Random random(7);
      for (int k = 0; k < 60; ++k) {
        Plan plan = RandomPlan(step, RandomRuntime(dice), 20, random);
        DecideOps(step, costs, dice, plan);
        AddRandomEntries(step, random, plan);
        const Oracle oracle(facts, most * dice.From(60, 150) / 100);
        const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
        if (!e.feasible) continue;
        INFO(name << ", " << network.name << ", plan " << k);
        REQUIRE(e.bounds.Best() <= e.step_time);
        REQUIRE(e.widest.Best() <= e.bounds.Best());
        tally.Count(e.bounds, e.step_time, plan);
      }
    }
  }
  CHECK(tally.cases > 100);
  CHECK(tally.decided > 50);
}

TEST_CASE("copies in pieces are rounded down once for each") {
  // 64 KiB at 5/7 ns a byte take 46811.43 ns, and 46811 as a copy of its own: 16 MiB in one piece take 109.7 ns more.
  Machine machine = HandMachine();
  for (TransferCurve& curve : machine.links[0].curves) curve.points = {{7, 5}, {70000, 50000}};
  const CostModel costs(machine);
  HandStep b;
  const TensorId input = b.Tensor("input", TensorClass::kInput, 16 * kMiB);
  b.Op("f:forward", Pass::kForward, 5, {input}, {b.Tensor("m", TensorClass::kFeatureMap, 10)});
  const TrainingStep step = b.Take();
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  const Oracle oracle(std::make_shared<const StepFacts>(step, costs), 100 * kMB);
  const Evaluation whole = oracle.Evaluate(plan);
  plan.runtime.copy_chunk = kLeastCopyChunk;
  const Evaluation pieces = oracle.Evaluate(plan);
  REQUIRE(pieces.feasible);
  CHECK(pieces.step_time < whole.bounds.Best());  // or the case would show nothing
  CHECK(pieces.bounds.Best() <= pieces.step_time);
  CHECK(pieces.widest.Best() <= pieces.step_time);
  CHECK(whole.bounds.Best() <= whole.step_time);
  CHECK(whole.step_time - whole.bounds.Best() <= 1);
}

// What started it: convolutions granted 2 GiB took 140 ms below a "bound" of 219, for bounds had priced each op with the
// usual 8 MiB.
TEST_CASE("workspaces of 2 GiB in VGG-16 are within the bounds of their scope") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("vgg16", {.batch = 32}), StepOptionsByName("chainer"));
  Plan plan;
  for (std::size_t op = 0; op < step.ops.size(); ++op) {
    if (step.ops[op].kind == OpKind::kConvolution) plan.ops.push_back({static_cast<OpId>(op), 0, 2 * kGiB});
  }
  const Oracle oracle(std::make_shared<const StepFacts>(step, costs), 16 * kGB);
  const Evaluation granted = oracle.Evaluate(plan), usual = oracle.Evaluate(Plan{});
  REQUIRE(granted.feasible);
  REQUIRE(usual.feasible);
  CHECK(granted.step_time < usual.bounds.Best());  // or the case would show nothing
  CHECK(granted.bounds.Best() <= granted.step_time);
  CHECK(granted.widest.Best() <= granted.bounds.Best());
  CHECK(usual.widest.Best() == granted.widest.Best());
}

}  // namespace spillway
