// Gaps that end in the next step: parameters and states that lie on the host between steps.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "sim/bounds/claimed_bound.h"
#include "sim/plan/carried.h"
#include "tests/sim/resting_step.h"

namespace spillway {
namespace {

TEST_CASE("what outlives the step leaves after its last use and comes back for its first one") {
  RestingStep s;
  SECTION("kept throughout") { CHECK(s.Order() == "f0:4 f1:5 b1:6 b0:6 u:4"); }
  SECTION("a state, for the update alone") {
    s.Next(RestingStep::kV, RestingStep::kU, RestingStep::kU);
    CHECK(s.Order() == "f0:3 f1:4 b1:5 b0:5 in u:4 out");
  }
  SECTION("a parameter that nobody changes is not copied out") {
    s.Next(RestingStep::kC, RestingStep::kB1, RestingStep::kF1);
    CHECK(s.Order() == "f0:3 in f1:5 b1:6 b0:5 u:3");
  }
  SECTION("the copy in is issued where the plan says") {
    s.Next(RestingStep::kC, RestingStep::kB1, RestingStep::kF0);
    CHECK(s.Order() == "in f0:4 f1:5 b1:6 b0:5 u:3");
  }
  SECTION("it stays for a while") {
    s.Next(RestingStep::kC, RestingStep::kB1, RestingStep::kF1).leaves_after = RestingStep::kB0;
    CHECK(s.Order() == "f0:3 in f1:5 b1:6 b0:6 u:3");
  }
  SECTION("a parameter from its first use to its last one") {
    s.Next(RestingStep::kW, RestingStep::kU, RestingStep::kF0);
    CHECK(s.Order() == "in f0:4 f1:5 b1:6 b0:6 u:4 out");
  }
}

TEST_CASE("a recomputation behind the last use copies the parameter in for itself") {
  RestingStep s(true);
  s.plan.gaps = {{.tensor = RestingStep::kY,
                  .after = RestingStep::kB1,
                  .before = RestingStep::kB0,
                  .action = GapAction::kRecompute,
                  .reason = ""}};
  s.Next(RestingStep::kC, RestingStep::kB1, RestingStep::kF1);
  CHECK(s.Order() == "f0:3 in f1:5 b1:6 in rf1:6 b0:6 u:3");
}

// compute   f0 |1000 f1 |2000 b1 |3000 b0 |4000           u
// of v      in 6 units: in 0 to 512, out 5000 to 5512; in 5: in 4000 to 4512, at addresses of a or g, out 5512 to 6024
TEST_CASE("a step takes as long as its copies let it") {
  RestingStep s;
  CHECK(s.TimeIn(6) == 5000);
  CHECK_FALSE(s.In(5).feasible);
  s.Next(RestingStep::kV, RestingStep::kU, RestingStep::kF0);
  CHECK(s.TimeIn(6) == 5512);
  CHECK(s.TimeIn(5) == 6024);
  CHECK_FALSE(s.In(4).feasible);
}

// In two units less than a step in core: both parameters and the state are away, the maps are swapped.
TEST_CASE("working sets do not count what is away") {
  RestingStep s;
  CHECK(s.In(3).reason.starts_with("working_set: "));
  s.Next(RestingStep::kV, RestingStep::kU, RestingStep::kU);
  s.Next(RestingStep::kC, RestingStep::kB1, RestingStep::kF1);
  s.plan.gaps.push_back({.tensor = RestingStep::kA,
                         .after = RestingStep::kF1,
                         .before = RestingStep::kB0,
                         .out_after = RestingStep::kF0,
                         .in_at = RestingStep::kB0,
                         .reason = ""});
  const Evaluation e = s.In(4);
  INFO(e.reason);
  CHECK(e.feasible);
  CHECK(e.live_peak_bytes == 4 * kAllocationUnit);
  CHECK(s.In(3).smallest_limit == 4 * kAllocationUnit);
}

TEST_CASE("what a gap to the next step may not say") {
  RestingStep s;
  const auto complaint = [&s](const std::function<void(GapDecision&)>& change) {
    s.plan.gaps.clear();
    change(s.Next(RestingStep::kW, RestingStep::kU, RestingStep::kF0));
    const std::vector<std::string> mistakes = CheckPlan(s.plan, s.step);
    const std::string head = "gaps[0]: tensor '";
    if (mistakes.empty() || !mistakes.front().starts_with(head)) return std::string();
    return mistakes.front().substr(mistakes.front().find(": ", head.size()) + 2);
  };
  CHECK(complaint([](GapDecision&) {}).empty());
  CHECK(complaint([](GapDecision& gap) { gap.tensor = RestingStep::kA; }) ==
        "it is feature_map, and only parameters and states stay on the device from step to step");
  CHECK(complaint([](GapDecision& gap) { gap.after = RestingStep::kF0; }) ==
        "expected after: 'u:update', its last use, found 'f0:forward'");
  CHECK(complaint([](GapDecision& gap) { gap.action = GapAction::kRecompute; }) ==
        "expected action: swap, as nothing computes it again");
  CHECK(complaint([](GapDecision& gap) { gap.out_after = RestingStep::kB0; }) ==
        "expected out_after from its last writer, 'u:update', to where it leaves, 'u:update', found 'b0:backward'");
  CHECK(complaint([](GapDecision& gap) { gap.in_at = RestingStep::kF1; }) ==
        "expected in_at from the first op to its first use, 'f0:forward', found 'f1:forward'");
  CHECK(complaint([](GapDecision& gap) { gap.leaves_after = RestingStep::kB0; }) ==
        "expected leaves_after at its last use, 'u:update', or behind it, found 'b0:backward'");
  CHECK(complaint([](GapDecision& gap) { gap.keep_result = false; }) ==
        "keep_result and keep_passed belong to recompute");
  CHECK(complaint([](GapDecision& gap) { gap.samples = {0, 1}; }) == "samples have no meaning there");
  CHECK(complaint([](GapDecision& gap) {
          gap.tensor = RestingStep::kC;
          gap.after = RestingStep::kB1;
          gap.out_after = RestingStep::kF1;
        }) == "no op writes it, so that it is not copied out: expected no out_after, found 'f1:forward'");
  s.plan.gaps.clear();
  s.Next(RestingStep::kW, RestingStep::kU, RestingStep::kF0);
  s.Next(RestingStep::kW, RestingStep::kU, RestingStep::kF0);
  CHECK(CheckPlan(s.plan, s.step) ==
        std::vector<std::string>{"gaps[1]: a second decision on the gap of tensor 'w' behind its last use"});
}

TEST_CASE("what is written before it is read does not come from the step before") {
  HandStep b;
  const TensorId w = b.Tensor("w", TensorClass::kParameter, kAllocationUnit);
  b.Op("f0:forward", Pass::kForward, 10, {}, {w});
  const TrainingStep step = b.Take();
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  plan.gaps = {{.tensor = w, .after = 0, .before = kNextStep, .out_after = 0, .in_at = 0, .reason = ""}};
  CHECK(CheckPlan(plan, step) ==
        std::vector<std::string>{"gaps[0]: tensor 'w', in a gap to the next step: its first use, 'f0:forward', reads "
                                 "nothing that the step before leaves"});
}

TEST_CASE("a gap to the next step is a line of the plan file") {
  RestingStep s;
  s.Next(RestingStep::kW, RestingStep::kU, RestingStep::kF0);
  s.Next(RestingStep::kV, RestingStep::kU, RestingStep::kF1);
  s.Next(RestingStep::kC, RestingStep::kB1, RestingStep::kF1).leaves_after = RestingStep::kB0;
  const std::string text = PlanToYaml(s.plan, s.step);
  CHECK(text.find("{tensor: w, action: swap, after: \"u:update\", before: next_step}") != std::string::npos);
  CHECK(text.find("{tensor: v, action: swap, after: \"u:update\", before: next_step, in_at: \"f1:forward\"}") !=
        std::string::npos);
  CHECK(text.find("before: next_step, leaves_after: \"b0:backward\"}") != std::string::npos);
  CHECK(ParsePlan(text, "plan.yaml", s.step) == s.plan);
}

TEST_CASE("a framework cannot keep what it trains on the host between steps") {
  RestingStep s;
  s.Next(RestingStep::kW, RestingStep::kU, RestingStep::kF0);
  for (const CarriedGaps gaps : {CarriedGaps::kAll, CarriedGaps::kSaved}) {
    CHECK(NotCarried(gaps, s.plan, s.step) == "'w' lies on the host between steps");
  }
  CHECK(NotCarried(CarriedGaps::kAny, s.plan, s.step).empty());
}

TEST_CASE("bounds of plans with gaps to the next step are of a scope of their own") {
  RestingStep s;
  CHECK_FALSE(ScopeOf(s.plan).states_leave);
  s.Next(RestingStep::kV, RestingStep::kU, RestingStep::kF0);
  const Evaluation e = s.In(6);
  CHECK(e.scope.states_leave);
  CHECK(e.scope.Text() ==
        "the library's algorithms as usual, 2 copy streams, parameters and states on the host between steps");
  CHECK_FALSE(Holds(WidestScope(), e.scope));
  CHECK(Holds(WidestLike(e.scope), e.scope));
  CHECK(Holds(e.scope, Scope{}));
}

// Without its copy in, a value would have to lie on the device since the step before, where others have lain meanwhile.
TEST_CASE("bytes that hold a value between steps are nobody else's") {
  RestingStep s;
  s.Next(RestingStep::kV, RestingStep::kU, RestingStep::kU);
  const auto without_copy_in = [](Program program) {
    const auto copy_in = [&](const Instruction& in) {
      return in.opcode == Opcode::kCopy && program.copies[in.arg].direction == Direction::kHostToDevice;
    };
    std::erase_if(program.code, copy_in);
    return program;
  };
  const auto first = [&s](const Program& program, Bytes capacity) {
    const std::vector<Violation> violations = Verify(program, &s.step, capacity);
    return violations.empty() ? std::string() : violations.front().message;
  };
  SECTION("in an arena") {
    Program program = without_copy_in(s.Lowered());
    CHECK(first(program, 0).starts_with("clause 10, "));
    CHECK(FakeRun(program, &s.step).failure.has_value());
    for (Buffer& buffer : program.buffers) {  // at an address of its own it may
      if (buffer.tensor == RestingStep::kV) buffer.offset = buffer.kind == BufferKind::kTensor ? kMB : buffer.offset;
    }
    CHECK(first(program, 0).empty());
    CHECK(Says(FakeRun(program, &s.step, {}, {.iterations = 2, .debug = true})) == "");
  }
  SECTION("of counted memory") {
    s.plan.runtime.memory = MemoryModel::kCounted;
    const Program program = without_copy_in(s.Lowered());
    CHECK(first(s.Lowered(), 5 * kAllocationUnit).empty());
    CHECK(first(program, 5 * kAllocationUnit).starts_with("clause 5b, "));
    CHECK(first(program, 6 * kAllocationUnit).empty());
  }
  SECTION("in a pool") {
    s.plan.runtime.memory = MemoryModel::kPool;
    CHECK(first(s.Lowered(), 0).empty());
    CHECK(first(without_copy_in(s.Lowered()), 0).starts_with("clause 10, "));
  }
}

}  // namespace
}  // namespace spillway
