// micro-cuDNN as strategies: what their plans say, take and cost.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "sim/program/step_tables.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/menu_costs.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

constexpr Bytes kUsual = 64 * kMiB;

struct OnP100 {
  OnP100(const char* network, std::int64_t batch)
      : step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), StepOptionsByName("torch"))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
  }
  OnP100(const OnP100&) = delete;
  Planned PlanBy(const char* name, std::int64_t policy, std::int64_t workspace = 64, bool aware = false) const {
    Problem told = problem;
    told.parameters.Set("policy", policy);
    told.parameters.Set("workspace", workspace);
    told.parameters.Set("aware", aware);
    return StrategyByName(name).plan(told);
  }
  // Every convolution undivided and granted `workspace` bytes: what the framework sets aside for the library.
  Plan Granted(Bytes workspace) const {
    Plan plan = StrategyByName("in-core").plan(problem).plan;
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      if (step.ops[op].kind == OpKind::kConvolution) plan.ops.push_back({static_cast<OpId>(op), 0, workspace});
    }
    return plan;
  }

  Machine machine = LoadMachine("p100-power8-nvlink1");
  CostModel costs{machine};
  TrainingStep step;
  Problem problem;
};

// Of the kernels of all convolutions.
Nanos ConvolutionTime(const Evaluation& evaluation, const OnP100& on) {
  const std::vector<Nanos> durations = Durations(evaluation.program, on.costs);
  Nanos time = 0;
  for (std::size_t i = 0; i < evaluation.program.code.size(); ++i) {
    const Instruction& in = evaluation.program.code[i];
    if (in.opcode != Opcode::kKernel) continue;
    const Kernel& kernel = evaluation.program.kernels[in.arg];
    if (on.step.ops[Index(kernel.op)].kind == OpKind::kConvolution) time += durations[i];
  }
  return time;
}

std::size_t PartsIn(const Plan& plan) {
  std::size_t parts = 0;
  for (const OpDecision& decision : plan.ops) parts += decision.parts.size();
  return parts;
}

Bytes LargestIn(const OpDecision& decision) {
  Bytes largest = 0;
  for (const OpPart& part : decision.parts) largest = std::max(largest, part.workspace);
  return largest;
}

}  // namespace

TEST_CASE("plans keep everything and run every convolution in parts by name") {
  const OnP100 on("alexnet", 64);
  const auto convolutions = std::count_if(on.step.ops.begin(), on.step.ops.end(),
                                          [](const Op& op) { return op.kind == OpKind::kConvolution; });
  for (const char* name : {"ucudnn-wr", "ucudnn-wd"}) {
    INFO(name);
    const Planned planned = on.PlanBy(name, 1);
    REQUIRE(planned.feasible);
    CHECK(CheckPlan(planned.plan, on.step).empty());
    CHECK(planned.plan.gaps.empty());
    CHECK(planned.plan.runtime.part_waits == PartWaits::kHost);
    CHECK(planned.plan.strategy == std::string(name) + ":policy=1:workspace=64:aware=false");
    CHECK(static_cast<std::int64_t>(planned.plan.ops.size()) == convolutions);
    CHECK(PartsIn(planned.plan) > planned.plan.ops.size());
    CHECK(StrategyByName(name).plan(on.problem).plan.ops == planned.plan.ops);  // what holds without parameters
    Bytes sum = 0;
    for (const OpDecision& decision : planned.plan.ops) {
      CHECK(LargestIn(decision) <= kUsual);
      sum += LargestIn(decision);
      for (const OpPart& part : decision.parts) CHECK(part.algorithm > 0);
    }
    CHECK((sum <= kUsual) == (name == std::string("ucudnn-wd")));
  }
}

TEST_CASE("the problem's runtime is kept") {
  OnP100 on("resnet18", 8);
  on.problem.use_runtime = true;
  CHECK(on.PlanBy("ucudnn-wr", 1).plan.runtime == Runtime{});
}

TEST_CASE("who does not wait behind parts counts no waits") {
  OnP100 on("resnet18", 16);
  const std::size_t counted = PartsIn(on.PlanBy("ucudnn-wr", 2, 64, true).plan);
  on.problem.use_runtime = true;  // our own: the launches are left
  const std::size_t launches = PartsIn(on.PlanBy("ucudnn-wr", 2, 64, true).plan);
  CHECK(launches >= counted);
  on.problem.runtime.part_waits = PartWaits::kHost;
  CHECK(PartsIn(on.PlanBy("ucudnn-wr", 2, 64, true).plan) == counted);
}

TEST_CASE("every size is tried up to a batch that it can be done for") {
  const OnP100 on("alexnet", 1025);
  for (const char* name : {"ucudnn-wr", "ucudnn-wd"}) {
    const Planned refused = on.PlanBy(name, 2);
    CHECK_FALSE(refused.feasible);
    CHECK(refused.reason ==
          "policy: 2 tries parts of every size up to a batch of 1024, this is 1025; 1 tries powers of two");
    CHECK(on.PlanBy(name, 1).scope->workspace == kUsual);
  }
  CHECK(on.PlanBy("ucudnn-wr", 1, 8).scope->workspace == 8 * kMiB);
}

TEST_CASE("what the optimisers expect is what the kernels of their plans take") {
  const OnP100 on("alexnet", 64);
  for (const char* name : {"ucudnn-wr", "ucudnn-wd"}) {
    Nanos undivided = 0;
    for (const std::int64_t policy : {0, 1, 2}) {
      INFO(name << " " << policy);
      const Planned planned = on.PlanBy(name, policy);
      const Evaluation evaluation = Evaluate(planned.plan, on.problem);
      REQUIRE(evaluation.feasible);
      const Nanos time = ConvolutionTime(evaluation, on);
      if (policy == 0) undivided = time;
      CHECK(time <= undivided);
      CHECK_THAT(planned.plan.search, Catch::Contains(FormatDuration(time) + " expected of all") &&
                                          Catch::Contains(FormatDuration(undivided) + " undivided"));
      CHECK((PartsIn(planned.plan) > planned.plan.ops.size()) == (policy != 0));
    }
  }
}

// WD's pieces are there when no convolution runs, too.
TEST_CASE("WR's footprint is no larger than that of whole convolutions with the same workspace") {
  int smaller_workspace = 0;
  for (const char* network : {"alexnet", "resnet18"}) {
    const OnP100 on(network, 64);
    for (const std::int64_t workspace : {8, 64, 512}) {
      const Evaluation whole = Evaluate(on.Granted(workspace * kMiB), on.problem);
      INFO(network << " " << workspace);
      const Evaluation parts = Evaluate(on.PlanBy("ucudnn-wr", 1, workspace).plan, on.problem);
      REQUIRE(parts.feasible);
      CHECK(parts.live_peak_bytes <= whole.live_peak_bytes);
      CHECK(parts.peak_bytes <= whole.peak_bytes);
      smaller_workspace += parts.peak_bytes < whole.peak_bytes ? 1 : 0;
    }
  }
  CHECK(smaller_workspace > 0);
}

TEST_CASE("aware of the host's waits, it divides less and the step is faster") {
  const OnP100 on("resnet18", 16);
  for (const char* name : {"ucudnn-wr", "ucudnn-wd"}) {
    INFO(name);
    const Plan published = on.PlanBy(name, 2).plan, aware = on.PlanBy(name, 2, 64, true).plan;
    CHECK(PartsIn(aware) < PartsIn(published));
    CHECK(Evaluate(aware, on.problem).step_time < Evaluate(published, on.problem).step_time);
  }
}

TEST_CASE("one more part costs the step one launch and one wait") {
  const OnP100 on("resnet18", 16);
  Plan plan = on.PlanBy("ucudnn-wr", 0).plan;
  const Nanos before = Evaluate(plan, on.problem).step_time;
  const HostCosts& host = on.machine.devices[0].host_costs;
  OpDecision& decision = plan.ops[4];
  const Launch launch = LaunchOf(on.step.ops[Index(decision.op)]);
  OpPart part = decision.parts.front();
  const auto time = [&](std::int64_t samples) {
    Launch of_part = launch;
    of_part.shape.in.n = of_part.shape.out.n = samples;
    of_part.algorithm = part.algorithm;
    of_part.workspace = part.workspace;
    return on.costs.Kernel(of_part).time;
  };
  const Nanos kernels = 2 * time(8) - time(16);
  part.samples = 8;
  decision.parts = {part, part};
  REQUIRE(CheckPlan(plan, on.step).empty());
  CHECK(Evaluate(plan, on.problem).step_time - before - kernels ==
        host.sync + on.costs.launch_costs().Of(launch.kind, launch.pass));
}

TEST_CASE("pieces of workspace stay allocated beside everything else") {
  OnP100 on("alexnet", 64);
  Plan plan = on.PlanBy("ucudnn-wd", 1, 512).plan;
  Bytes pieces = 0;
  for (const OpDecision& decision : plan.ops) {
    if (LargestIn(decision) > 0) pieces += RoundToUnit(LargestIn(decision));
  }
  Plan bare = plan;
  for (OpDecision& decision : bare.ops) decision.parts = {{.samples = 64}};
  const Bytes footprint = Evaluate(bare, on.problem).live_peak_bytes + pieces;
  CHECK(Evaluate(plan, on.problem).live_peak_bytes == footprint);
  CHECK_THAT(plan.search, Catch::EndsWith("; " + FormatBytes(pieces) + " of workspace in all"));
  on.problem.capacity = footprint - 1;
  CHECK_THAT(Evaluate(plan, on.problem).reason, Catch::StartsWith("out_of_memory: the plan needs "));
  plan.runtime.workspaces = Workspaces::kPerOp;
  CHECK(Evaluate(plan, on.problem).feasible);
  on.problem.use_runtime = true;  // our own, in which each has its workspace for as long as it runs
  CHECK(Evaluate(on.PlanBy("ucudnn-wd", 1, 512).plan, on.problem).feasible);
}

TEST_CASE("workspaces that are too little together are refused, with how much it takes") {
  HandStep b;
  const TensorId input = b.Tensor("input", TensorClass::kInput, 100);
  const TensorId one = b.Tensor("one", TensorClass::kFeatureMap, 100);
  const TensorId two = b.Tensor("two", TensorClass::kFeatureMap, 100);
  b.Op("f1:forward", Pass::kForward, 10, {input}, {one});
  b.Op("f2:forward", Pass::kForward, 11, {one}, {two});
  TrainingStep step = b.Take();
  const Machine machine = HandMachine();
  MenuCosts costs(machine);
  for (Op& op : step.ops) costs.SetMenu(op, {{1, 3 * kMiB, 10}});
  Problem problem{.step = &step, .costs = &costs, .capacity = kGB, .runtime = {}};
  problem.parameters.Set("workspace", std::int64_t{5});
  const Planned refused = StrategyByName("ucudnn-wd").plan(problem);
  CHECK_FALSE(refused.feasible);
  CHECK(refused.reason ==
        fmt::format("out_of_memory: the convolutions need {} of workspace together, {} are to be divided",
                    FormatBytes(6 * kMiB), FormatBytes(5 * kMiB)));
  CHECK(StrategyByName("ucudnn-wr").plan(problem).plan.ops.size() == 2);
  // Where no way is within the limit, the library decides as it does without.
  problem.parameters = {};
  problem.parameters.Set("workspace", std::int64_t{2});
  const Planned left = StrategyByName("ucudnn-wd").plan(problem);
  REQUIRE(left.feasible);
  CHECK(left.plan.ops.empty());
}

}  // namespace spillway
