// A step by hand for plans with gaps that end in the next step.
#ifndef SPILLWAY_TESTS_SIM_RESTING_STEP_H_
#define SPILLWAY_TESTS_SIM_RESTING_STEP_H_

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/sim/fake_run.h"
#include "tests/step_builder.h"

namespace spillway {

// w: a parameter, c: one that nobody changes, v: a state. f0 writes a from w, f1 writes y from a and c; b1 writes g from y
// and c, b0 writes dw from g and a, and reads y where it says so; u updates w and v. Tensors are units of memory, ops take
// 1000 ns, copies 512.
struct RestingStep {
  explicit RestingStep(bool b0_reads_y = false) {
    const auto tensor = [this](const char* name, TensorClass use) { return b.Tensor(name, use, kAllocationUnit); };
    const TensorId w = tensor("w", TensorClass::kParameter), c = tensor("c", TensorClass::kParameter),
                   v = tensor("v", TensorClass::kOptimizerState), a = tensor("a", TensorClass::kFeatureMap),
                   y = tensor("y", TensorClass::kFeatureMap), g = tensor("g", TensorClass::kGradient),
                   dw = tensor("dw", TensorClass::kParameterGradient);
    b.Op("f0:forward", Pass::kForward, 1000, {w}, {a});
    b.Op("f1:forward", Pass::kForward, 1000, {a, c}, {y});
    b.Op("b1:backward", Pass::kBackward, 1000, {y, c}, {g});
    b.Op("b0:backward", Pass::kBackward, 1000, b0_reads_y ? std::vector{g, a, y} : std::vector{g, a}, {dw});
    b.Op("u:update", Pass::kUpdate, 1000, {w, dw, v}, {w, v});
    step = b.Take();
    plan.network = step.network;
    plan.batch = step.batch;
    plan.runtime = RuntimeByName("arena");
  }
  RestingStep(const RestingStep&) = delete;
  static constexpr TensorId kW = 0, kC = 1, kV = 2, kA = 3, kY = 4;
  static constexpr OpId kF0 = 0, kF1 = 1, kB1 = 2, kB0 = 3, kU = 4;

  GapDecision& Next(TensorId tensor, OpId after, OpId in_at) {
    GapDecision gap{.tensor = tensor, .after = after, .before = kNextStep, .reason = ""};
    gap.out_after = after;
    gap.in_at = in_at;
    plan.gaps.push_back(gap);
    return plan.gaps.back();
  }
  Evaluation In(int units) const {
    REQUIRE(CheckPlan(plan, step) == std::vector<std::string>{});
    const Problem problem{.step = &step,
                          .costs = &costs,
                          .capacity = units * kAllocationUnit,
                          .use_runtime = true,
                          .runtime = plan.runtime};
    return Evaluate(plan, problem);
  }
  Nanos TimeIn(int units) const {
    const Evaluation e = In(units);
    INFO(e.reason);
    REQUIRE(e.feasible);
    CHECK(e.bounds.Best() <= e.step_time);
    CHECK(e.widest.Best() <= e.step_time);
    CHECK(Says(FakeRun(e.program, &step, {}, {.iterations = 3, .debug = true})) == "");
    return e.step_time;
  }
  Program Lowered() const {
    REQUIRE(CheckPlan(plan, step) == std::vector<std::string>{});
    Program program = Lower(plan, StepTables(step, costs), 0).program;
    if (program.memory == ProgramMemory::kArena) PlaceBuffers(program);
    return program;
  }
  // Kernels and copies of the device, in list order: recomputations as r, copies as out and in, with what is live.
  std::string Order() const {
    const Program program = Lowered();
    CHECK(Verify(program, &step).empty());
    std::string text;
    int live = 0;
    for (const Instruction& in : program.code) {
      live += in.opcode == Opcode::kAlloc ? 1 : in.opcode == Opcode::kFree ? -1 : 0;
      if (in.opcode == Opcode::kCopy) {
        text += program.copies[in.arg].direction == Direction::kDeviceToHost ? " out" : " in";
      }
      if (in.opcode != Opcode::kKernel) continue;
      const Kernel& kernel = program.kernels[in.arg];
      text += (kernel.recomputation ? " r" : " ") + step.ops[Index(kernel.op)].name.substr(0, 2);
      text.erase(text.find_last_not_of(':') + 1);
      text += fmt::format(":{}", live);
    }
    return text.substr(1);
  }

  HandStep b;
  TrainingStep step;
  Machine machine = HandMachine();
  CostModel costs{machine};
  Plan plan;
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_RESTING_STEP_H_
