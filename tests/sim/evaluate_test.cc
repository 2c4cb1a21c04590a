// The whole path from a Plan to figures, on timelines drawn by hand.
//
// The chain of tests/step_builder.h: every tensor is below 512 bytes and takes one unit of memory, 512 bytes; a copy of
// a map or the input (10 bytes) takes 10 ns times the link's ns per byte.
#include <catch2/catch.hpp>
#include <numeric>

#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "tests/random_plan.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

constexpr Bytes kUnit = 512;

struct Case {
  explicit Case(TrainingStep s, Machine m = HandMachine()) : step(std::move(s)), machine(std::move(m)) {
    plan.strategy = "by hand";
    plan.network = step.network;
    plan.batch = step.batch;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = 100 * kUnit;
  }
  Case(const Case&) = delete;
  TensorId Tensor(const std::string& name) const {
    TensorId t = 0;
    while (step.tensors.at(static_cast<std::size_t>(t)).name != name) ++t;
    return t;
  }
  GapDecision& Decide(const char* tensor, GapAction action) {
    const MapGap ends = ForwardBackwardGap(step, Uses(step), Tensor(tensor));
    GapDecision gap;
    gap.tensor = Tensor(tensor);
    gap.after = ends.after;
    gap.before = ends.before;
    gap.action = action;
    if (action == GapAction::kSwap) {
      gap.out_after = ends.after;
      gap.in_at = ends.before;
    }
    plan.gaps.push_back(gap);
    return plan.gaps.back();
  }
  GapDecision& Swap(const char* tensor) { return Decide(tensor, GapAction::kSwap); }
  Evaluation Run() {
    REQUIRE(CheckPlan(plan, step) == std::vector<std::string>{});
    return Evaluate(plan, problem);
  }

  TrainingStep step;
  Machine machine;
  CostModel costs{machine};
  Plan plan;
  Problem problem;
};

//   h2d      |upload 10|
//   compute             |f1 4|f2 4|f3 4|b3 4|b2 4|b1 4|
TEST_CASE("in-core: the upload, then every op") {
  Case c(MakeChain());
  const Evaluation e = c.Run();
  REQUIRE(e.feasible);
  CHECK(e.reason.empty());
  CHECK(e.step_time == 10 + 6 * 4);
  CHECK(e.compute_time == 24);
  CHECK(e.recompute_time == 0);
  CHECK(e.bytes_in == 10);
  CHECK(e.bytes_out == 0);
  CHECK(e.stall_in == 10);
  CHECK(e.stall_out == 0);
  CHECK(e.stall_host == 0);
  CHECK(e.classes.keep == 4);
  CHECK(e.classes.swap + e.classes.recompute == 0);
  CHECK(e.live_peak_bytes == 5 * kUnit);  // b3: the input, three maps, one gradient
  CHECK(e.peak_bytes == 5 * kUnit);
  CHECK(e.host_peak_bytes == kUnit);  // the input
  CHECK(e.bounds.compute == 34);
  CHECK(e.bounds.transfer == 10);
  CHECK(e.bounds.Best() == 34);
  CHECK(e.scope == ScopeOf(c.plan));
  // Chosen from more than it decides: its bounds are those of both.
  const Scope chosen_from{.algorithms = AlgorithmScope::kLibrary, .workspace = kUnit, .copy_streams = 1};
  const Evaluation wider = Evaluate(c.plan, c.problem, {.scope = chosen_from});
  CHECK(wider.scope == Union(chosen_from, ScopeOf(c.plan)));
  CHECK_FALSE(wider.scope == chosen_from);
  CHECK(e.memory_by_class.at(static_cast<std::size_t>(TensorClass::kInput)) == kUnit);
  CHECK(e.memory_by_class.at(static_cast<std::size_t>(TensorClass::kFeatureMap)) == 3 * kUnit);
  CHECK(e.memory_by_class.at(static_cast<std::size_t>(TensorClass::kGradient)) == kUnit);
  CHECK(e.memory_by_class.back() == 0);  // workspace
  CHECK(e.timeline.makespan == e.step_time);
  CHECK(e.timeline.spans.size() == 7);
}

//   h2d      |upload 10|                                |in 10|
//   compute             |f1 20|f2 20   |f3 20|b3 20|b2 20      |b1 20|
//   d2h                       |out 10|
TEST_CASE("a swap whose copies are shorter than the ops beside them costs nothing") {
  Case c(MakeChain({.forward = 20, .backward = 20}));
  c.Swap("m1").in_at = 4;  // b2
  const Evaluation e = c.Run();
  REQUIRE(e.feasible);
  CHECK(e.step_time == 10 + 6 * 20);
  CHECK(e.bytes_out == 10);
  CHECK(e.bytes_in == 20);
  CHECK(e.stall_in == 10);  // the upload
  CHECK(e.stall_out == 0);
  CHECK(e.classes.keep == 3);
  CHECK(e.classes.swap == 1);
  CHECK(e.host_peak_bytes == 2 * kUnit);
}

// Within 4 units m1 can only come back when b2 has given memory back:
//   h2d      |upload 10|                                        |in 10|
//   compute             |f1 20|f2 20   |f3 20|b3 20|b2 20       |     |b1 20|
//   live units           2     3        3     4     4                  3
TEST_CASE("no room for a prefetch: the op waits for its swap-in") {
  Case c(MakeChain({.forward = 20, .backward = 20}));
  c.Swap("m1").in_at = 4;
  c.problem.capacity = 4 * kUnit;
  const Evaluation e = c.Run();
  REQUIRE(e.feasible);
  CHECK(e.step_time == 10 + 6 * 20 + 10);
  CHECK(e.stall_in == 20);
  CHECK(e.peak_bytes == 4 * kUnit);
  CHECK(e.live_peak_bytes == 4 * kUnit);
}

// PoocH's runtime in 3 units, 5 ns a byte, L = 4; the input, m1 and m2 are swapped, each back right before its use.
//
//   copy     |upload|     |out m1|out m2|                         |in m2|          |in m1|in data|
//   compute         |f1|f2|f3|   |f4|   .     |b4|b3|              .     |b2|        .    .       |b1|
//   ends      50     70 90 110 120 140  170    190 210            260     280      330     380     400
//
// f4 wants a third unit beside m2 and m3: it waits for m1's copy out, 110 to 120. The host waits for the end of
// forward's copies, and b4 with it, 140 to 170. b2 waits for m2, 210 to 260; b1 for m1 and the input, 280 to 380.
TEST_CASE("a pool that blocks, a barrier after forward, one copy stream") {
  Case c(MakeChain({.layers = 4, .forward = 20, .backward = 20}), HandMachine(5));
  c.plan.runtime = RuntimeByName("pooch");
  c.problem.capacity = 3 * kUnit;
  for (const char* map : {"m2", "m1", "data"}) c.Swap(map);
  const Evaluation e = c.Run();
  INFO(e.reason);
  REQUIRE(e.feasible);
  CHECK(e.step_time == 400);
  CHECK(e.compute_time == 8 * 20);
  CHECK(e.stall_out == 10 + 30);
  CHECK(e.stall_host == 0);
  CHECK(e.stall_in == 50 + 50 + 100);
  CHECK(e.bytes_out == 20);
  CHECK(e.bytes_in == 40);
  CHECK(e.peak_bytes == 3 * kUnit);
  CHECK(e.host_peak_bytes == 3 * kUnit);
  CHECK(e.classes.keep == 2);
  CHECK(e.classes.swap == 3);
}

// In-core with a kernel launch of 6 ns and ops of 4: the host is the bottleneck. The upload is submitted at once and
// done at 10; f1 is launched at 6. From then on the k-th op starts at 6 k, the last one, b1, at 36.
TEST_CASE("a slow host") {
  Machine machine = HandMachine();
  machine.devices[0].host_costs.kernel_launch = 6;
  Case c(MakeChain(), machine);
  const Evaluation e = c.Run();
  CHECK(e.step_time == 6 * 6 + 4);
  // f1 runs 10 to 14, f2 14 to 18, f3 18 to 22, b3 24 to 28, b2 30 to 34, b1 36 to 40: three times 2 ns.
  CHECK(e.stall_host == 6);
  CHECK(e.stall_in == 10);
  c.plan.runtime.framework_time = 4;  // 10 ns an op: f1 at 10, then no op before 20, 30 ...
  CHECK(c.Run().step_time == 6 * 10 + 4);
}

//   d2h                     |out 10      |
//   h2d      |upload 10|                 |in 10            |
//   compute             |f1 |f2      |f3          |b3 |b2 |b1 |
//   ends      10         14  22       30           34  38  42
//
// Forward ops run at half their speed while a copy does. Copy and memory allowing, m1 comes back as soon as it is out.
TEST_CASE("kernels slow down while a copy runs") {
  Machine machine = HandMachine();
  CostLaw law;
  law.op = OpKind::kLinear;
  law.pass = Pass::kForward;
  law.flop_fraction = 1;
  law.copy_slowdown = 2;
  machine.devices[0].laws.push_back(law);
  Case c(MakeChain(), machine);
  c.Swap("m1").out_after = 0;
  c.plan.gaps[0].in_at = 3;
  CHECK(c.Run().step_time == 42);
}

TEST_CASE("recomputation adds the ops it repeats") {
  // m2 is computed again from m1, which is at hand: f2, 4 ns.
  Case c(MakeChain());
  c.Decide("m2", GapAction::kRecompute);
  const Evaluation e = c.Run();
  CHECK(e.step_time == 10 + 24 + 4);
  CHECK(e.recompute_time == 4);
  CHECK(e.compute_time == 28);
  CHECK(e.classes.recompute == 1);
  // m1 as well, and it is not kept: for m2 f1 and f2, for b1 f1 again.
  c.Decide("m1", GapAction::kRecompute).keep_result = false;
  CHECK(c.Run().recompute_time == 4 + 4 + 4);
  // ... kept: f1 and f2.
  c.plan.gaps[1].keep_result = true;
  CHECK(c.Run().recompute_time == 4 + 4);
}

TEST_CASE("working_set: the op that does not fit and the limit that would do") {
  // b2 is the first op with three operands: m2, g2, g1.
  Case c(MakeChain());
  c.problem.capacity = 3 * kUnit - 1;
  const Evaluation e = c.Run();
  CHECK_FALSE(e.feasible);
  CHECK(e.reason == "working_set: b2:backward needs 1.54 kB with everything else moved out");
  CHECK(e.worst_op == 4);
  CHECK(e.smallest_limit == 3 * kUnit);
  CHECK(e.step_time == 0);
}

TEST_CASE("out_of_memory: what the plan needs in an arena, what was there in a pool") {
  Case c(MakeChain());
  c.problem.capacity = 4 * kUnit;  // in-core needs 5 at b3
  CHECK(c.Run().reason == "out_of_memory: the plan needs 2.56 kB at b3:backward");
  CHECK(c.Run().worst_op == kNoOp);
  c.plan.runtime.memory = MemoryModel::kPool;
  const Evaluation e = c.Run();
  CHECK_FALSE(e.feasible);
  CHECK(e.reason == "out_of_memory: 2.05 kB in use and 512 B more wanted at b3:backward");
}

TEST_CASE("host_memory: the input's and m1's copies against the pinned limit") {
  Machine machine = HandMachine();
  machine.hosts[0].pinned_limit = 2 * kUnit;
  {
    Case c(MakeChain(), machine);
    c.Swap("m1");
    CHECK(c.Run().feasible);
  }
  machine.hosts[0].pinned_limit = 2 * kUnit - 1;
  Case c(MakeChain(), machine);
  CHECK(c.Run().feasible);
  c.Swap("m1");
  const Evaluation e = c.Run();
  CHECK_FALSE(e.feasible);
  CHECK(e.reason == "host_memory: 1.024 kB of pinned memory on host0, which has 1.023 kB");
  CHECK(e.host_peak_bytes == 2 * kUnit);
}

TEST_CASE("what is copied out is held compressed, the input is not, and times are the same") {
  Machine machine = HandMachine();
  machine.hosts[0].pinned_limit = kUnit + kUnit / 2;
  Case c(MakeChain(), machine);
  c.Swap("m1");
  CHECK_FALSE(c.Run().feasible);
  c.plan.runtime.host_percent = 50;
  const Evaluation half = c.Run();
  REQUIRE(half.feasible);
  CHECK(half.host_peak_bytes == kUnit + kUnit / 2);
  Case whole(MakeChain());
  whole.Swap("m1");
  CHECK(half.step_time == whole.Run().step_time);
  CHECK(half.bytes_out == whole.Run().bytes_out);
  c.plan.runtime.host_percent = 51;  // 262 bytes
  CHECK(c.Run().reason == "host_memory: 774 B of pinned memory on host0, which has 768 B");
}

TEST_CASE("what is not asked for is not done") {
  Case c(MakeChain());
  const Evaluation e = Evaluate(c.plan, c.problem, {.verify = false, .bounds = false, .timeline = false});
  CHECK(e.feasible);
  CHECK(e.step_time == 34);
  CHECK(e.bounds.Best() == 0);
  CHECK(e.timeline.spans.empty());
}

TEST_CASE("memory by class adds up to the live peak, whatever the plan and its runtime") {
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 4}));
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = 16 * kMB;
  Runtime addresses = RuntimeByName("pooch");
  addresses.pool = PoolKind::kAddresses;
  Random random(7);
  int feasible = 0;
  for (int i = 0; i < 30; ++i) {
    const Runtime& runtime = i % 3 == 0 ? RuntimeByName("arena") : i % 3 == 1 ? RuntimeByName("pooch") : addresses;
    Plan plan = RandomPlan(step, runtime, 40, random);
    AddRandomEntries(step, random, plan);
    const Evaluation e = Evaluate(plan, problem, {.bounds = false});
    if (!e.feasible) continue;
    ++feasible;
    CHECK(std::accumulate(e.memory_by_class.begin(), e.memory_by_class.end(), Bytes{0}) == e.live_peak_bytes);
    double area = 0;  // under the curve
    for (std::size_t k = 0; k < e.timeline.memory.size(); ++k) {
      const bool last = k + 1 == e.timeline.memory.size();
      const Nanos until = last ? e.step_time : e.timeline.memory[k + 1].time;
      area += static_cast<double>(e.timeline.memory[k].live) * static_cast<double>(until - e.timeline.memory[k].time);
    }
    const Bytes mean = std::accumulate(e.mean_by_class.begin(), e.mean_by_class.end(), Bytes{0});
    CHECK(static_cast<double>(mean) == Approx(area / static_cast<double>(e.step_time)).margin(9));
    CHECK(mean < e.live_peak_bytes);
  }
  CHECK(feasible > 10);
}

TEST_CASE("twice the same") {
  Random random(5);
  const Machine machine = LoadMachine("v100-x86-pcie3");
  Case c(BuildTrainingStep(BuildZooNetwork("cifar-resnet20", {.batch = 64})), machine);
  c.problem.capacity = machine.devices[0].UsableMemory();
  for (const RuntimeEntry& runtime : RuntimeTable()) {
    c.plan = RandomPlan(c.step, runtime.runtime, 40, random);
    c.plan.runtime.gaps = CarriedGaps::kAny;  // random plans leave what a framework carries out
    if (IsManaged(runtime.runtime.memory)) {
      std::erase_if(c.plan.gaps, [](const GapDecision& gap) { return gap.action == GapAction::kSwap; });
    }
    const Evaluation one = c.Run(), two = c.Run();
    REQUIRE(one.feasible);
    CHECK(DumpProgram(one.program, &c.step) == DumpProgram(two.program, &c.step));
    CHECK(one.step_time == two.step_time);
    CHECK(one.timeline.stall == two.timeline.stall);
    REQUIRE(one.timeline.spans.size() == two.timeline.spans.size());
    for (std::size_t k = 0; k < one.timeline.spans.size(); ++k) {
      const Span &a = one.timeline.spans[k], &b = two.timeline.spans[k];
      REQUIRE((a.instruction == b.instruction && a.start == b.start && a.end == b.end));
    }
    REQUIRE(one.timeline.memory.size() == two.timeline.memory.size());
    for (std::size_t k = 0; k < one.timeline.memory.size(); ++k) {
      REQUIRE(one.timeline.memory[k].time == two.timeline.memory[k].time);
      REQUIRE(one.timeline.memory[k].live == two.timeline.memory[k].live);
    }
  }
}

}  // namespace
}  // namespace spillway
