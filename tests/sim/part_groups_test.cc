// Groups of ops in parts as best finds them: what they are, that all plans with them are proved and not below their bounds,
// what best's model says of them, and that best is ahead where single ops do not fit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "hw/text/lists.h"
#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "sim/plan/runtime.h"
#include "sim/strategies/best/search_space.h"
#include "sim/strategies/strategies.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

StepOptions OptionsOf(const std::string& name) { return name == "plain" ? StepOptions{} : StepOptionsByName(name); }

struct Setting {
  Machine machine;
  CostModel costs{machine};
  TrainingStep step;
  StepFacts facts;

  Setting(const Network& network, const char* options, const char* machine_name)
      : machine(LoadMachine(machine_name)), step(BuildTrainingStep(network, OptionsOf(options))), facts(step, costs) {}

  Problem At(Bytes capacity) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.use_runtime = true;
    problem.runtime = RuntimeByName("arena");
    return problem;
  }
  const StepTables& tables() const { return facts.tables(); }
  Bytes LargestSet() const { return tables().WorkingSet(tables().LargestWorkingSet()); }
  SearchSpace Space(std::vector<PartGroup> groups, Bytes capacity) const {
    return {facts, RuntimeByName("arena"), capacity, 0, Allowed{}, {.groups = std::move(groups)}};
  }
};

Network VggLike() {
  NetworkBuilder b("vgg-like", {.n = 16, .c = 3, .h = 32, .w = 32});
  LayerId top = kNetworkInput;
  for (const int stage : {1, 2, 3}) {
    const std::string name = "conv" + std::to_string(stage);
    for (const char* which : {"_1", "_2"}) top = b.ConvolutionRelu(name + which, top, Square(8 << stage, 3, 1, 1));
    top = b.MaxPool("pool" + std::to_string(stage), top, Square(0, 2, 2));
  }
  return b.Loss(b.Linear("fc", top, 10));
}

// A block whose sum is one of its forward groups, with a value that all else of it is made from.
Network Bottlenecks() {
  NetworkBuilder b("bottlenecks", {.n = 16, .c = 16, .h = 32, .w = 32});
  LayerId top = b.ConvolutionRelu("stem", kNetworkInput, Square(16, 3, 1, 1));
  for (const std::string block : {"a", "b", "c"}) {
    const LayerId reduced = b.ConvolutionRelu(block + "_reduce", top, Square(8, 1));
    const LayerId expanded = b.Convolution(block + "_expand", reduced, Square(16, 1));
    top = b.Relu(block + "_relu", b.AddUp(block + "_sum", {expanded, top}));
  }
  return b.Loss(b.Linear("fc", b.AveragePool("pool", top, Square(0, 4, 4)), 10));
}

GapChoices RandomChoices(const SearchSpace& space, Random& random) {
  GapChoices choices = AllKept(space.tables);
  for (const OpenChoices::Gap& gap : space.open.gaps) {
    choices.gaps[gap.row] = gap.ways[random.Below(static_cast<std::uint32_t>(gap.ways.size()))];
  }
  for (const OpenChoices::Op& op : space.open.ops) {
    choices.ops[op.row] = static_cast<std::uint8_t>(random.Below(op.ways));
  }
  return choices;
}

// What the op needs at least in its group, without a workspace.
Bytes NeedInGroup(const Setting& s, const PartGroup& group, OpId op) {
  OpDecision decision = DecisionInGroup(s.tables(), group, op);
  decision.parts.assign(static_cast<std::size_t>(group.parts), {.samples = s.step.batch / group.parts});
  return s.tables().WorkingSets({{decision}})[Index(op)];
}

TEST_CASE("groups are of ops in a row that run in parts, of one phase, and take no more than asked") {
  std::size_t found = 0, brought = 0;
  for (const char* options : {"chainer", "torch", "plain"}) {
    const Setting s(VggLike(), options, "unit");
    for (const int percent : {30, 50, 70, 90}) {
      const Bytes most = s.LargestSet() / 100 * percent;
      OpId end = 0;
      for (const PartGroup& group : GroupsOver(s.tables(), most)) {
        INFO(options << " " << percent << " at " << s.step.ops[Index(group.first)].name);
        CHECK(group.first >= end);
        end = group.end;
        CHECK(s.step.IsForward(group.first) == s.step.IsForward(group.end - 1));
        CHECK(s.step.batch % group.parts == 0);
        for (OpId op = group.first; op < group.end; ++op) CHECK(NeedInGroup(s, group, op) <= most);
        for (const TensorId t : group.inner) {
          CHECK(s.tables().uses.of[Index(t)].front() >= group.first);
          CHECK(s.tables().uses.of[Index(t)].back() < group.end);
        }
        for (const TensorId t : group.brought) {
          CHECK(s.tables().uses.of[Index(t)].front() < group.first);
          CHECK(s.tables().uses.of[Index(t)].back() < group.end);
        }
        ++found;
        brought += group.brought.size();
      }
    }
  }
  CHECK(found > 10);
  CHECK(brought > 5);
}

TEST_CASE("random plans with groups are proved, and never below their bounds") {
  Random random(53);
  int feasible = 0, recomputed = 0, plans = 0;
  const auto check = [&](const Setting& s, Bytes most) {
    const std::vector<PartGroup> groups = GroupsOver(s.tables(), most);
    if (groups.empty()) return;
    const Problem problem = s.At(20 * s.LargestSet());
    const SearchSpace space = s.Space(groups, most);
    const Oracle oracle = OracleOf(problem);
    for (int k = 0; k < 12; ++k) {
      GapModel model(space.tables, problem.runtime, problem.capacity);
      const Plan plan = PlanOf(problem, model, RandomChoices(space, random), "drawn");
      INFO(s.step.network << " plan " << k << "\n" << PlanToYaml(plan, s.step));
      REQUIRE(CheckPlan(plan, s.step).empty());
      ++plans;
      const Evaluation e = oracle.Evaluate(plan);  // throws where verify finds anything
      if (!e.feasible) continue;
      ++feasible;
      recomputed += e.recompute_time > 0 ? 1 : 0;
      CHECK(e.step_time >= e.bounds.Best());
    }
  };
  for (const char* options : {"chainer", "torch", "plain"}) {
    for (const char* machine : {"unit", "v100-x86-pcie3"}) {
      const Setting s(VggLike(), options, machine);
      for (const int percent : {40, 60, 80}) {
        check(s, s.LargestSet() / 100 * percent);
      }
    }
  }
  for (const char* options : {"chainer", "torch", "plain", "inference"}) {
    for (const Network& network : {Bottlenecks(), VggLike()}) {
      const Setting s(network, options, "unit");
      for (const int percent : {30, 50, 80}) check(s, s.LargestSet() / 100 * percent);
    }
  }
  for (const SmallNetwork& network : kNetworks) {
    const Setting s(network.build(), network.options, "unit");
    check(s, s.LargestSet() / 2);
  }
  INFO(plans << " plans, " << feasible << " run, " << recomputed << " recompute");
  CHECK(feasible > 250);
  CHECK(recomputed > 100);
}

// No host and no copies that disturb kernels: what is left is the rounding of parts, and how soon the first one is there.
TEST_CASE("best's model of a step with groups is close to the full path") {
  int compared = 0, close = 0;
  const Setting s(VggLike(), "plain", "unit");
  for (const int percent : {50, 70}) {
    const Bytes capacity = 3 * s.LargestSet();
    const Problem problem = s.At(capacity);
    const SearchSpace space = s.Space(GroupsOver(s.tables(), s.LargestSet() / 100 * percent), capacity);
    REQUIRE_FALSE(space.tables.groups.empty());
    const Oracle oracle = OracleOf(problem);
    GapModel model(space.tables, problem.runtime, capacity);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Annealed found =
          Anneal(model, space.open, AllKept(space.tables), {.judgements = 400, .hottest = 0.01, .seed = seed});
      if (!found.found) continue;
      const Evaluation e = oracle.Evaluate(PlanOf(problem, model, found.choices, "drawn"));
      if (!e.feasible) continue;
      ++compared;
      const double apart = static_cast<double>(found.time) / static_cast<double>(e.step_time) - 1;
      close += std::abs(apart) < 0.05 ? 1 : 0;
    }
  }
  INFO(close << " of " << compared << " within 5 %");
  CHECK(compared > 20);
  CHECK(close > compared * 3 / 4);
}

TEST_CASE("where single ops do not fit, best is ahead of every plan that streams them, and proved") {
  const Setting s(VggLike(), "plain", "v100-x86-pcie3");
  for (const int percent : {80, 95}) {
    const Problem problem = s.At(s.LargestSet() / 100 * percent);
    const Planned planned = StrategyByName("best").plan(problem);
    INFO(percent << " " << planned.reason);
    REQUIRE(planned.feasible);
    const Evaluation best = Evaluate(planned.plan, problem);
    REQUIRE(best.feasible);
    for (const char* name : {"swap-all-parts", "pooch-parts", "ooc-cudnn-fused", "ooc-tiled"}) {
      const Planned other = StrategyByName(name).plan(problem);
      const Evaluation e = Evaluate(other.plan, problem);
      INFO(name);
      if (other.feasible && e.feasible) CHECK(best.step_time <= e.step_time);
    }
  }
}

}  // namespace
}  // namespace spillway
