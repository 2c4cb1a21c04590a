// Plans in counted memory: what is out never exceeds the capacity, engines agree, the host never waits; every plan of
// small networks runs exactly where its live bytes fit; bounds and certificates hold.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/certify/certificate.h"
#include "sim/certify/find_certificate.h"
#include "sim/engine/simulate.h"
#include "sim/plan/runtime.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "sim/verify/verify.h"
#include "tests/deep.h"
#include "tests/lower_case.h"
#include "tests/random_plan.h"
#include "tests/sim/every_plan.h"
#include "tests/sim/random_sketch.h"

namespace spillway {
namespace {

const Runtime kCounted{.memory = MemoryModel::kCounted};

// The most bytes out in list order, added up here.
Bytes MostOut(const Program& program) {
  Bytes out = 0, most = 0;
  for (const Instruction& in : program.code) {
    if (in.opcode == Opcode::kAlloc) most = std::max(most, out += program.buffers[in.arg].bytes);
    if (in.opcode == Opcode::kFree) out -= program.buffers[in.arg].bytes;
  }
  return most;
}

TEST_CASE("a free behind a copy holds up the kernel that wants the bytes, not the host") {
  const LowerCase c(MakeChain({.layers = 3}));
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward")}, kCounted);
  const StepTables tables(c.step, c.costs);
  Scratch scratch;
  const auto time = [&](Bytes capacity, Timeline& timeline) {
    const Program program = Lower(plan, tables, 1, capacity).program;
    return Simulate(program, Durations(program, c.costs), {}, scratch, &timeline).makespan;
  };
  Timeline roomy, tight;
  const Nanos ample = time(0, roomy), little = time(Lower(plan, tables, 1).list_peak, tight);
  CHECK(StallOf(roomy, Cause::kSwapOut) == 0);
  CHECK(StallOf(tight, Cause::kSwapOut) > 0);
  CHECK(little == ample + StallOf(tight, Cause::kSwapOut));
  CHECK(tight.host_waits.empty());
}

TEST_CASE("a swap-in comes no sooner than its bytes fit at every op until its use") {
  const LowerCase c(MakeChain({.layers = 3}));
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward", "b3:backward")}, kCounted);
  // Live besides m1: 4 blocks at b3 (data, m2, m3, g2) and at b2 (data, m2, g2, g1), then 2 at b1.
  const auto kernels_before = [&](Bytes blocks) {
    const Bytes capacity = blocks * kAllocationUnit;
    const Program program = Lower(plan, StepTables(c.step, c.costs), capacity, capacity).program;
    CHECK(MostOut(program) <= capacity);
    int kernels = 0, allocations = 0;
    for (const Instruction& in : program.code) {
      kernels += in.opcode == Opcode::kKernel ? 1 : 0;
      const bool of_m1 = in.opcode == Opcode::kAlloc && program.buffers[in.arg].tensor == c.Tensor("m1");
      allocations += of_m1 ? 1 : 0;
      if (allocations == 2) break;
    }
    return kernels;
  };
  CHECK(kernels_before(4) == 5);
  CHECK(kernels_before(5) == 3);
}

TEST_CASE("a call of the allocator costs the host what a pool's does, and nothing limits it") {
  const LowerCase c(MakeChain({.layers = 3}), LoadMachine("v100-x86-pcie3"));
  const Program program = Lower(c.Of({}, kCounted), StepTables(c.step, c.costs), 0).program;
  const Conditions conditions = ConditionsOf(program, c.costs, kCounted, kGB);
  CHECK(conditions.pool_capacity == 0);
  REQUIRE(c.machine.devices[0].host_costs.pool_alloc > 0);
  CHECK(conditions.host_cost[static_cast<std::size_t>(Opcode::kAlloc)] == c.machine.devices[0].host_costs.pool_alloc);
  CHECK(conditions.host_cost[static_cast<std::size_t>(Opcode::kFree)] == c.machine.devices[0].host_costs.pool_free);
}

TEST_CASE("random plans in counted memory: bytes within the capacity, and both engines agree") {
  Random random(61);
  std::mt19937 dice(61);
  int plans = 0, deferred = 0;
  const Machine machine = LoadMachine("v100-x86-pcie3");
  for (const char* network : {"cifar-vgg", "cifar-resnet20"}) {
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = 16}));
    const CostModel costs(machine);
    const StepTables tables(step, costs);
    for (int k = 0; k < 60; ++k) {
      Runtime runtime{.copy_streams = random.Between(1, 2), .memory = MemoryModel::kCounted};
      if (random.Below(3) == 0) runtime.copy_chunk = kLeastCopyChunk;
      const Plan plan = RandomPlan(step, runtime, 10 + 15 * random.Below(7), random);
      const Bytes capacity = Lower(plan, tables, 1).list_peak / 100 * (101 + random.Below(30));
      const Problem problem{
          .step = &step, .costs = &costs, .capacity = capacity, .use_runtime = true, .runtime = runtime};
      INFO(network << " " << capacity << "\n" << PlanToYaml(plan, step));
      const Evaluation e = Evaluate(plan, problem);
      REQUIRE(e.feasible);
      ++plans;
      CHECK(e.peak_bytes == MostOut(e.program));
      CHECK(e.peak_bytes <= capacity);
      CHECK(e.live_peak_bytes <= e.peak_bytes);
      CHECK(e.bounds.Best() <= e.step_time);
      CHECK(e.timeline.host_waits.empty());
      CHECK(ImpliedWaits(e.program).empty());
      deferred += MostOut(Lower(plan, tables, 1).program) > capacity ? 1 : 0;
      const std::vector<Nanos> durations = Durations(e.program, costs);
      Conditions conditions = RandomConditions(dice, false);
      conditions.copy_slowdown.clear();
      conditions.duplex_factor.clear();
      conditions.launch_cost.clear();
      Scratch scratch;
      Timeline relaxed, evented;
      const Simulated a = SimulateRelax(e.program, durations, conditions, scratch, &relaxed);
      const Simulated b = SimulateEvents(e.program, durations, conditions, scratch, &evented);
      REQUIRE(Same(a, b));
      REQUIRE(SameTimelines(relaxed, evented));
      REQUIRE(Same(SimulateRelax(e.program, durations, conditions, scratch), a));
    }
  }
  CHECK(plans == 120);
  CHECK(deferred > 20);  // frees that were wanted before the end
}

struct Small {
  explicit Small(const Dag& d)
      : dag(d), step(DagStep(d).Take()), facts(std::make_shared<const StepFacts>(step, costs)) {
    const StepTables& tables = facts->tables();
    const Bytes most = tables.WorkingSet(tables.LargestWorkingSet()), all = Lower(EmptyPlan(step), tables, 0).list_peak;
    capacities = {most, (most + all) / 2, all};
  }
  Small(const Small&) = delete;
  const Dag& dag;
  Machine machine = MachineWithWorkspace();
  CostModel costs{machine};
  TrainingStep step;
  std::shared_ptr<const StepFacts> facts;
  std::vector<Bytes> capacities;
};

constexpr Nanos kNothingFits = INT64_MAX;

// The least time of all plans. Each runs exactly where its bytes, added up with nothing deferred or prefetched, fit.
Nanos BestOfAll(const Small& n, Bytes capacity, Choices choices, int& cases) {
  const Oracle oracle(n.facts, capacity);
  Nanos best = kNothingFits;
  ForEachPlan(n.step, choices, [&](Plan& plan) {
    plan.runtime = kCounted;
    const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
    const Program late = Lower(plan, n.facts->tables(), 1, 1).program;
    INFO(n.dag.Text() << ", capacity " << capacity << "\n" << PlanToYaml(plan, n.step));
    REQUIRE(e.feasible == (MostOut(late) <= capacity));
    ++cases;
    if (!e.feasible) return;
    REQUIRE(MostOut(e.program) <= capacity);
    REQUIRE(e.bounds.Best() <= e.step_time);
    best = std::min(best, e.step_time);
  });
  return best;
}

TEST_CASE("small networks in counted memory: a plan runs where its live bytes fit, and best finds the best one") {
  int cases = 0, planned = 0, optimal = 0;
  for (const int ops : {1, 2}) {
    for (const Dag& dag : AllDags(ops)) {
      const Small n(dag);
      for (const Bytes capacity : n.capacities) {
        const Nanos least = BestOfAll(n, capacity, Choices::kStay, cases);
        Problem problem{
            .step = &n.step, .costs = &n.costs, .capacity = capacity, .use_runtime = true, .runtime = kCounted};
        const Planned best = StrategyByName("best").plan(problem);
        INFO(dag.Text() << ", capacity " << capacity);
        REQUIRE(best.feasible == (least < kNothingFits));
        if (!best.feasible) continue;
        ++planned;
        const Nanos time = Evaluate(best.plan, problem).step_time;
        if (IsTried(best.plan, n.step, Choices::kStay)) CHECK(time >= least);
        CHECK((!best.bound.has_value() || best.bound->time <= std::min(time, least)));
        optimal += time <= least ? 1 : 0;
      }
    }
  }
  INFO(cases << " plans; best is the best one in " << optimal << " of " << planned);
  CHECK(cases > 1000);
  CHECK(planned > 40);
  CHECK(optimal > planned * 95 / 100);
}

TEST_CASE("three ops in counted memory: every plan runs where its live bytes fit") {
  int cases = 0;
  const std::vector<Dag> dags = AllDags(3);
  for (const Dag& dag : Drawn(dags)) {
    const Small n(dag);
    for (const Bytes capacity : n.capacities) BestOfAll(n, capacity, Choices::kFew, cases);
  }
  CHECK(cases > 1000);
}

TEST_CASE("strategies in counted memory run, and certificates of their bounds hold") {
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 256}));
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const StepFacts facts(step, costs);
  const Bytes all = Lower(EmptyPlan(step), facts.tables(), 0).list_peak;
  Problem problem{.step = &step,
                  .costs = &costs,
                  .capacity = all * 6 / 10,
                  .use_runtime = true,
                  .runtime = RuntimeByName("torch"),
                  .simulation_cap = 300};
  for (const char* name : {"swap-all", "recompute-all", "superneurons", "pooch", "best"}) {
    INFO(name);
    const Planned planned = PlanWithHeadroom(StrategyByName(name), problem);
    INFO(planned.reason);
    REQUIRE(planned.feasible);
    const Evaluation e = Evaluate(planned.plan, problem);
    REQUIRE(e.feasible);
    CHECK(e.bounds.Best() <= e.step_time);
    const auto found = FindCertificate(facts, problem.capacity, ScopeOf(planned.plan));
    REQUIRE(found);
    CHECK(found->bound <= e.step_time);
    CHECK(ProvenBound(step, costs, *found) >= found->bound);
    BoundCertificate falsified = *found;
    falsified.bound += falsified.bound / 100 + 1;
    CHECK(ProvenBound(step, costs, falsified) < falsified.bound);
    falsified = *found;
    falsified.capacity += falsified.capacity / 20;
    CHECK((found->op == kNoOp || ProvenBound(step, costs, falsified) < falsified.bound));
  }
  problem.capacity = all;
  CHECK(Evaluate(StrategyByName("in-core").plan(problem).plan, problem).feasible);
  problem.capacity = all - 1;
  CHECK(Evaluate(StrategyByName("in-core").plan(problem).plan, problem).reason.starts_with("out_of_memory: "));
}

}  // namespace
}  // namespace spillway
