// swap-all-parts, and the search for what fits beneath it: layers that do not fit by themselves.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "hw/text/lists.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/plan/runtime.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/shared/streaming.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/parts_place.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

struct Case {
  Case(const Network& network, const char* machine_name, const char* options = "plain")
      : machine(LoadMachine(machine_name)),
        costs(machine),
        step(BuildTrainingStep(network, StepOptionsByName(options))),
        facts(std::make_shared<const StepFacts>(step, costs)) {}
  Case(const Case&) = delete;
  Problem Within(Bytes capacity) const { return {.step = &step, .costs = &costs, .capacity = capacity, .runtime = {}}; }
  Planned Fit(Bytes capacity, MayDivide divide) const { return FitByStreaming(Within(capacity), facts, "fit", divide); }
  // The least of these shares of what swapping every map needs at its largest op, in hundredths, that is feasible.
  int LeastPercent(MayDivide divide) const {
    const Bytes whole = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
    int least = 0;
    bool too_little = false;
    for (int percent = 200; percent >= 10; percent -= 5) {
      const Bytes capacity = whole * percent / 100;
      const Planned planned = Fit(capacity, divide);
      CHECK_FALSE((planned.feasible && too_little));  // what can do with less can do with more
      too_little = !planned.feasible;
      if (!planned.feasible) continue;
      CHECK(capacity >= LeastAlone(Within(capacity), facts, divide));
      CHECK(LiveAt(planned.plan, facts->tables()) == LowerItems(planned.plan, facts->tables(), 1).live_at);
      REQUIRE(CheckPlan(planned.plan, step).empty());
      const Evaluation e = Evaluate(planned.plan, Within(capacity));  // proved by verify
      REQUIRE(e.feasible);
      CHECK(e.peak_bytes <= capacity);
      CHECK(e.bounds.Best() <= e.step_time);
      least = percent;
    }
    return least;
  }

  Machine machine;
  CostModel costs;
  TrainingStep step;
  std::shared_ptr<const StepFacts> facts;
};

int Streaming(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.ops.begin(), plan.ops.end(),
                                        [](const OpDecision& decision) { return !decision.streamed.empty(); }));
}

}  // namespace

TEST_CASE("VGG-16 at batch 1024 runs on a 16 GB P100, where no plan of whole ops can") {
  const Case c(BuildZooNetwork("vgg16", {.batch = 1024}), "p100-x86-pcie3");
  const Problem problem = c.Within(c.machine.devices[0].UsableMemory());
  CHECK_FALSE(StrategyByName("swap-all").plan(problem).feasible);
  const Bytes largest = c.facts->tables().WorkingSet(c.facts->tables().LargestWorkingSet());
  CHECK(largest > 2 * problem.capacity);
  const Planned planned = StrategyByName("swap-all-parts").plan(problem);
  INFO(planned.reason);
  REQUIRE(planned.feasible);
  CHECK(StrategyByName("swap-all-parts").plan(problem).plan == planned.plan);
  REQUIRE(CheckPlan(planned.plan, c.step).empty());
  const Evaluation e = Evaluate(planned.plan, problem);
  REQUIRE(e.feasible);
  CHECK(e.peak_bytes <= problem.capacity);
  CHECK(e.bounds.Best() <= e.step_time);
  CHECK(e.scope.parts == PartScope::kStreamed);
  // The largest tensors are those of the first two convolutions and what follows them.
  for (const OpDecision& decision : planned.plan.ops) {
    const Op& op = c.step.ops[Index(decision.op)];
    INFO(op.name);
    CHECK(op.shape.out.Elements() * 4 > problem.capacity / 10);
    const bool refused =
        Contains(c.facts->tables().refused, decision.op);  // their parts are as large as the library takes
    for (const OpPart& part : decision.parts) CHECK((refused || (part.samples & (part.samples - 1)) == 0));
  }
}

TEST_CASE("where every op fits, nothing is streamed and every map is swapped") {
  const Case c(Vgg(), "unit");
  const Planned planned = StrategyByName("swap-all-parts").plan(c.Within(kGB));
  REQUIRE(planned.feasible);
  CHECK(Streaming(planned.plan) == 0);
  const ClassCounts counts = CountClasses(planned.plan, c.step);
  CHECK(counts.swap == static_cast<int>(planned.plan.gaps.size()));
  CHECK(counts.recompute == 0);
}

TEST_CASE("streaming takes small networks into less memory than any whole op needs") {
  for (const SmallNetwork& network : kNetworks) {
    const Case c(network.build(), "unit", network.options);
    INFO(network.name);
    const int whole = c.LeastPercent(MayDivide::kNothing), parts = c.LeastPercent(MayDivide::kWhatDoesNotFit);
    INFO(whole << " % of the largest op with whole ops, " << parts << " % in parts");
    CHECK(whole >= 100);
    CHECK(parts <= whole);
    const bool normed =
        std::any_of(c.step.ops.begin(), c.step.ops.end(), [](const Op& op) { return op.kind == OpKind::kBatchNorm; });
    if (!normed) CHECK(parts <= 75);
  }
}

TEST_CASE("what is live at each op, without a Program: the same, in a pool, too") {
  const Case c(ResNet(), "unit", "chainer");
  const StepTables& tables = c.facts->tables();
  Problem problem = c.Within(2 * tables.WorkingSet(tables.LargestWorkingSet()));
  problem.runtime = RuntimeByName("chainer-ooc");
  problem.use_runtime = true;
  REQUIRE(problem.runtime.memory == MemoryModel::kPool);
  const Planned planned = FitByStreaming(problem, c.facts, "fit", MayDivide::kWhatDoesNotFit);
  REQUIRE(planned.feasible);
  CHECK(LiveAt(planned.plan, tables) == LowerItems(planned.plan, tables, 1).live_at);
}

// In the bytes that are live at the least some are laid out and some not.
TEST_CASE("where no layout was found, the least that one took is told") {
  int refused = 0;
  for (const char* name : {"alexnet", "overfeat", "vgg16", "googlenet", "cifar-vgg", "cifar-resnet20"}) {
    for (const std::int64_t batch : {16, 100, 256}) {
      const Case c(BuildZooNetwork(name, {.batch = batch}), "p100-x86-pcie3");
      Bytes layout = 0;
      const Bytes enough = 2 * c.facts->tables().WorkingSet(c.facts->tables().LargestWorkingSet());
      REQUIRE(FitByStreaming(c.Within(enough), c.facts, "fit", MayDivide::kWhatDoesNotFit, &layout).feasible);
      CHECK(layout == 0);
      const Bytes alone = LeastAlone(c.Within(enough), c.facts, MayDivide::kWhatDoesNotFit);
      const Planned planned = FitByStreaming(c.Within(alone), c.facts, "fit", MayDivide::kWhatDoesNotFit, &layout);
      if (planned.feasible) continue;
      INFO(name << " " << batch << ": " << planned.reason);
      if (planned.reason.find("fragmentation: ") == std::string::npos) continue;
      CHECK(planned.reason.find(" are live") != std::string::npos);
      CHECK(layout > alone);
      ++refused;
    }
  }
  CHECK(refused > 0);
}

TEST_CASE("what nothing helps is named") {
  const Case c(ResNet(), "unit", "chainer");
  const Planned planned = c.Fit(kMB / 2, MayDivide::kWhatDoesNotFit);
  CHECK_FALSE(planned.feasible);
  INFO(planned.reason);
  CHECK_THAT(planned.reason, Catch::StartsWith("out_of_memory: "));
  CHECK(planned.reason.find(" with all else on the host") != std::string::npos);
}

}  // namespace spillway
