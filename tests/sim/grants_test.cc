// A grant of workspace is an upper limit: where less is free, the library runs the next algorithm of its menu.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "model/profile/machine.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "sim/certify/certificate.h"
#include "sim/evaluate/compile.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/sim/menu_costs.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

constexpr Bytes kUnit = kAllocationUnit;

// Two wide windows, whose gradients of filters are fastest by transforms that want more than all their operands.
Network WideWindows(std::int64_t batch) {
  NetworkBuilder b("wide", {.n = batch, .c = 64, .h = 28, .w = 28});
  const LayerId first = b.ConvolutionRelu("c1", kNetworkInput, Square(64, 5, 1, 2));
  const LayerId second = b.ConvolutionRelu("c2", first, Square(64, 5, 1, 2));
  return b.Loss(b.Linear("fc", second, 10));
}

// Unequal branches, joined.
Network Branches(std::int64_t batch) {
  NetworkBuilder b("branches", {.n = batch, .c = 16, .h = 28, .w = 28});
  std::vector<LayerId> ends;
  for (int k = 0; k < 4; ++k) {
    const std::string name = "b" + std::to_string(k);
    ends.push_back(b.ConvolutionRelu(name, kNetworkInput, Square(16 << (k % 3), 1 + 2 * k, 1, k)));
  }
  return b.Loss(b.Linear("fc", b.Concat("all", ends), 10));
}

Problem ProblemOf(const TrainingStep& step, const CostModel& costs, Bytes capacity) {
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = capacity;
  problem.simulation_cap = 200;
  return problem;
}

// The time of the strategy's plan, verified; 0: it does not run.
Nanos TimeOf(const Strategy& strategy, const Problem& problem) {
  const Planned planned = PlanWithHeadroom(strategy, problem);
  if (!planned.feasible) return 0;
  const Evaluation e = Evaluate(planned.plan, problem, {.timeline = false});
  if (e.feasible) CHECK(e.bounds.Best() <= e.step_time);
  return e.feasible ? e.step_time : 0;
}

}  // namespace

TEST_CASE("more workspace granted makes no row stop running") {
  const Machine machine = LoadMachine("p100-x86-pcie3");
  const Bytes grants[] = {0, 8 * kMiB, 64 * kMiB, 256 * kMiB, 4 * kGiB};
  const std::vector<std::string> names{"in-core", "swap-all", "pooch", "dtr", "superneurons", "swap-all-parts"};
  int cut = 0, ran = 0;
  for (const bool wide : {true, false}) {
    for (const char* options : {"torch", "vdnn"}) {
      const TrainingStep step = BuildTrainingStep(wide ? WideWindows(32) : Branches(61), StepOptionsByName(options));
      const CostModel none(machine, {.workspace_limit = 0});
      const StepTables tables(step, none);
      const Bytes all = Lower(Plan{}, tables, 0).list_peak;
      const Bytes least = tables.WorkingSet(tables.LargestWorkingSet());
      for (const Bytes capacity : {all + all / 20, (least + all) / 2}) {
        std::map<std::string, Nanos> before;  // with the grant before; 0: it did not run
        for (const Bytes grant : grants) {
          const CostModel costs(machine, {.workspace_limit = grant});
          const StepTables granted(step, costs);
          cut += granted.CutsGrants(capacity) ? 1 : 0;
          for (const std::string& name : names) {
            INFO(name << " by " << options << " in " << FormatBytes(capacity) << ", " << FormatBytes(grant));
            const Nanos time = TimeOf(StrategyByName(name), ProblemOf(step, costs, capacity));
            ran += time > 0 ? 1 : 0;
            if (before[name] > 0) CHECK(time > 0);
            // Layouts leave holes, for which grants are cut a little more.
            if (name == "in-core" && before[name] > 0) CHECK(time <= before[name] * 105 / 100);
            before[name] = time;
          }
        }
      }
    }
  }
  CHECK(cut > 0);
  CHECK(ran > 100);
}

// x 4 units, y 4 units; the convolution wants 6 units, or 2, or none.
TEST_CASE("the library takes the fastest algorithm that what is free holds") {
  const Machine machine = HandMachine();
  struct Expected {
    Bytes units;
    Nanos time;
    Bytes workspace;
  };
  for (const auto& [units, time, workspace] :
       {Expected{14, 100, 6}, Expected{13, 150, 2}, Expected{10, 150, 2}, Expected{9, 400, 0}, Expected{8, 400, 0}}) {
    HandStep hand;
    const TensorId x = hand.Tensor("x", TensorClass::kInput, 4 * kUnit);
    const TensorId y = hand.Tensor("y", TensorClass::kFeatureMap, 4 * kUnit);
    hand.Op("conv", Pass::kForward, 400, {x}, {y});
    TrainingStep step = hand.Take();
    CostOptions options;
    options.workspace_limit = kMostWorkspace;
    MenuCosts costs(machine, options);
    costs.SetMenu(step.ops[0], {{3, 6 * kUnit, 100}, {2, 2 * kUnit, 150}, {1, 0, 400}});
    INFO(units << " units");
    const StepTables tables(step, costs);
    const CompiledPlan compiled = CompileWithin(Plan{}, tables, units * kUnit);
    REQUIRE(compiled.reason.empty());
    const Launch& launch = compiled.program.launches[compiled.program.kernels[0].launch];
    CHECK(costs.Kernel(launch).time == time);
    CHECK(launch.workspace == workspace * kUnit);
    CHECK(compiled.peak_bytes <= units * kUnit);
    const StepTables within(step, costs, 0, units * kUnit);
    CHECK(within.launches[within.launch[0]].workspace == workspace * kUnit);
    CHECK(CheckWorkingSets(Plan{}, tables, units * kUnit).reason.empty());
  }
}

TEST_CASE("a refusal names what the op itself needs") {
  const Machine machine = LoadMachine("p100-x86-pcie3");
  const TrainingStep step = BuildTrainingStep(WideWindows(32), StepOptionsByName("torch"));
  const CostModel costs(machine, {.workspace_limit = kGiB}), none(machine, {.workspace_limit = 0});
  const StepTables tables(step, costs), without(step, none);
  const OpId largest = without.LargestWorkingSet();
  const Bytes least = without.WorkingSet(largest);
  CHECK(tables.WorkingSet(tables.LargestWorkingSet()) > least);
  const CompiledPlan refused = CheckWorkingSets(Plan{}, tables, least - kUnit);
  CHECK(refused.reason == "working_set: " + step.ops[Index(largest)].name + " needs " + FormatBytes(least) +
                              " with everything else moved out");
  CHECK(CheckWorkingSets(Plan{}, tables, least).reason.empty());
}

TEST_CASE("a named algorithm keeps its workspace") {
  const Machine machine = LoadMachine("p100-x86-pcie3");
  const TrainingStep step = BuildTrainingStep(WideWindows(32), StepOptionsByName("torch"));
  const CostModel costs(machine, {.workspace_limit = 0});
  const StepTables tables(step, costs);
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    std::vector<MenuEntry> menu = costs.Menu(LaunchOf(step.ops[Index(op)]));
    std::erase_if(menu, [](const MenuEntry& entry) { return entry.algorithm == 0 || entry.workspace == 0; });
    if (menu.empty()) continue;
    Plan plan;
    plan.ops = {{.op = op, .algorithm = menu[0].algorithm, .workspace = menu[0].workspace}};
    const Bytes alone = tables.WorkingSets(plan.ops)[Index(op)];
    CHECK_FALSE(CheckWorkingSets(plan, tables, alone - kUnit).reason.empty());
    plan.ops[0].algorithm = 0;  // whose library may take less
    const Bytes room = std::max(alone - kUnit, tables.WorkingSet(tables.LargestWorkingSet()));
    CHECK(CheckWorkingSets(plan, tables, room).reason.empty());
  }
}

// Grants that are cut make some ops slower, never faster than the bounds of the same grants, nor than certificates.
TEST_CASE("no drawn plan within cut grants is below its bounds") {
  const Machine machine = LoadMachine("p100-x86-pcie3");
  Random random(11);
  int cases = 0, cut = 0;
  for (const bool wide : {true, false}) {
    const TrainingStep step = BuildTrainingStep(wide ? WideWindows(16) : Branches(16));
    for (const Bytes grant : {8 * kMiB, 4 * kGiB}) {
      const CostModel costs(machine, {.workspace_limit = grant}), none(machine, {.workspace_limit = 0});
      const StepTables least(step, none), most(step, costs);
      const Bytes floor = least.WorkingSet(least.LargestWorkingSet());
      const Bytes all = Lower(Plan{}, most, 0).list_peak;
      for (const int percent : {5, 40, 80}) {
        const Bytes capacity = floor + (all - floor) * percent / 100;
        const auto facts = std::make_shared<const StepFacts>(step, costs, 0, capacity);
        const Oracle oracle(facts, capacity);
        for (int k = 0; k < Cases(6, 60); ++k) {
          const Plan plan = RandomPlan(step, {}, 10 * random.Below(9), random);
          const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
          if (!e.feasible) continue;
          REQUIRE(e.widest.Best() <= e.bounds.Best());
          REQUIRE(e.bounds.Best() <= e.step_time);
          CHECK(e.peak_bytes <= capacity);
          const BoundCertificate plain{.scope = e.scope, .capacity = capacity};
          CHECK(ProvenBound(step, costs, plain) <= e.step_time);
          cut += Lower(plan, most, 1).list_peak > capacity ? 1 : 0;
          ++cases;
        }
      }
    }
  }
  CHECK(cases > 20);
  CHECK(cut > 0);
}

}  // namespace spillway
