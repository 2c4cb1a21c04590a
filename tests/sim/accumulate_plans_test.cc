// Plans of steps in batch parts: what is decided for a part holds in each, and who chooses the number of parts.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "hw/text/lists.h"
#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/planning/random_plans.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/accumulate/repeat_plan.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/sim/parts_place.h"

namespace spillway {
namespace {

constexpr std::int64_t kBatch = 64;

struct Setting {
  explicit Setting(const char* network = "cifar-vgg", const char* machine_name = "v100-x86-pcie3",
                   const char* options = "chainer", std::int64_t whole = kBatch)
      : machine(LoadMachine(machine_name)), costs(machine), parts(whole, [network, options](std::int64_t batch) {
          return BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), StepOptionsByName(options));
        }) {
    problem.step = &parts.In(1).part;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
    problem.use_runtime = true;
    problem.simulation_cap = 300;
    problem.in_parts = &parts;
  }
  Setting(const Setting&) = delete;

  const TrainingStep& StepOf(const Plan& plan) { return parts.In(plan.accumulate).all.step; }
  Problem At(const TrainingStep& step) const {
    Problem other = problem;
    other.step = &step;
    return other;
  }
  Evaluation Judge(const Plan& plan) {
    const TrainingStep& step = StepOf(plan);
    for (const std::string& mistake : CheckPlan(plan, step)) FAIL(mistake);
    return Evaluate(plan, At(step));
  }
  Planned Ask(const std::string& beneath, std::int64_t count = 0) {
    problem.parameters = {};
    if (count > 0) problem.parameters.Set("parts", count);
    problem.parameters.Set("beneath", beneath);
    return PlanWithHeadroom(StrategyByName("accumulate"), problem);
  }

  Machine machine;
  CostModel costs;
  StepsInParts parts;
  Problem problem;
};

std::size_t Count(const Program& program, Opcode opcode) {
  return static_cast<std::size_t>(std::count_if(program.code.begin(), program.code.end(),
                                                [opcode](const Instruction& in) { return in.opcode == opcode; }));
}

}  // namespace

TEST_CASE("a batch is cut into equal parts, and between those that lie far apart into unequal ones") {
  using Counts = std::vector<std::int64_t>;
  CHECK(PartsOf(1, 64) == Counts{1});
  CHECK(PartsOf(12, 64) == Counts{1, 2, 3, 4, 6, 12});
  CHECK(PartsOf(36, 64) == Counts{1, 2, 3, 4, 6, 9, 12, 18, 36});
  CHECK(PartsOf(64, 64) == Counts{1, 2, 4, 8, 16, 32, 64});
  CHECK(PartsOf(36, 10) == Counts{1, 2, 3, 4, 6, 9});
  CHECK(PartsOf(61, 64) == Counts{1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 61});
  CHECK(PartsOf(134, 64) == Counts{1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 24, 30, 38, 48, 60});
}

// 31 samples and 30 take no less than 30 and 30, and no more than 31 and 31.
TEST_CASE("a batch that nothing divides runs in parts one sample apart") {
  for (const std::int64_t batch : {61, 67, 101, 127}) {
    INFO("batch " << batch);
    Setting odd("cifar-vgg", "v100-x86-pcie3", "chainer", batch);
    Setting below("cifar-vgg", "v100-x86-pcie3", "chainer", batch - 1);
    Setting above("cifar-vgg", "v100-x86-pcie3", "chainer", batch + 1);
    const Bytes whole = Evaluate(Plan{}, odd.problem).peak_bytes;
    std::array<Evaluation, 3> judged;
    int next = 0;
    for (Setting* s : {&below, &odd, &above}) {
      s->problem.capacity = whole * 3 / 4;
      const Planned planned = s->Ask("in-core", s == &odd ? 0 : 2);
      REQUIRE(planned.feasible);
      CHECK(planned.plan.accumulate == 2);
      judged[static_cast<std::size_t>(next++)] = s->Judge(planned.plan);
    }
    CHECK(judged[0].step_time <= judged[1].step_time);
    CHECK(judged[1].step_time <= judged[2].step_time);
    CHECK(judged[1].live_peak_bytes <= judged[2].live_peak_bytes);
    CHECK(judged[1].bounds.Best() <= judged[1].step_time);
    CHECK(judged[1].bounds.Best() > judged[1].step_time * 9 / 10);
  }
}

TEST_CASE("smaller parts have plans of their own, whatever moves in them") {
  Setting s("cifar-vgg", "v100-x86-pcie3", "chainer", 61);
  s.problem.capacity = Evaluate(Plan{}, s.problem).peak_bytes * 6 / 10;
  for (const char* beneath : {"swap-all", "pooch", "ucudnn-wr", "swap-all-parts"}) {
    for (const std::int64_t parts : {2, 3, 7}) {
      INFO(beneath << " in " << parts);
      const Planned planned = s.Ask(beneath, parts);
      if (!planned.feasible && std::string(beneath) == "ucudnn-wr") continue;  // in core
      REQUIRE(planned.feasible);
      const Evaluation e = s.Judge(planned.plan);
      REQUIRE(e.feasible);
      CHECK(e.bounds.Best() <= e.step_time);
      const TrainingStep& step = s.StepOf(planned.plan);
      CHECK((ParsePlan(PlanToYaml(planned.plan, step), "plan.yaml", step) == planned.plan));
    }
  }
}

// Programs are verified by Evaluate.
TEST_CASE("whatever a strategy decides for a part holds in each part") {
  for (const char* runtime : {"arena", "pooch"}) {
    Setting s;
    s.problem.runtime = RuntimeByName(runtime);
    for (const std::int64_t parts : {2, 4}) {
      const StepsInParts::InParts& in = s.parts.In(parts);
      const Problem of_part = s.At(in.part);
      for (const char* name :
           {"in-core", "swap-all", "swap-all-unscheduled", "recompute-all", "pooch", "superneurons"}) {
        INFO(name << " in " << parts << " on " << runtime);
        const Planned planned = StrategyByName(name).plan(of_part);
        REQUIRE(planned.feasible);
        const Evaluation one = Evaluate(planned.plan, of_part);
        const Plan plan = RepeatedPlan(planned.plan, planned.plan, in.all);
        const Evaluation all = s.Judge(plan);
        INFO(all.reason);
        REQUIRE(one.feasible);
        REQUIRE(all.feasible);
        CHECK(all.classes.swap == parts * one.classes.swap);
        CHECK(all.classes.recompute == parts * one.classes.recompute);
        CHECK(all.classes.keep == parts * one.classes.keep);
        CHECK(all.bytes_out == parts * one.bytes_out);
        CHECK(all.bytes_in == parts * one.bytes_in);
        CHECK(all.recompute_time == parts * one.recompute_time);
        CHECK(all.step_time < parts * one.step_time * 11 / 10);
        CHECK(all.bounds.Best() <= all.step_time);
      }
    }
  }
}

// Down to memories in which ops stream and gradients are moved out of the way.
TEST_CASE("every strategy's plan of a part is a plan of all parts, whatever the memory", "[plain]") {
  for (const char* options : {"chainer", "plain"}) {
    Setting s("cifar-vgg", "v100-x86-pcie3", options);
    s.problem.runtime = RuntimeByName("arena");
    const StepsInParts::InParts& in = s.parts.In(2);
    const Bytes whole = Evaluate(StrategyByName("in-core").plan(s.At(in.part)).plan, s.At(in.part)).peak_bytes;
    int feasible = 0, streamed = 0, moved = 0;
    for (const Strategy& strategy : Drawn(Strategies())) {
      for (const int percent : {20, 25, 30, 45, 60, 80, 100}) {
        if (std::string(strategy.name) == "accumulate") continue;
        INFO(strategy.name << " in " << percent << " % by " << options);
        s.problem.capacity = whole * percent / 100;
        s.problem.parameters = {};
        if (std::string(strategy.name) == "best") {
          s.problem.parameters.Set("simulations", std::int64_t{2000});
          s.problem.parameters.Set("plans", std::int64_t{20});
        }
        const Planned planned = strategy.plan(s.At(in.part));
        if (!planned.feasible) continue;
        s.problem.capacity = 2 * whole;
        const Plan plan = RepeatedPlan(planned.plan, planned.plan, in.all);
        const Evaluation all = s.Judge(plan);
        INFO(all.reason);
        CHECK(all.feasible);
        CHECK(all.bounds.Best() <= all.step_time);
        ++feasible;
        streamed += ScopeOf(plan).parts == PartScope::kStreamed ? 1 : 0;
        moved += std::any_of(plan.gaps.begin(), plan.gaps.end(), [&](const GapDecision& gap) {
          return in.all.step.tensors[Index(gap.tensor)].Traits().of_parameters;
        });
      }
    }
    CHECK(feasible > Cases(5, 50));
    CHECK(streamed >= Cases(0, 5));
    CHECK(moved >= Cases(0, 1));
  }
}

TEST_CASE("the host waits in each part as in one, and once more for the update") {
  Setting s;
  s.problem.runtime = RuntimeByName("pooch");
  const StepsInParts::InParts& in = s.parts.In(4);
  const Planned planned = StrategyByName("swap-all").plan(s.At(in.part));
  const Evaluation one = Evaluate(planned.plan, s.At(in.part)),
                   all = s.Judge(RepeatedPlan(planned.plan, planned.plan, in.all));
  CHECK(Count(one.program, Opcode::kHostSync) > 10);
  CHECK(Count(all.program, Opcode::kHostSync) == 4 * Count(one.program, Opcode::kHostSync));
}

TEST_CASE("inputs of later parts come while the part before is in backward") {
  Setting s("cifar-vgg", "unit");
  s.problem.runtime = RuntimeByName("pooch");  // whose host does not run ahead of its backward layers
  const StepsInParts::InParts& in = s.parts.In(2);
  const Plan plan = [&] {
    const Plan in_core = StrategyByName("in-core").plan(s.At(in.part)).plan;
    return RepeatedPlan(in_core, in_core, in.all);
  }();
  REQUIRE(plan.gaps.size() == 1);
  CHECK(in.all.step.tensors[Index(plan.gaps[0].tensor)].name == "input:part2");
  CHECK(plan.gaps[0].before == in.all.ops[1][0]);
  CHECK(plan.gaps[0].in_at < in.all.ops[1][0]);
  CHECK_FALSE(in.all.step.IsForward(plan.gaps[0].in_at));
  Plan late = plan;
  late.gaps.clear();
  const Evaluation fetched = s.Judge(plan), waited = s.Judge(late);
  CHECK(fetched.step_time < waited.step_time);
  CHECK(fetched.stall_in < waited.stall_in);
}

TEST_CASE("what is drawn at random for steps in parts is safe, and no faster than the bounds") {
  Random random(3);
  int cases = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Setting s(seed % 2 == 0 ? "cifar-vgg" : "cifar-resnet20", "unit", seed % 3 == 0 ? "torch" : "plain");
    const std::int64_t parts = seed % 2 == 0 ? 2 : 4;
    const TrainingStep& step = s.parts.In(parts).all.step;
    const DiceCosts costs(s.machine, seed);
    const auto facts = std::make_shared<const StepFacts>(step, costs);
    const Bytes most = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
    for (const Bytes capacity : {most + most / 8, most * 3}) {
      const Oracle oracle(facts, capacity);
      for (int k = 0; k < 24; ++k) {
        const Plan plan = RandomPlan(step, {}, 10 * random.Below(9), random);
        for (const std::string& mistake : CheckPlan(plan, step)) FAIL(mistake);
        const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
        if (!e.feasible) continue;
        INFO("seed " << seed << " plan " << k);
        REQUIRE(e.widest.Best() <= e.bounds.Best());
        REQUIRE(e.bounds.Best() <= e.step_time);
        CHECK(e.scope.accumulate == parts);
        ++cases;
      }
    }
  }
  CHECK(cases > 100);
}

TEST_CASE("the number of parts is the fastest that fits") {
  for (const char* beneath : {"in-core", "swap-all"}) {
    Setting s;
    INFO(beneath);
    const Evaluation in_core = Evaluate(Plan{}, s.At(s.parts.In(1).part));
    for (const Bytes capacity : {in_core.peak_bytes, in_core.peak_bytes * 3 / 4, in_core.peak_bytes / 2}) {
      s.problem.capacity = capacity;
      Nanos best = 0;  // of the numbers that are tried first
      for (const std::int64_t parts : PartsOf(kBatch, kBatch)) {
        const Planned planned = s.Ask(beneath, parts);
        if (!planned.feasible) continue;
        CHECK(planned.plan.accumulate == parts);
        const Evaluation e = s.Judge(planned.plan);
        REQUIRE(e.feasible);
        CHECK(e.peak_bytes <= capacity);
        best = best == 0 ? e.step_time : std::min(best, e.step_time);
      }
      const Planned planned = s.Ask(beneath);
      REQUIRE(planned.feasible);
      const Nanos found = s.Judge(planned.plan).step_time;
      CHECK(found <= best);
      CHECK(planned.scope->accumulate == planned.plan.accumulate);
      // Nor are the numbers beside it faster.
      for (const std::int64_t beside : {planned.plan.accumulate - 1, planned.plan.accumulate + 1}) {
        if (beside < 1 || beside > kBatch) continue;
        const Planned other = s.Ask(beneath, beside);
        if (other.feasible) CHECK(found <= s.Judge(other.plan).step_time);
      }
    }
  }
}

TEST_CASE("what cannot be cut is said") {
  Setting s;
  CHECK(s.Ask("in-core", 65).reason == "parts: the batch of 64 is not cut into 65");
  s.problem.capacity = 1 * kMB;
  CHECK_THAT(s.Ask("in-core").reason, Catch::StartsWith("working_set: ") && Catch::EndsWith(", in 64 batch parts"));
  const Strategy& accumulate = StrategyByName("accumulate");
  StrategyParameters five;
  five.Set("parts", std::int64_t{5});
  CHECK(accumulate.mistake(five, 20).empty());
  CHECK(accumulate.mistake(five, 8).empty());
  CHECK(accumulate.mistake(five, 3) == "parts: expected at most the 3 samples of the batch, found 5");
  CHECK(accumulate.mistake({}, 8).empty());
  CHECK_FALSE(Contains(accumulate.parameters[1].words(), "accumulate"));
}

TEST_CASE("without steps in parts there is one, and for inference too") {
  Setting s;
  s.problem.in_parts = nullptr;
  CHECK(s.Ask("in-core").plan.accumulate == 1);
  StepOptions options;
  options.inference = true;
  const TrainingStep inference = BuildTrainingStep(BuildZooNetwork("cifar-vgg", {.batch = kBatch}), options);
  s.problem.in_parts = &s.parts;
  s.problem.step = &inference;
  CHECK(s.Ask("in-core").plan.accumulate == 1);
  CHECK_FALSE(s.Ask("in-core", 2).feasible);
}

TEST_CASE("a plan in parts as a file") {
  Setting s;
  s.problem.capacity = 60 * kMB;
  const Planned planned = s.Ask("swap-all", 2);
  INFO(planned.reason);
  REQUIRE(planned.feasible);
  const TrainingStep& step = s.StepOf(planned.plan);
  const std::string text = PlanToYaml(planned.plan, step);
  CHECK_THAT(text, Catch::Contains("\naccumulate: 2\n") && Catch::Contains(":part2\""));
  CHECK((ParsePlan(text, "plan.yaml", step) == planned.plan));
  CHECK_THROWS_WITH(ParsePlan(text, "plan.yaml", s.parts.In(4).all.step),
                    Catch::Contains("accumulate: the plan is for the batch in 2, not in 4"));
  Plan other = planned.plan;
  other.accumulate = 4;
  CHECK(CheckPlan(other, step).front() == "the plan is for the batch in 4 (accumulate), not in 2");
}

}  // namespace spillway
