// The bound of an instant where operands may be streamed, against plans that were changed until they came close to it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hw/text/lists.h"
#include "sim/evaluate/oracle.h"
#include "sim/program/lower/lower.h"
#include "tests/sim/turn_plans.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

// So many samples, each of which takes an op as long as the hand says.
TrainingStep OnSamples(std::int64_t samples, TrainingStep step) {
  step.batch = samples;
  for (Tensor& tensor : step.tensors) tensor.shape = {.n = samples, .c = tensor.bytes / (4 * samples)};
  for (Op& op : step.ops) op.shape.in.n = op.shape.out.n = samples;
  return step;
}

// A chain whose maps are many times what one op works on, on four samples: f1 ... fn, bn ... b1, each of which reads its map
// and gradient. Now and then a map is read by the next backward op as well.
TrainingStep LongChain(Random& random) {
  HandStep b;
  const int layers = random.Between(5, 9);
  std::vector<TensorId> map, gradient;
  for (int i = 0; i < layers; ++i) {
    const Bytes bytes = 4 * kAllocationUnit * random.Between(1, 6);
    map.push_back(b.Tensor("m" + std::to_string(i), TensorClass::kFeatureMap, bytes));
    gradient.push_back(b.Tensor("g" + std::to_string(i), TensorClass::kGradient, 4 * kAllocationUnit));
  }
  for (int i = 0; i < layers; ++i) {
    std::vector<TensorId> reads;
    if (i > 0) reads.push_back(map[Index(i - 1)]);
    b.Op("f" + std::to_string(i), Pass::kForward, random.Between(100, 3000), reads, {map[Index(i)]});
  }
  for (int i = layers - 1; i >= 0; --i) {
    std::vector<TensorId> reads{map[Index(i)]}, writes;
    if (i + 1 < layers) reads.push_back(gradient[Index(i)]);
    if (i > 0 && random.Below(3) == 0) reads.push_back(map[Index(i - 1)]);
    if (i > 0) writes.push_back(gradient[Index(i - 1)]);
    b.Op("b" + std::to_string(i), Pass::kBackward, random.Between(100, 3000), reads, writes);
  }
  return OnSamples(4, b.Take());
}

// One decision of the plan is another: a gap's, or that an op streams.
Plan Changed(const TrainingStep& step, Plan plan, Random& random) {
  const auto below = [&random](std::size_t count) { return random.Below(static_cast<std::uint32_t>(count)); };
  const std::uint32_t kind = random.Below(5);
  if (kind == 0 && plan.ops.size() > 1) {
    plan.ops.erase(plan.ops.begin() + below(plan.ops.size()));
    SwapWhereStreamed(step, Uses(step), "streamed", plan);
  }
  if (kind == 0 || plan.gaps.empty()) return plan;
  const std::uint32_t place = below(plan.gaps.size());
  GapDecision& gap = plan.gaps[place];
  if (kind == 1) {
    plan.gaps.erase(plan.gaps.begin() + place);
  } else if (kind == 2) {
    const bool swap = gap.action == GapAction::kRecompute;
    gap.action = swap ? GapAction::kSwap : GapAction::kRecompute;
    gap.out_after = swap ? gap.after : kNoOp;
    gap.in_at = swap ? random.Between(gap.after + 1, gap.before) : kNoOp;
  } else if (gap.action == GapAction::kSwap) {
    gap.in_at = random.Between(gap.after + 1, gap.before);
  }
  return plan;
}

// Goes from a drawn plan to ones that are closer to their bounds, each in the memory that it takes.
class Climb {
 public:
  Climb(const TrainingStep& step, const CostModel& costs)
      : step_(step), facts_(std::make_shared<const StepFacts>(step, costs)) {}

  void From(Plan plan, Random& random) {
    double closest = Judged(plan);
    for (int k = 0; k < 200; ++k) {
      const Plan changed = Changed(step_, plan, random);
      const double apart = Judged(changed);
      if (apart > closest) continue;
      closest = apart;
      plan = changed;
    }
    close += closest < 1.25 ? 1 : 0;
  }

  int plans = 0, higher = 0, close = 0;

 private:
  static constexpr double kFar = 1e9;
  // The step's time over its bound, where that is of an instant.
  double Judged(const Plan& plan) {
    const Scope scope = ScopeOf(plan);
    if (scope.parts != PartScope::kStreamed || !CheckPlan(plan, step_).empty()) return kFar;
    const Bytes peak = LowerItems(plan, facts_->tables(), 1).list_peak;
    const Evaluation e = Oracle(facts_, peak).Evaluate(plan, {.bounds = false, .timeline = false});
    if (!e.feasible) return kFar;
    const auto key = std::make_pair(e.peak_bytes, scope.copy_streams);
    if (!known_.contains(key)) known_[key] = Oracle(facts_, e.peak_bytes).BoundsIn(scope);
    const Bounds& bounds = known_[key];
    INFO(e.peak_bytes << " bytes\n" << PlanToYaml(plan, step_));
    REQUIRE(bounds.Best() <= e.step_time);
    ++plans;
    if (bounds.instant <= std::max(bounds.compute, bounds.transfer)) return kFar;
    ++higher;
    return static_cast<double>(e.step_time) / static_cast<double>(bounds.instant);
  }

  const TrainingStep& step_;
  std::shared_ptr<const StepFacts> facts_;
  std::map<std::pair<Bytes, int>, Bounds> known_;
};

}  // namespace

// f0 makes t, f1 makes m of it; b1 reads m and makes g, b0 reads that. Forward runs only once.
TrainingStep TwoAndTwo(Bytes map, Bytes passed) {
  HandStep b;
  const TensorId t = b.Tensor("t", TensorClass::kTransient, passed), m = b.Tensor("m", TensorClass::kFeatureMap, map);
  const TensorId g = b.Tensor("g", TensorClass::kGradient, passed);
  b.Op("f0", Pass::kForward, 5000, {}, {t});
  b.Op("f1", Pass::kForward, 500, {t}, {m});
  b.Op("b1", Pass::kBackward, 500, {m}, {g});
  b.Op("b0", Pass::kBackward, 5000, {g}, {});
  TrainingStep step = OnSamples(16, b.Take());
  step.again_until.assign(step.tensors.size(), kNoOp);
  return step;
}

// The two ops of each phase take turns on single samples and stream what is in `streamed`, in no more memory than that takes.
Evaluation InTurns(const TrainingStep& step, const std::vector<TensorId>& streamed, Bounds& bounds) {
  const Machine machine = HandMachine(4);
  const CostModel costs(machine);
  Random none(1);
  Plan plan = RandomPlan(step, {}, 0, none);
  for (OpId op = 0; op < 4; ++op) {
    OpDecision decision{.op = op, .parts = std::vector<OpPart>(16, OpPart{.samples = 1}), .fused = op % 2 == 1};
    const Op& o = step.ops[Index(op)];
    for (const TensorId t : streamed) {
      if (Contains(o.reads, t) || Contains(o.writes, t)) decision.streamed.push_back(t);
    }
    plan.ops.push_back(std::move(decision));
  }
  SwapWhereStreamed(step, Uses(step), "streamed", plan);
  REQUIRE(CheckPlan(plan, step).empty());
  const auto facts = std::make_shared<const StepFacts>(step, costs);
  const Bytes peak = LowerItems(plan, facts->tables(), 1).list_peak;
  const Evaluation e = Oracle(facts, peak).Evaluate(plan, {.bounds = false, .timeline = false});
  REQUIRE(e.feasible);
  bounds = Oracle(facts, e.peak_bytes).BoundsIn(ScopeOf(plan));
  return e;
}

TEST_CASE("what a group passes on is never there whole, and no instant within it says that it must be") {
  const Bytes unit = 16 * kAllocationUnit;
  Bounds bounds;
  const Evaluation e = InTurns(TwoAndTwo(unit, 8 * unit), {0, 2}, bounds);
  CHECK(e.peak_bytes < 8 * unit);
  CHECK(e.step_time == 16 * 11'000);
  CHECK(bounds.Best() == 16 * 11'000);
}

// Where the map goes out and comes back in parts both take about as long as its copies.
TEST_CASE("copies begin behind the first part of a group, and are awaited by its last") {
  const Bytes map = 16 * 8 * kAllocationUnit;
  Bounds bounds;
  const Evaluation e = InTurns(TwoAndTwo(map, 16 * kAllocationUnit), {0, 1, 2}, bounds);
  CHECK(e.peak_bytes < map / 2);
  CHECK(e.step_time < 2 * 4 * map + 4 * 5500);
  CHECK(bounds.instant > bounds.compute);
  CHECK(bounds.instant <= e.step_time);
  CHECK(bounds.instant > e.step_time / 10 * 6);
}

TEST_CASE("of the plans of chains some are hardly above what an instant says, and none is below") {
  Random random(61);
  int climbs = 0, plans = 0, higher = 0, close = 0;
  for (int chain = 0; chain < 60; ++chain) {
    const TrainingStep step = LongChain(random);
    const Machine machine = HandMachine(random.Between(1, 4), random.Between(0, 2));
    const CostModel costs(machine);
    Climb climb(step, costs);
    for (int k = 0; k < 6; ++k) {
      Plan plan = RandomPlan(step, {.copy_streams = 1 + k % 2}, 0, random);
      LeaveAtTheTurn(step, 40 + 20 * random.Below(4), 25 * random.Below(5), random, plan);
      const std::uint32_t percent = 5 + 10 * random.Below(3);
      k % 2 == 0 ? AddRandomGroups(step, percent, random, plan) : AddRandomStreams(step, percent, random, plan);
      climb.From(std::move(plan), random);
      ++climbs;
    }
    plans += climb.plans, higher += climb.higher, close += climb.close;
  }
  INFO(plans << " plans, " << higher << " with a bound above the work; of " << climbs << " climbs " << close
             << " end within 25 %");
  CHECK(plans > 10'000);
  CHECK(higher > plans / 2);
  CHECK(close > 5);
}

}  // namespace spillway
