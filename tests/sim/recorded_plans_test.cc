// Recorded steps through everything: every plan that the rules accept is proved by verify, which has no rule of its own about
// what may be recomputed but that every op reads what it would have read; no plan beats the bounds; strategies plan them or
// say why not.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/recorded/recorded_step.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/plan_cache.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"

namespace spillway {
namespace {

struct Recorded {
  explicit Recorded(std::shared_ptr<const RecordedStep> from, Bytes workspace = kMostWorkspace)
      : recorded(std::move(from)), costs(machine, {.workspace_limit = workspace}, recorded) {
    problem = {.step = &recorded->step, .costs = &costs, .use_runtime = true, .runtime = RuntimeByName("arena")};
    problem.capacity = 16 * kGB;
    plan.network = recorded->step.network;
    plan.batch = recorded->step.batch;
    plan.runtime = problem.runtime;
    in_core = Evaluate(plan, problem);
  }

  Machine machine = LoadMachine("unit");
  std::shared_ptr<const RecordedStep> recorded;
  RecordedCosts costs;
  Problem problem;
  Plan plan;  // that decides nothing
  Evaluation in_core;
};

std::shared_ptr<const RecordedStep> Drawn(std::uint64_t seed) {
  return ReadRecordedStep(ParseDocument(RecordedText(seed).Draw(), "drawn.json"));
}

std::shared_ptr<const RecordedStep> Example() {
  return LoadRecordedStep(std::string(SPILLWAY_SOURCE_DIR) + "/model/recorded/example.json");
}

struct Counted {
  int plans = 0, recomputed = 0, once = 0, below = 0;
};

// verify throws std::logic_error where a plan that the rules accept computes something else.
void JudgeRandomPlans(const Recorded& r, std::uint64_t seed, Counted& counted) {
  Random random(seed);
  for (const std::uint32_t percent : {20u, 60u, 100u}) {
    Runtime runtime;
    runtime.copy_streams = 1 + static_cast<int>(random.Below(2));
    const std::uint32_t memory = random.Below(3);
    if (memory == 0) runtime.memory = MemoryModel::kPool;
    if (memory == 1) runtime.memory = MemoryModel::kCounted;
    Plan plan = RandomPlan(r.recorded->step, runtime, percent, random);
    if (random.Below(2) == 0) AddRandomEntries(r.recorded->step, random, plan);
    REQUIRE(FindMistakes(plan, r.recorded->step).empty());
    Problem problem = r.problem;
    Evaluation e = Evaluate(plan, problem);
    if (!e.feasible) continue;
    ++counted.plans;
    counted.recomputed += e.recompute_time > 0 ? 1 : 0;
    problem.capacity = std::max<Bytes>(e.peak_bytes, e.live_peak_bytes);
    e = Evaluate(plan, problem);  // bounds in the memory that it takes
    if (!e.feasible) continue;
    CHECK(e.bounds.Best() <= e.step_time);
    CHECK(e.widest.Best() <= e.step_time);
    counted.below += e.bounds.Best() > r.in_core.step_time ? 1 : 0;
  }
  for (const Op& op : r.recorded->step.ops) counted.once += op.once ? 1 : 0;
}

TEST_CASE("what the rules let be recomputed computes what the recording does; none beats the bounds") {
  Counted counted;
  for (std::uint64_t seed = 1; seed <= 700; ++seed) {
    INFO("seed " << seed << "\n" << RecordedText(seed).Draw());
    JudgeRandomPlans(Recorded(Drawn(seed)), seed, counted);
  }
  CHECK(counted.plans > 1500);
  CHECK(counted.recomputed > 300);
  CHECK(counted.once > 500);
  CHECK(counted.below > 15);
}

TEST_CASE("a plan may not recompute what may run only once, and verify does not let it either") {
  const Recorded r(Example());
  const TrainingStep& step = r.recorded->step;
  const Uses uses(step);
  Plan plan = r.plan;
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    if (step.tensors[t].name != "b1.mask") continue;
    plan.gaps.push_back({.tensor = static_cast<TensorId>(t),
                         .after = uses.of[t][1],
                         .before = uses.of[t][2],
                         .action = GapAction::kRecompute,
                         .reason = ""});
  }
  REQUIRE(plan.gaps.size() == 1);
  CHECK(CheckPlan(plan, step) ==
        std::vector<std::string>{"gaps[0]: tensor 'b1.mask' cannot be recomputed before 'b1.dropout:back': the "
                                 "recording does not let all that it takes run again"});
  CHECK_THROWS_AS(Evaluate(plan, r.problem), std::logic_error);
}

TEST_CASE("strategies plan a recorded step in less memory than it wants, or say why not") {
  const Recorded r(Example());
  PlanCache memo;
  for (const Strategy& strategy : Strategies()) {
    INFO(strategy.name);
    Problem problem = r.problem;
    problem.capacity = r.in_core.peak_bytes / 2;
    problem.parameters = {};
    const Planned planned = PlanWithHeadroom(strategy, problem, OracleOf(problem), memo);
    if (strategy.needs_layers) {
      CHECK_FALSE(planned.feasible);
      CHECK(planned.reason.starts_with("recorded_step: "));
      continue;
    }
    if (!planned.feasible) continue;
    CHECK(FindMistakes(planned.plan, *problem.step).empty());
    const Evaluation e = Evaluate(planned.plan, problem);
    if (std::string(strategy.name) == "best" || std::string(strategy.name) == "pooch") CHECK(e.feasible);
    if (!e.feasible) continue;
    CHECK(e.step_time >= e.bounds.Best());
    CHECK(ParsePlan(PlanToYaml(planned.plan, *problem.step), "p", *problem.step) == planned.plan);
  }
}

TEST_CASE("DTR lets nothing leave that may not run again when it is wanted") {
  int again = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Recorded r(Drawn(seed));
    Problem problem = r.problem;
    for (const int percent : {90, 75, 60}) {
      problem.capacity = r.in_core.peak_bytes * percent / 100;
      const Planned planned = StrategyByName("dtr").plan(problem);
      if (!planned.feasible) continue;
      INFO("seed " << seed << " in " << percent << " %");
      REQUIRE(CheckPlan(planned.plan, *problem.step) == std::vector<std::string>{});
      again += Evaluate(planned.plan, problem).recompute_time > 0 ? 1 : 0;  // proved, where addresses fit
    }
  }
  CHECK(again > 20);
}

TEST_CASE("best chooses among the ways of a recording") {
  const Recorded r(Example(), 0);
  Problem problem = r.problem;
  const Planned planned = StrategyByName("best").plan(problem);
  REQUIRE(planned.feasible);
  CHECK(planned.plan.ops.size() == 3);  // split, with 48 MiB
  CHECK(Evaluate(planned.plan, problem).step_time == r.in_core.step_time - 3 * 110'000);
}

}  // namespace
}  // namespace spillway
