// No plan beats the bounds: random steps, random plans, lowered and simulated without contention and host costs. The
// bounds are asked for the memory that the simulation really used.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "sim/bounds/bounds.h"
#include "sim/engine/simulate.h"
#include "sim/program/lower.h"
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
      if (!writers.empty() && dice.From(1, 100) <= recomputed) {
        gap.action = GapAction::kRecompute;
      } else {
        gap.out_after = after;
        gap.in_at = dice.From(after + 1, before);
      }
      plan.gaps.push_back(gap);
    }
  }
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

struct Tally {
  int cases = 0, memory_binds = 0, close = 0;
};

void CheckStep(unsigned seed, Tally& tally) {
  Dice dice(seed);
  const TrainingStep step = RandomStep(dice);
  const Machine machine = RandomMachine(dice);
  const CostModel costs(machine);
  const StepTables tables(step, costs);
  Scratch scratch;
  for (int k = 0; k < 30; ++k) {
    const Plan plan = RandomPlan(step, tables.uses, dice);
    REQUIRE(CheckPlan(plan, step).empty());
    const Bytes unlimited = Lower(plan, tables, 0).list_peak;
    const Lowered lowered = Lower(plan, tables, unlimited * dice.From(40, 100) / 100);
    const Simulated run = Simulate(lowered.program, Durations(lowered.program, costs), Conditions{}, scratch);
    const Bounds bounds = LowerBounds(step, costs, run.live_peak, plan.runtime.copy_streams);
    INFO("seed " << seed << " plan " << k << "\n" << PlanToYaml(plan, step));
    REQUIRE(bounds.Best() <= run.makespan);
    REQUIRE(ParsePlan(PlanToYaml(plan, step), "plan.yaml", step) == plan);
    ++tally.cases;
    const bool binds = bounds.memory > std::max(bounds.compute, bounds.transfer);
    tally.memory_binds += binds ? 1 : 0;
    tally.close += binds && bounds.memory * 10 >= run.makespan * 9 ? 1 : 0;
  }
}

}  // namespace

TEST_CASE("no plan is faster than the bounds, and some come close") {
  Tally tally;
  for (unsigned seed = 1; seed <= 200; ++seed) CheckStep(seed, tally);
  CHECK(tally.cases == 200 * 30);
  // The property would hold for a bound of 0 too: memory must often bind, and come within a tenth at times.
  CHECK(tally.memory_binds > 600);
  CHECK(tally.close > 5);
}

}  // namespace spillway
