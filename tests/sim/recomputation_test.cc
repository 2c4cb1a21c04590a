// Schedules of recomputations: values computed at moments of their own, several times within one gap.
//
// The chain of tests/step_builder.h with four layers: f1 f2 f3 f4 b4 b3 b2 b1 are ops 0 to 7; b4 reads m4, b3 m3 and so
// on; f2 reads m1, f3 m2, f4 m3.
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

constexpr OpId kF1 = 0, kF2 = 1, kF3 = 2, kF4 = 3, kB4 = 4, kB3 = 5, kB2 = 6, kB1 = 7;

struct Chain {
  explicit Chain(const ChainSizes& sizes) : step(MakeChain(sizes)), tables(step, costs) {
    plan.strategy = "by hand";
    plan.network = step.network;
    plan.batch = step.batch;
  }
  Chain(const Chain&) = delete;
  TensorId Tensor(const std::string& name) const {
    TensorId t = 0;
    while (step.tensors.at(Index(t)).name != name) ++t;
    return t;
  }
  GapDecision& Drop(const std::string& map) {
    const MapGap ends = ForwardBackwardGap(step, Uses(step), Tensor(map));
    plan.gaps.push_back({.tensor = Tensor(map), .after = ends.after, .before = ends.before, .reason = ""});
    plan.gaps.back().action = GapAction::kRecompute;
    return plan.gaps.back();
  }
  // The ops in the order in which the Program runs them: forward ops that run again as r1, r2, ...
  std::string Order(const Program& program) const {
    std::string text;
    for (const Instruction& in : program.code) {
      if (in.opcode != Opcode::kKernel) continue;
      const Kernel& kernel = program.kernels[in.arg];
      const std::string name = step.ops[Index(kernel.op)].name;
      text += (text.empty() ? "" : " ") + (kernel.recomputation ? "r" + name.substr(1, 1) : name.substr(0, 2));
    }
    return text;
  }
  std::string Order() const {
    REQUIRE(CheckPlan(plan, step) == std::vector<std::string>{});
    Program program = Lower(plan, tables, 0).program;
    PlaceBuffers(program);
    CHECK(Verify(program, &step).empty());
    return Order(program);
  }
  std::vector<std::string> Mistakes() const { return CheckPlan(plan, step); }

  TrainingStep step;
  Machine machine = HandMachine();
  CostModel costs{machine};
  StepTables tables;
  Plan plan;
};

}  // namespace

TEST_CASE("a value is computed twice within one gap") {
  Chain c({.layers = 4, .data = 0});
  for (const char* map : {"m1", "m2", "m3"}) c.Drop(map);
  SECTION("by the shorthand each is made where it is used, and what is passed stays") {
    CHECK(c.Order() == "f1 f2 f3 f4 b4 r1 r2 r3 b3 b2 b1");
  }
  SECTION("a schedule: m1 and m2 are dropped on the way to m3, so m1 is computed three times, m2 twice") {
    c.plan.recompute = {{kB3, kF1, false}, {kB3, kF2, false}, {kB3, kF3, true},
                        {kB2, kF1, false}, {kB2, kF2, true},  {kB1, kF1, true}};
    CHECK(c.Order() == "f1 f2 f3 f4 b4 r1 r2 r3 b3 r1 r2 b2 r1 b1");
  }
  SECTION("early: m1 comes back before b4 and stays") {
    c.plan.recompute = {{kB4, kF1, true}};
    CHECK(c.Order() == "f1 f2 f3 f4 r1 b4 r2 r3 b3 b2 b1");
  }
  SECTION("computed for nothing, and again") {
    c.plan.recompute = {{kB4, kF1, false}};
    CHECK(c.Order() == "f1 f2 f3 f4 r1 b4 r1 r2 r3 b3 b2 b1");
  }
  SECTION("an entry whose result is there is passed over") {
    c.plan.recompute = {{kB4, kF1, true}, {kB3, kF1, true}};
    CHECK(c.Order() == "f1 f2 f3 f4 r1 b4 r2 r3 b3 b2 b1");
  }
}

TEST_CASE("what is dropped gives its memory back: a schedule fits where the shorthand does not") {
  // Maps of a unit each, gradients too. By the shorthand m1, m2 and m3 are there with g3 under b3; by the schedule m3 alone.
  Chain c({.layers = 4, .data = 0, .map = kAllocationUnit, .gradient = kAllocationUnit});
  for (const char* map : {"m1", "m2", "m3"}) c.Drop(map);
  const Oracle oracle(std::make_shared<const StepFacts>(c.step, c.costs), 3 * kAllocationUnit);
  CHECK_FALSE(oracle.Evaluate(c.plan).feasible);
  c.plan.recompute = {{kB3, kF1, false}, {kB3, kF2, false}, {kB3, kF3, true},
                      {kB2, kF1, false}, {kB2, kF2, true},  {kB1, kF1, true}};
  const Evaluation e = oracle.Evaluate(c.plan);
  INFO(e.reason);
  REQUIRE(e.feasible);
  CHECK(e.step_time == 8 * 4 + 6 * 4);
  CHECK(e.recompute_time == 6 * 4);
  CHECK(e.bounds.Best() <= e.step_time);
}

// m2 comes back before b3, as an entry says; by itself that takes m1 again, which is wanted before b1.
TEST_CASE("what stays in its gap for a recomputation is not computed for it") {
  Chain c({.layers = 4, .data = 0});
  GapDecision& m1 = c.Drop("m1");
  c.plan.recompute = {{kB3, kF2, true}};
  SECTION("m1 leaves where its gap begins") {
    c.Drop("m2");
    CHECK(c.Order() == "f1 f2 f3 f4 b4 r1 r2 b3 b2 b1");
  }
  SECTION("m1 stays for the entry and leaves behind it") {
    m1.leaves_after = kB4;
    c.Drop("m2");
    CHECK(c.Order() == "f1 f2 f3 f4 b4 r2 b3 b2 r1 b1");
  }
  SECTION("not where it leaves one op before") {
    m1.leaves_after = kF4;
    c.Drop("m2");
    CHECK(c.Order() == "f1 f2 f3 f4 b4 r1 r2 b3 b2 b1");
  }
  SECTION("what an entry makes stays for the next one, too") {
    c.plan.recompute = {{kB4, kF1, true, kB4}, {kB3, kF2, true}};
    c.Drop("m2");
    CHECK(c.Order() == "f1 f2 f3 f4 r1 b4 r2 b3 b2 r1 b1");
  }
  SECTION("what is about to leave stays as an entry says") {
    m1.leaves_after = kB4;
    c.plan.recompute = {{kB3, kF1, true}, {kB3, kF2, true}};
    c.Drop("m2");
    CHECK(c.Order() == "f1 f2 f3 f4 b4 r2 b3 b2 b1");
  }
  SECTION("an entry that is passed over lets nothing leave") {
    c.plan.recompute = {{kB4, kF1, true}, {kB3, kF1, true, kB3}, {kB3, kF2, true}};
    c.Drop("m2");
    CHECK(c.Order() == "f1 f2 f3 f4 r1 b4 r2 b3 b2 b1");
  }
}

TEST_CASE("memory is taken for as long as something stays") {
  // f4 holds m3 and m4, and b4 m3, m4 and g3; with m1 until f4 one unit more at f4 alone.
  Chain c({.layers = 4, .data = 0, .map = kAllocationUnit, .gradient = kAllocationUnit});
  c.Drop("m1");
  c.Drop("m2");
  const std::vector<Bytes> without = Lower(c.plan, c.tables, 0).live_at;
  c.plan.gaps.front().leaves_after = kF4;
  const std::vector<Bytes> with = Lower(c.plan, c.tables, 0).live_at;
  for (OpId op = 0; op < 8; ++op) {
    INFO(op);
    CHECK(with[Index(op)] - without[Index(op)] == (op == kF3 || op == kF4 ? kAllocationUnit : 0));
  }
}

//   x is what f1 makes of nothing and f2 makes m of; backward reads m twice and never x
TEST_CASE("a value that no op uses any more stays between two recomputations that read it") {
  HandStep b;
  const TensorId x = b.Tensor("x", TensorClass::kTransient, 10), m = b.Tensor("m", TensorClass::kFeatureMap, 10);
  const TensorId g = b.Tensor("g", TensorClass::kGradient, 2), h = b.Tensor("h", TensorClass::kGradient, 2);
  b.Op("f1:forward", Pass::kForward, 5, {}, {x});
  b.Op("f2:forward", Pass::kForward, 5, {x}, {m});
  b.Op("b4:backward", Pass::kBackward, 3, {}, {g});
  b.Op("b3:backward", Pass::kBackward, 3, {m, g}, {h});
  b.Op("b2:backward", Pass::kBackward, 3, {h}, {});
  b.Op("b1:backward", Pass::kBackward, 3, {m}, {});
  const TrainingStep step = b.Take();
  const Machine machine = HandMachine();
  const CostModel costs(machine);
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  plan.gaps = {{.tensor = m, .after = 1, .before = 3, .action = GapAction::kRecompute, .reason = ""},
               {.tensor = m, .after = 3, .before = 5, .action = GapAction::kRecompute, .reason = ""}};
  const auto again = [&](std::vector<Recomputation> entries) {
    plan.recompute = std::move(entries);
    CHECK(CheckPlan(plan, step) == std::vector<std::string>{});
    Program program = Lower(plan, StepTables(step, costs), 0).program;
    PlaceBuffers(program);
    CHECK(Verify(program, &step).empty());
    std::vector<OpId> ops;
    for (const Kernel& kernel : program.kernels) {
      if (kernel.recomputation) ops.push_back(kernel.op);
    }
    return ops;
  };
  CHECK(again({}) == std::vector<OpId>{0, 1, 0, 1});
  CHECK(again({{3, 0, true, 4}, {3, 1, true}, {5, 1, true}}) == std::vector<OpId>{0, 1, 1});
  CHECK(again({{3, 0, true}, {3, 1, true}, {5, 1, true}}) == std::vector<OpId>{0, 1, 0, 1});
  CHECK(again({{2, 0, true, 3}, {5, 1, true}}) == std::vector<OpId>{0, 1, 0, 1});     // for the first of both alone
  CHECK(again({{2, 0, true, 2}, {5, 1, true}}) == std::vector<OpId>{0, 0, 1, 0, 1});  // for neither
  plan.recompute = {{1, 0, true}};
  CHECK(CheckPlan(plan, step) ==
        std::vector<std::string>{"recompute[0]: 'f1:forward' before 'f2:forward': expected a result of 'f1:forward' to "
                                 "be missing there, in a gap with action recompute, found none anywhere"});
}

TEST_CASE("entries are read as they are written") {
  Chain c({.layers = 4, .data = 0});
  c.Drop("m1");
  c.plan.recompute = {{kB4, kF1, false}, {kB3, kF1, true, kB3}, {kB2, kF1, true}};
  const std::string text = PlanToYaml(c.plan, c.step);
  CHECK(text.find("recompute:\n  - {before: \"b4:backward\", run: \"f1:forward\", keep: false}\n"
                  "  - {before: \"b3:backward\", run: \"f1:forward\", leaves_after: \"b3:backward\"}\n"
                  "  - {before: \"b2:backward\", run: \"f1:forward\"}\n") != std::string::npos);
  CHECK(ParsePlan(text, "plan.yaml", c.step) == c.plan);
}

TEST_CASE("entries that compute nothing missing are mistakes, each with its place") {
  Chain c({.layers = 4, .data = 0});
  c.Drop("m1");
  c.plan.recompute = {{kB4, kF2, true}};
  CHECK(c.Mistakes() == std::vector<std::string>{
                            "recompute[0]: 'f2:forward' before 'b4:backward': expected a result of 'f2:forward' to "
                            "be missing there, in a gap with action recompute, found none anywhere"});
  c.plan.recompute = {{kF2, kF1, true}};
  // m1 is used by f2, its gap begins behind.
  CHECK(c.Mistakes() ==
        std::vector<std::string>{"recompute[0]: 'f1:forward' before 'f2:forward': expected a result of 'f1:forward' to "
                                 "be missing there, in a gap with action recompute, found only 'm1' missing between "
                                 "'f2:forward' and 'b1:backward'"});
  c.plan.recompute = {{kB1, kB2, true}};
  CHECK(c.Mistakes() == std::vector<std::string>{"recompute[0]: run: expected a forward op, to run again before "
                                                 "'b1:backward', found 'b2:backward', which is none"});
  c.plan.recompute = {{kB1, kF1, false}};
  CHECK(c.Mistakes() ==
        std::vector<std::string>{"recompute[0]: keep: expected keep_result: false in the gap of tensor 'm1' before "
                                 "'b1:backward', found keep: false here; that op uses the tensor, and the gap says "
                                 "whether it stays"});
  c.plan.recompute = {{kB3, kF1, false, kB3}};
  CHECK(c.Mistakes() ==
        std::vector<std::string>{"recompute[0]: leaves_after: expected none beside keep: false, which says that the "
                                 "results leave before 'b3:backward'"});
  c.plan.recompute = {{kB3, kF1, true, kB4}};
  CHECK(c.Mistakes() == std::vector<std::string>{"recompute[0]: leaves_after: expected 'b3:backward' or a later op, "
                                                 "found 'b4:backward'"});
  c.plan.recompute = {{kB3, kF1, true, kB1}};
  CHECK(c.Mistakes() ==
        std::vector<std::string>{"recompute[0]: leaves_after: expected an op before 'b1:backward', which ends the gap "
                                 "of tensor 'm1', found 'b1:backward'"});
  c.plan.recompute = {{kB3, kF1, true, 99}};
  CHECK(c.Mistakes() == std::vector<std::string>{"recompute[0]: no such op"});
  c.plan.recompute = {{99, kF1, true}};
  CHECK(c.Mistakes() == std::vector<std::string>{"recompute[0]: no such op"});
}

TEST_CASE("a result that several ops write is named by the last of them, and all run again") {
  HandStep b;
  const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 10), g = b.Tensor("g", TensorClass::kGradient, 2);
  b.Op("conv:forward", Pass::kForward, 5, {}, {m});
  b.Op("bias:forward", Pass::kForward, 1, {m}, {m});
  b.Op("loss:backward", Pass::kBackward, 3, {}, {g});
  b.Op("conv:backward", Pass::kBackward, 4, {m, g}, {});
  const TrainingStep step = b.Take();
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  plan.gaps.push_back({.tensor = m, .after = 1, .before = 3, .action = GapAction::kRecompute, .reason = ""});
  plan.recompute = {{2, 1, true}};
  REQUIRE(CheckPlan(plan, step).empty());
  const Machine machine = HandMachine();
  const CostModel costs(machine);
  Program program = Lower(plan, StepTables(step, costs), 0).program;
  PlaceBuffers(program);
  CHECK(Verify(program, &step).empty());
  plan.recompute = {{2, 0, true}};
  CHECK(CheckPlan(plan, step) ==
        std::vector<std::string>{
            "recompute[0]: run: expected 'bias:forward', the last op that writes tensor 'm' (with it "
            "all run that do), found 'conv:forward', which leaves it unfinished"});
}

// Each block joins its input with what it makes of it: without anything that stays, ways double with each.
TEST_CASE("a recomputation without end is given up, and said to be") {
  NetworkBuilder b("joins", {.n = 1, .c = 2, .h = 4, .w = 4});
  LayerId x = kNetworkInput;
  for (int k = 0; k < 60; ++k) {
    const std::string name = "b" + std::to_string(k);
    x = b.AddUp(name + "_sum", {x, b.ConvolutionRelu(name, x, Square(2, 3, 1, 1))});
  }
  const TrainingStep step = BuildTrainingStep(b.Loss(b.Linear("fc", x, 2)));
  const Machine machine = HandMachine();
  const CostModel costs(machine);
  const Uses uses(step);
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = kGB;
  problem.use_runtime = true;
  Plan plan;
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const auto map = static_cast<TensorId>(t);
    const MapGap gap = ForwardBackwardGap(step, uses, map);
    if (step.tensors[t].use != TensorClass::kFeatureMap || gap.before == kNoOp || gap.after == kNoOp) continue;
    plan.gaps.push_back({.tensor = map, .after = gap.after, .before = gap.before, .reason = ""});
    plan.gaps.back().action = GapAction::kRecompute;
    plan.gaps.back().keep_passed = false;
  }
  REQUIRE(plan.gaps.size() > 100);
  for (const char* runtime : {"arena", "pooch"}) {
    problem.runtime = RuntimeByName(runtime);
    plan.runtime = problem.runtime;
    const Evaluation evaluation = Evaluate(plan, problem);
    CHECK_FALSE(evaluation.feasible);
    CHECK_THAT(evaluation.reason, Catch::StartsWith("recomputation: before ") &&
                                      Catch::EndsWith("more than 16 times all ops have run again"));
  }
  for (GapDecision& gap : plan.gaps) gap.keep_passed = true;
  plan.runtime = problem.runtime = RuntimeByName("arena");
  CHECK(Evaluate(plan, problem).feasible);
}

}  // namespace spillway
