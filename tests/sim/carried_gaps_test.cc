// What a framework can carry out: which decisions are excluded, and that planners keep to it or say that they cannot.
#include <catch2/catch.hpp>

#include "model/recorded/recorded_step.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/carried.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"

namespace spillway {
namespace {

// f1 makes a, f2 and b1 read it; f2 makes b, b2 reads it; b1 makes g, which the update u reads.
constexpr const char* kStep = R"({"graph": "g", "samples": 1, "source": {"assumed": "by hand"}, "error": 0.1,
 "values": [{"id": "x", "bytes": 512}, {"id": "w", "bytes": 512}],
 "nodes": [
  {"id": "f1", "op": "f", "ns": 100, "deps": ["x", "w"], "results": [{"id": "a", "bytes": 51200}]},
  {"id": "f2", "op": "f", "ns": 100, "deps": ["w"], "results": [{"id": "b", "bytes": 51200}]},
  {"id": "f3", "op": "f", "ns": 100, "deps": ["a"], "results": [{"id": "c", "bytes": 51200}]},
  {"id": "b1", "op": "b", "pass": "backward", "ns": 100, "deps": ["c", "b"], "results": [{"id": "g", "bytes": 51200}]},
  {"id": "b2", "op": "b", "pass": "backward", "ns": 100, "deps": ["a"], "results": [{"id": "h", "bytes": 51200}]},
  {"id": "b3", "op": "b", "pass": "backward", "ns": 100, "deps": ["g", "h"]},
  {"id": "u", "op": "u", "pass": "update", "ns": 100, "deps": ["g"]}]})";

struct Carrying {
  explicit Carrying(std::shared_ptr<const RecordedStep> from, const char* runtime = "torch")
      : recorded(std::move(from)), costs(machine, {}, recorded) {
    problem = {.step = &recorded->step, .costs = &costs, .use_runtime = true, .runtime = RuntimeByName(runtime)};
    problem.capacity = 16 * kGB;
  }
  const TrainingStep& step() const { return recorded->step; }
  OpId Op(const std::string& name) const {
    for (std::size_t op = 0; op < step().ops.size(); ++op) {
      if (step().ops[op].name == name) return static_cast<OpId>(op);
    }
    return kNoOp;
  }
  TensorId Tensor(const std::string& name) const {
    for (std::size_t t = 0; t < step().tensors.size(); ++t) {
      if (step().tensors[t].name == name) return static_cast<TensorId>(t);
    }
    return kNoTensor;
  }
  Plan WithGap(const char* tensor, const char* after, const char* before) const {
    Plan plan = StartPlan(problem, "by hand", "torch");
    GapDecision& gap = plan.gaps.emplace_back();
    gap.tensor = Tensor(tensor);
    gap.after = gap.out_after = Op(after);
    gap.before = gap.in_at = Op(before);
    return plan;
  }

  Machine machine = LoadMachine("unit");
  std::shared_ptr<const RecordedStep> recorded;
  RecordedCosts costs;
  Problem problem;
};

std::shared_ptr<const RecordedStep> ByHand() { return ReadRecordedStep(ParseDocument(kStep, "step.json")); }

TEST_CASE("all: gaps before the update; saved: gaps from forward to backward alone") {
  const Carrying c(ByHand());
  const auto why = [&](CarriedGaps gaps, const Plan& plan) { return NotCarried(gaps, plan, c.step()); };
  const Plan saved = c.WithGap("b", "f2", "b1"), forward = c.WithGap("a", "f1", "f3"),
             backward = c.WithGap("g", "b1", "b3"), update = c.WithGap("g", "b3", "u");
  for (const Plan* plan : {&saved, &forward, &backward, &update}) {
    CHECK(CheckPlan(*plan, c.step()).empty());
    CHECK(why(CarriedGaps::kAny, *plan).empty());
  }
  CHECK(why(CarriedGaps::kAll, saved).empty());
  CHECK(why(CarriedGaps::kAll, forward).empty());
  CHECK(why(CarriedGaps::kAll, backward).empty());
  CHECK(why(CarriedGaps::kAll, update) == "'g' leaves between 'b3' and 'u'");
  CHECK(why(CarriedGaps::kSaved, saved).empty());
  CHECK(why(CarriedGaps::kSaved, forward) == "'a' leaves between 'f1' and 'f3'");
  CHECK(why(CarriedGaps::kSaved, backward) == "'g' leaves between 'b1' and 'b3'");
}

TEST_CASE("ops that do not run whole and as the framework chooses are named") {
  const Carrying c(ByHand());
  Plan plan = StartPlan(c.problem, "by hand", "torch");
  const auto why = [&](const OpDecision& decision) {
    plan.ops = {decision};
    return NotCarried(CarriedGaps::kAll, plan, c.step());
  };
  CHECK(why({.op = 1, .workspace = 512}).empty());
  CHECK(why({.op = 1, .algorithm = 1}) == "'f2' runs by an algorithm of the plan's choice");
  CHECK(why({.op = 1, .parts = {{.samples = 1}}}) == "'f2' runs in parts");
  CHECK(why({.op = 1, .again = {OpAgain{}}}) == "'f2' runs again by another algorithm");
  CHECK(why({.op = 1, .streamed = {0}}) == "'f2' streams operands");
  plan.ops.clear();
  plan.accumulate = 2;
  CHECK(NotCarried(CarriedGaps::kAll, plan, c.step()) == "the batch runs in 2 parts");
}

TEST_CASE("a plan that the runtime cannot obey does not run, and says what it cannot") {
  const Carrying c(ByHand());
  const Evaluation refused = Evaluate(c.WithGap("g", "b3", "u"), c.problem);
  CHECK_FALSE(refused.feasible);
  CHECK(refused.reason == "not_carried: the runtime cannot obey: 'g' leaves between 'b3' and 'u'");
  CHECK(Evaluate(c.WithGap("b", "f2", "b1"), c.problem).feasible);
  Plan own = c.WithGap("g", "b3", "u");
  own.runtime = RuntimeByName("arena");
  CHECK(Evaluate(own, c.problem).feasible);
}

// Feasible plans of `best` obey; where any is found for saved gaps, one is for all.
TEST_CASE("best decides only what can be carried out") {
  int planned = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(Cases(12, 120)); ++seed) {
    const auto recorded = ReadRecordedStep(ParseDocument(RecordedText(seed).Draw(), "drawn.json"));
    for (const char* runtime : {"torch", "torch-saved"}) {
      Carrying c(recorded, runtime);
      const Evaluation in_core = Evaluate(StartPlan(c.problem, "in-core", runtime), c.problem);
      REQUIRE(in_core.feasible);
      c.problem.capacity = in_core.live_peak_bytes * 8 / 10;
      c.problem.simulation_cap = 500;
      c.problem.parameters.Set("simulations", 500);
      c.problem.parameters.Set("plans", 5);
      const Planned best = StrategyByName("best").plan(c.problem);
      if (!best.feasible) continue;
      ++planned;
      moved += best.plan.gaps.empty() ? 0 : 1;
      CHECK(NotCarried(c.problem.runtime.gaps, best.plan, c.step()).empty());
      CHECK(Evaluate(best.plan, c.problem).feasible);
    }
  }
  CHECK(planned > 0);
  CHECK(moved > 0);
}

TEST_CASE("every strategy obeys the runtime, or its row says that it cannot") {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(Cases(2, 20)); ++seed) {
    const auto recorded = ReadRecordedStep(ParseDocument(RecordedText(seed).Draw(), "drawn.json"));
    Carrying c(recorded, "torch-saved");
    const Evaluation in_core = Evaluate(StartPlan(c.problem, "in-core", "torch-saved"), c.problem);
    c.problem.capacity = in_core.live_peak_bytes * 8 / 10;
    c.problem.simulation_cap = 200;
    for (const Strategy& strategy : Strategies()) {
      if (strategy.needs_layers || std::string(strategy.name) == "best") continue;
      const Planned planned = strategy.plan(c.problem);
      if (!planned.feasible) continue;
      const std::string why = NotCarried(planned.plan.runtime.gaps, planned.plan, c.step());
      const Evaluation e = Evaluate(planned.plan, c.problem);
      INFO(strategy.name << ": " << why << "; " << e.reason);
      if (!why.empty()) CHECK(e.reason == "not_carried: the runtime cannot obey: " + why);
    }
  }
}

}  // namespace
}  // namespace spillway
