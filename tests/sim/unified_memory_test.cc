// Unified memory: which pages the account of least recently used ones moves, what that takes, and what is said where the
// figures are missing.
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"
#include "sim/uncertainty/uncertainty.h"
#include "tests/program_builder.h"

namespace spillway {
namespace {

struct Place {
  explicit Place(const char* name, const char* network = "cifar-vgg", std::int64_t batch = 256)
      : machine(LoadMachine(name)), step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), {})) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = 100 * kGB;
  }
  Evaluation By(const char* strategy, Bytes capacity) {
    problem.capacity = capacity;
    return Evaluate(StrategyByName(strategy).plan(problem).plan, problem);
  }
  Machine machine;
  CostModel costs{machine};
  TrainingStep step;
  Problem problem;
};

}  // namespace

// Room for one and a half of two buffers; the second of two steps.
TEST_CASE("pages touched longest ago go, one by one") {
  const Place place("p100-x86-pcie3");
  ProgramBuilder p;
  const BufferId a = p.Device(100 * kMiB), b = p.Device(100 * kMiB);
  p.Alloc(kCompute, a);
  p.Alloc(kCompute, b);
  p.Kernel({Wr(a)});  // of b all is there and half of a: that half goes while the other one comes, and comes itself
  p.Kernel({Rd(a)});  // all there
  p.Kernel({Rd(b)});  // half of it is there, and goes, being older, before it is reached
  p.Free(kCompute, a);
  p.Free(kCompute, b);
  const Program program = p.Build();
  const auto faults = [&](Bytes capacity) { return FaultsOf(program, place.costs, MemoryModel::kManaged, capacity); };
  const ManagedFaults found = faults(150 * kMiB);
  REQUIRE(found.waits.size() == 2);
  CHECK(found.in == found.out);  // as much as there was room for is there at the end as at the beginning
  const Link& link = place.machine.LinkOf(0);
  const auto& touch = link.FindOtherMemory(OtherMemory::Kind::kManagedTouch)->curves;
  const auto arrival = [&](Bytes bytes) {
    return touch[static_cast<std::size_t>(Direction::kHostToDevice)].Time(bytes);
  };
  CHECK(found.waits[0].arrives + found.waits[1].arrives > arrival(100 * kMiB));
  CHECK(faults(200 * kMiB).waits.empty());
  // In 60 MiB every sweep over 100 finds that the pages ahead have just gone.
  CHECK(faults(60 * kMiB).in == 300 * kMiB);

  std::vector<Nanos> best(program.code.size(), 0), middle = best, worst = best;
  const Nanos least = found.AddTo(best, -1), some = found.AddTo(middle, 0), most = found.AddTo(worst, 1);
  CHECK(least == found.waits[0].arrives + found.waits[1].arrives);
  CHECK(some == least + found.waits[0].leaves + found.waits[1].leaves);
  CHECK(most == 2 * some);
}

TEST_CASE("unified memory is in-core training where all fits, and slower the less does") {
  Place place("p100-x86-pcie3");
  const Evaluation in_core = place.By("in-core", 100 * kGB);
  for (const char* name : {"unified-memory", "unified-memory-prefetch"}) {
    const Evaluation all = place.By(name, in_core.peak_bytes + 4 * kMB);
    REQUIRE(all.feasible);
    CHECK(all.step_time == in_core.step_time);
    CHECK(all.fault_time == 0);
    Nanos last = all.step_time;
    for (const int percent : {80, 60, 40, 20, 5}) {  // beyond the largest op's operands, too
      const Bytes capacity = in_core.peak_bytes * percent / 100;
      const Evaluation e = place.By(name, capacity);
      INFO(name << " within " << percent << " %");
      REQUIRE(e.feasible);
      CHECK(e.peak_bytes == capacity);
      CHECK(e.fault_time > 0);
      CHECK(e.step_time >= last);
      CHECK(e.bounds.Best() <= e.step_time);
      CHECK(e.widest.Best() <= e.step_time);
      CHECK(e.scope.managed);
      CHECK(e.bytes_in > 0);
      last = e.step_time;
    }
  }
  const Bytes half = in_core.peak_bytes / 2;
  CHECK(place.By("unified-memory-prefetch", half).step_time <= place.By("unified-memory", half).step_time);
}

TEST_CASE("the interval holds the range of evictions") {
  Place place("p100-x86-pcie3");
  const Bytes half = place.By("in-core", 100 * kGB).peak_bytes / 2;
  place.problem.capacity = half;
  const Plan plan = StrategyByName("unified-memory").plan(place.problem).plan;
  const Evaluation e = Evaluate(plan, place.problem);
  const Interval interval = DrawStep(e, plan, *place.problem.costs, place.problem.capacity).interval;
  CHECK(interval.low < e.step_time - e.fault_time / 4);
  CHECK(interval.high > e.step_time + e.fault_time / 2);
}

TEST_CASE("unified memory says what it does not know") {
  Place none("titanx-maxwell-x86-pcie3");
  CHECK_THAT(none.By("unified-memory", kGB).reason,
             Catch::StartsWith("unified_memory: titanx-maxwell-x86-pcie3 has no curve managed_touch on its link"));
  Place some("p100-x86-pcie3");
  some.problem.use_runtime = true;
  some.problem.runtime = RuntimeByName("arena");
  CHECK(StrategyByName("unified-memory").plan(some.problem).reason == "unified_memory: the runtime has memory: arena");
  some.problem.runtime = RuntimeByName("unified-memory");
  CHECK(some.By("swap-all", kGB).reason == "unified_memory: the plan copies by itself");
}

}  // namespace spillway
