// Gaps with an open end: values that stay past their last use because recomputations read them.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/util/random.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"
#include "tests/sim/drawn_recording.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

// f0 writes a, f1 writes m from a, f2 writes y from m; b2 reads y, b1 reads m, b0 reads a and y. Units of memory; ns 1.
struct Chain {
  Chain() {
    const auto tensor = [this](const char* name) { return b.Tensor(name, TensorClass::kFeatureMap, kAllocationUnit); };
    const TensorId a = tensor("a"), m = tensor("m"), y = tensor("y");
    const auto gradient = [this](const char* name) { return b.Tensor(name, TensorClass::kGradient, kAllocationUnit); };
    const TensorId g2 = gradient("g2"), g1 = gradient("g1"), g0 = gradient("g0");
    b.Op("f0:forward", Pass::kForward, 1, {}, {a});
    b.Op("f1:forward", Pass::kForward, 1, {a}, {m});
    b.Op("f2:forward", Pass::kForward, 1, {m}, {y});
    b.Op("b2:backward", Pass::kBackwardData, 1, {y}, {g2});
    b.Op("b1:backward", Pass::kBackwardData, 1, {g2, m}, {g1});
    b.Op("b0:backward", Pass::kBackwardData, 1, {g1, a, y}, {g0});
    step = b.Take();
    plan.network = step.network;
    plan.batch = step.batch;
    plan.gaps = {{.tensor = kY, .after = 3, .before = 5, .action = GapAction::kRecompute, .reason = ""}};
  }
  Chain(const Chain&) = delete;
  static constexpr TensorId kA = 0, kM = 1, kY = 2;
  GapDecision& Open(TensorId tensor, OpId after, GapAction action) {
    plan.gaps.push_back({.tensor = tensor, .after = after, .action = action, .reason = ""});
    return plan.gaps.back();
  }
  Program Lowered() const {
    REQUIRE(CheckPlan(plan, step) == std::vector<std::string>{});
    Program program = Lower(plan, StepTables(step, costs), 0).program;
    PlaceBuffers(program);
    CHECK(Verify(program, &step).empty());
    return program;
  }
  // Kernels and copies of the device, in order: recomputations as r, copies as out and in, with what is on the device.
  std::string Order() const {
    const Program program = Lowered();
    std::string text;
    int live = 0;
    for (const Instruction& in : program.code) {
      live += in.opcode == Opcode::kAlloc ? 1 : in.opcode == Opcode::kFree ? -1 : 0;
      if (in.opcode == Opcode::kCopy) {
        const bool out = program.copies[in.arg].direction == Direction::kDeviceToHost;
        text += out ? " out" : " in";
      }
      if (in.opcode != Opcode::kKernel) continue;
      const Kernel& kernel = program.kernels[in.arg];
      text += (kernel.recomputation ? " r" : " ") + step.ops[Index(kernel.op)].name.substr(0, 2);
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

TEST_CASE("a value stays past its last use for a recomputation that reads it") {
  Chain c;
  SECTION("without a decision it is recomputed for that") {
    CHECK(c.Order() == "f0:1 f1:2 f2:3 b2:4 b1:4 rf1:3 rf2:4 b0:4");
  }
  SECTION("it leaves behind the last entry that reads it") {
    c.Open(Chain::kM, 4, GapAction::kRecompute).leaves_after = 4;
    c.plan.recompute = {{.before = 5, .run = 2}};
    CHECK(c.Order() == "f0:1 f1:2 f2:3 b2:4 b1:4 rf2:4 b0:4");
  }
  SECTION("it stays while the op runs before which it is read") {
    c.Open(Chain::kM, 4, GapAction::kRecompute).leaves_after = 5;
    CHECK(c.Order() == "f0:1 f1:2 f2:3 b2:4 b1:4 rf2:4 b0:5");
  }
  SECTION("it leaves at once, so that it is recomputed") {
    c.Open(Chain::kM, 4, GapAction::kRecompute);
    CHECK(c.Order() == "f0:1 f1:2 f2:3 b2:4 b1:4 rf1:3 rf2:4 b0:4");
  }
  SECTION("it goes to the host, and a recomputation copies it in") {
    c.Open(Chain::kM, 4, GapAction::kSwap).out_after = 4;
    CHECK(c.Order() == "f0:1 f1:2 f2:3 b2:4 b1:4 out in rf2:4 b0:4");
  }
}

TEST_CASE("what a gap with an open end may not say") {
  Chain c;
  const auto complaint = [&c](const GapDecision& gap) {
    c.plan.gaps = {gap};
    const std::vector<std::string> mistakes = CheckPlan(c.plan, c.step);
    return mistakes.empty() ? std::string() : mistakes.front();
  };
  GapDecision gap{.tensor = Chain::kM, .after = 4, .action = GapAction::kRecompute, .reason = ""};
  CHECK(complaint(gap).empty());
  gap.leaves_after = 3;
  CHECK(complaint(gap) ==
        "gaps[0]: tensor 'm': expected leaves_after behind the last use, 'b1:backward' or a later op, found "
        "'b2:backward'");
  gap.leaves_after = 5;
  gap.keep_passed = false;
  CHECK(complaint(gap) == "gaps[0]: tensor 'm': keep_passed has no meaning in a gap with an open end (before: none)");
  gap.keep_passed = true;
  gap.out_after = 4;
  CHECK(complaint(gap) == "gaps[0]: tensor 'm': out_after and in_at belong to swap");
  gap.action = GapAction::kSwap;
  CHECK(complaint(gap).empty());
  gap.in_at = 5;
  CHECK(complaint(gap) == "gaps[0]: tensor 'm': in_at has no meaning in a gap with an open end (before: none)");
  gap.in_at = kNoOp;
  gap.after = 2;
  CHECK(complaint(gap) == "gaps[0]: tensor 'm' is used next after 'f2:forward' by 'b1:backward', not by no op");
}

TEST_CASE("a gap with an open end is a line of the plan file") {
  Chain c;
  c.Open(Chain::kM, 4, GapAction::kRecompute).leaves_after = 5;
  c.Open(Chain::kA, 5, GapAction::kSwap).out_after = 4;
  const std::string text = PlanToYaml(c.plan, c.step);
  CHECK(text.find("after: \"b1:backward\", before: none, leaves_after: \"b0:backward\"}") != std::string::npos);
  CHECK(ParsePlan(text, "plan.yaml", c.step) == c.plan);
}

// verify throws std::logic_error where a plan that the rules accept computes something else.
TEST_CASE("random plans of recorded steps with open gaps compute the step and are not below the bounds") {
  int plans = 0, open = 0;
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(250, 1500); ++seed) {
    Runtime runtime = RuntimeByName(seed % 3 == 0 ? "paging" : "arena");
    runtime.copy_streams = 1 + static_cast<int>(seed % 2);
    const DrawnRecording r(seed % 4 == 0 ? DrawnText(seed) : RecordedText(seed).Draw(), runtime);
    Random random(seed);
    Plan plan = RandomPlan(r.step(), runtime, 60, random);
    AddRandomOpenGaps(r.step(), random, plan);
    AddRandomEntries(r.step(), random, plan);
    INFO("seed " << seed);
    REQUIRE(CheckPlan(plan, r.step()) == std::vector<std::string>{});
    CHECK(ParsePlan(PlanToYaml(plan, r.step()), "p", r.step()) == plan);
    Problem problem = r.problem;
    problem.capacity = 16 * kGB;
    Evaluation e = Evaluate(plan, problem);
    REQUIRE(e.feasible);
    problem.capacity = std::max<Bytes>(e.peak_bytes, e.live_peak_bytes);
    e = Evaluate(plan, problem);
    if (!e.feasible) continue;
    CHECK(e.bounds.Best() <= e.step_time);
    CHECK(e.widest.Best() <= e.step_time);
    ++plans;
    open +=
        std::any_of(plan.gaps.begin(), plan.gaps.end(), [](const GapDecision& gap) { return gap.IsOpen(); }) ? 1 : 0;
  }
  CHECK(plans > Cases(150, 900));
  CHECK(open > Cases(100, 600));
}

}  // namespace
}  // namespace spillway
