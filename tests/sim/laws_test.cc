// What holds for every network and plan on an otherwise idle machine.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "tests/random_plan.h"

namespace spillway {
namespace {

constexpr Bytes kRoom = 1000 * kGB;
const char* const kNetworks[] = {"cifar-vgg", "cifar-alexnet", "cifar-resnet20"};

std::vector<Runtime> Runtimes() {
  return {{},
          {.copy_streams = 1},
          {.copy_chunk = 50 * kKiB},
          {.barrier = Barrier::kOp},
          RuntimeByName("pooch"),
          {.memory = MemoryModel::kPool},
          {.memory = MemoryModel::kCounted}};
}

// The unit machine with copies of `per_byte` ns a byte.
Machine WithLink(Nanos per_byte, Nanos latency = 0) {
  Machine machine = LoadMachine("unit");
  for (TransferCurve& curve : machine.links[0].curves) {
    curve.points = {{1, latency + per_byte}, {kMB, latency + per_byte * kMB}};
  }
  return machine;
}

Evaluation Run(const Plan& plan, const TrainingStep& step, const Machine& machine, bool verify = true) {
  const CostModel costs(machine);
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = kRoom;
  Evaluation e = Evaluate(plan, problem, {.verify = verify, .bounds = false, .timeline = false});
  REQUIRE(e.reason == "");
  return e;
}

Plan Only(GapAction action, Plan plan) {
  std::erase_if(plan.gaps, [action](const GapDecision& gap) { return gap.action != action; });
  return plan;
}

Plan Kept(Plan plan) {
  plan.gaps.clear();
  return plan;
}

// Calls visit(step, plan) with random plans of three networks under every runtime.
template <typename Visit>
int ForEachCase(Visit visit) {
  int cases = 0;
  Random random(21);
  for (const char* network : kNetworks) {
    for (const StepOptions& options : StepOptionTable()) {
      if (options.inference) continue;  // random ones recompute forward from forward, without an end
      const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = 2}), options);
      for (const Runtime& runtime : Runtimes()) {
        for (const std::uint32_t percent : {10u, 50u, 100u}) {
          const Plan plan = RandomPlan(step, runtime, percent, random);
          INFO(network << " " << options.name << " " << PlanToYaml(plan, step));
          visit(step, plan);
          ++cases;
        }
      }
    }
  }
  return cases;
}
const int kCases =
    3 * static_cast<int>(StepOptionTable().size() - 1) * 7 * 3;  // networks, options, runtimes, densities

TEST_CASE("copies that take no time: swapping costs nothing") {
  const Machine machine = WithLink(0);
  const int cases = ForEachCase([&](const TrainingStep& step, const Plan& plan) {
    const Evaluation kept = Run(Kept(plan), step, machine), swapped = Run(Only(GapAction::kSwap, plan), step, machine);
    CHECK(swapped.step_time == kept.step_time);
    CHECK(kept.step_time == kept.compute_time);
    CHECK(swapped.bytes_in >= kept.bytes_in);
  });
  CHECK(cases == kCases);
}

TEST_CASE("copies that take no time: recomputation adds the ops it repeats and nothing else") {
  const Machine machine = WithLink(0);
  Nanos repeated = 0;
  ForEachCase([&](const TrainingStep& step, const Plan& plan) {
    const Evaluation kept = Run(Kept(plan), step, machine), e = Run(plan, step, machine);
    Nanos clones = 0;
    const CostModel costs(machine);
    for (const Kernel& kernel : e.program.kernels) {
      if (kernel.recomputation) clones += costs.Kernel(LaunchOf(step.ops[static_cast<std::size_t>(kernel.op)])).time;
    }
    CHECK(e.recompute_time == clones);
    CHECK(e.step_time == kept.step_time + clones);
    repeated += clones;
  });
  CHECK(repeated > 0);
}

TEST_CASE("everything k times as slow takes k times as long") {
  // Kernels, copies with their latency, and what the host does.
  Machine machine = WithLink(3, 5000);
  machine.devices[0].host_costs = {.kernel_launch = 4000,
                                   .copy_submit = 3000,
                                   .event_record = 700,
                                   .stream_wait = 900,
                                   .pool_alloc = 500,
                                   .pool_free = 300,
                                   .sync = 2000,
                                   .source = {}};
  const CostModel costs(machine);
  ForEachCase([&](const TrainingStep& step, const Plan& plan) {
    const Evaluation e = Run(plan, step, machine);
    std::vector<Nanos> durations = Durations(e.program, costs);
    Conditions conditions = ConditionsOf(e.program, costs, plan.runtime, kRoom);
    Scratch scratch;
    for (const Nanos k : {2, 5}) {
      std::vector<Nanos> slower = durations;
      for (Nanos& time : slower) time *= k;
      Conditions slow = conditions;
      for (Nanos& cost : slow.host_cost) cost *= k;
      for (const auto engine : {SimulateRelax, SimulateEvents}) {
        const Simulated simulated = engine(e.program, slower, slow, scratch, nullptr);
        CHECK(simulated.makespan == k * e.step_time);
        CHECK(simulated.live_peak == e.live_peak_bytes);
      }
    }
  });
}

// Under PoocH's runtime, each back right before its use.
Plan SomeMapsSwapped(const TrainingStep& step, Random& random) {
  Plan plan = RandomPlan(step, RuntimeByName("pooch"), 0, random);
  const Uses uses(step);
  for (const TensorId map : step.maps) {
    const MapGap ends = ForwardBackwardGap(step, uses, map);
    if (ends.before == kNoOp || random.Below(10) == 0) continue;
    GapDecision gap;
    gap.tensor = map;
    gap.after = gap.out_after = ends.after;
    gap.before = gap.in_at = ends.before;
    plan.gaps.push_back(gap);
  }
  return plan;
}

TEST_CASE("... where a pool blocks, too") {
  // Ever less memory until the plan does not fit: the host waits for copies.
  const Machine machine = WithLink(4000);
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-vgg", {.batch = 500}));
  Random random(22);
  int blocked = 0;
  for (int round = 0; round < 20; ++round) {
    const Plan plan = SomeMapsSwapped(step, random);
    const Program program = Run(plan, step, machine).program;
    const std::vector<Nanos> durations = Durations(program, costs);
    std::vector<Nanos> slower = durations;
    for (Nanos& time : slower) time *= 3;
    Scratch scratch;
    Conditions conditions = ConditionsOf(program, costs, plan.runtime, 0);
    const Simulated free = SimulateRelax(program, durations, conditions, scratch);
    for (conditions.pool_capacity = free.live_peak;; conditions.pool_capacity -= free.live_peak / 50) {
      Timeline timeline;
      const Simulated once = SimulateRelax(program, durations, conditions, scratch, &timeline);
      const Simulated thrice = SimulateRelax(program, slower, conditions, scratch);
      REQUIRE(thrice.completed == once.completed);
      if (!once.completed) break;
      CHECK(thrice.makespan == 3 * once.makespan);
      blocked += timeline.stall[static_cast<std::size_t>(Cause::kSwapOut)] > 0 ? 1 : 0;
    }
  }
  CHECK(blocked > 10);
}

TEST_CASE("a slower link never makes a plan faster, a faster one never slower") {
  int slower_ones = 0;
  ForEachCase([&](const TrainingStep& step, const Plan& plan) {
    Nanos previous = 0;
    for (const Nanos per_byte : {0, 1, 2, 4, 8}) {
      const Nanos time = Run(plan, step, WithLink(per_byte), false).step_time;
      CHECK(time >= previous);
      slower_ones += previous > 0 && time > previous ? 1 : 0;
      previous = time;
    }
  });
  CHECK(slower_ones > kCases);
}

TEST_CASE("a longer kernel never makes a plan faster") {
  const Machine machine = WithLink(2);
  const CostModel costs(machine);
  Random random(23);
  ForEachCase([&](const TrainingStep& step, const Plan& plan) {
    const Evaluation e = Run(plan, step, machine, false);
    std::vector<Nanos> durations = Durations(e.program, costs);
    const Conditions conditions = ConditionsOf(e.program, costs, plan.runtime, kRoom);
    Scratch scratch;
    for (int round = 0; round < 5; ++round) {
      const auto at = random.Below(static_cast<std::uint32_t>(durations.size()));
      std::vector<Nanos> longer = durations;
      if (e.program.code[at].opcode == Opcode::kKernel) longer[at] += 1 + random.Below(1000000);
      CHECK(SimulateRelax(e.program, longer, conditions, scratch).makespan >= e.step_time);
    }
  });
}

TEST_CASE("one copy stream is never faster than two") {
  ForEachCase([&](const TrainingStep& step, Plan plan) {
    if (plan.runtime.memory == MemoryModel::kPool || plan.runtime.barrier != Barrier::kNone) return;
    const Machine machine = WithLink(2);
    plan.runtime.copy_streams = 1;
    const Nanos one = Run(plan, step, machine, false).step_time;
    plan.runtime.copy_streams = 2;
    CHECK(Run(plan, step, machine, false).step_time <= one);
  });
}

}  // namespace
}  // namespace spillway
