// PoocH's model and the Program that its classification is lowered to count the same bytes. Random classifications of
// many networks, far beyond what the strategies choose.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/pooch/pooch_model.h"
#include "sim/strategies/pooch/search.h"
#include "sim/strategies/strategies.h"
#include "tests/random_plan.h"

namespace spillway {
namespace {

struct Case {
  const char* network;
  std::int64_t batch;
  const char* machine;
};
const Case kCases[] = {
    {"cifar-resnet20", 512, "v100-x86-pcie3"},   {"cifar-vgg", 512, "v100-x86-pcie3"},
    {"cifar-alexnet", 512, "v100-x86-pcie3"},    {"resnet50", 512, "v100-x86-pcie3"},
    {"resnet50", 640, "v100-power9-nvlink2"},    {"googlenet", 384, "v100-x86-pcie3"},
    {"googlenet-bn", 384, "v100-x86-pcie3"},     {"alexnet", 2432, "v100-power9-nvlink2"},
    {"densenet121", 256, "v100-power9-nvlink2"},
};

struct Setting {  // owns what a Problem points to
  Setting(const Case& c, const char* options)
      : machine(LoadMachine(c.machine)),
        costs(machine),
        step(BuildTrainingStep(BuildZooNetwork(c.network, {.batch = c.batch}), StepOptionsByName(options))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
  }
  Setting(const Setting&) = delete;

  Machine machine;
  CostModel costs;
  TrainingStep step;
  Problem problem;
};

Classes RandomClasses(const PoochProfile& profile, Random& random) {
  const std::uint32_t keep = random.Below(50), recompute = random.Below(60);  // percent
  Classes classes;
  for (const PoochProfile::Map& map : profile.maps) {
    const std::uint32_t draw = random.Below(100);
    const bool again = draw < keep + recompute && !map.on_host;
    classes.push_back(draw < keep ? MapClass::kKeep : again ? MapClass::kRecompute : MapClass::kSwap);
  }
  return classes;
}

// Per timing, the most bytes live in list order from its first swap-in or recomputation to its last op.
std::vector<Bytes> LoadsInList(const Program& program, const PoochProfile& profile) {
  std::vector<std::size_t> timing_of(program.code.size());
  std::size_t now = profile.timings.size();  // seen from the end: whom an instruction serves
  for (std::size_t i = program.code.size(); i-- > 0;) {
    const Instruction in = program.code[i];
    if (in.opcode == Opcode::kKernel && !program.kernels[in.arg].recomputation) {
      const OpId op = program.kernels[in.arg].op;
      now = profile.timings.size();
      while (now > 0 && profile.timings[now - 1].first_op > op) --now;
    }
    timing_of[i] = now;  // 0: forward
  }
  std::vector<Bytes> loads(profile.timings.size() + 1, 0);
  Bytes live = 0;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    const Instruction in = program.code[i];
    if (in.opcode == Opcode::kAlloc) live += program.buffers[in.arg].bytes;
    if (in.opcode == Opcode::kFree) live -= program.buffers[in.arg].bytes;
    if (in.opcode == Opcode::kFree) continue;
    loads[timing_of[i]] = std::max(loads[timing_of[i]], live);
  }
  loads.erase(loads.begin());
  return loads;
}

Plan PlanOf(const Search& search, const Classes& classes, const Problem& problem) {
  Plan plan = StartPlan(problem, "random", "pooch");
  AddDecisions(search, classes, {}, plan);
  REQUIRE(CheckPlan(plan, *problem.step).empty());
  return plan;
}

// With every swap-in issued when it is needed, timing by timing.
void CompareLoads(const Setting& s, Search& search, const Classes& classes) {
  const PoochProfile& profile = search.model->profile();
  const Simulation simulation = search.SimulateUnlimited(classes);
  if (simulation.endless) return;
  const std::vector<Bytes> expected = search.scratch.load;
  for (SimulationScratch::SwapIn& swap_in : search.scratch.swap_ins) swap_in.issue = swap_in.need;
  const Plan plan = PlanOf(search, classes, s.problem);
  const Program program = Lower(plan, StepTables(s.step, s.costs), 0).program;
  const std::vector<Bytes> got = LoadsInList(program, profile);
  REQUIRE(got.size() == expected.size());
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < got.size(); ++k) wrong += got[k] == expected[k] + profile.persistent ? 0 : 1;
  CHECK(wrong == 0);
  Nanos again = 0, model = 0;
  for (const Kernel& kernel : program.kernels) {
    if (kernel.recomputation) again += s.costs.Kernel(LaunchOf(s.step.ops[static_cast<std::size_t>(kernel.op)])).time;
  }
  for (const Nanos time : search.scratch.recompute) model += time;
  CHECK(again == model);
}

TEST_CASE("timing by timing, model and Program hold the same bytes and recompute for as long") {
  Random random(1);
  for (const Case& c : kCases) {
    for (const char* options : {"plain", "chainer", "torch"}) {
      CAPTURE(c.network, options);
      Setting s(c, options);
      s.problem.use_runtime = random.Below(2) == 0;
      s.problem.runtime = RuntimeByName("pooch");
      s.problem.runtime.backward_units = BackwardUnits::kBreakPoints;
      const PoochModel model = MakeModel(s.problem);
      Search search(model, SwapInRule::kOneAhead);
      for (int round = 0; round < 8; ++round) {
        search.keep_passed = round % 2 == 0;
        CompareLoads(s, search, RandomClasses(model.profile(), random));
      }
    }
  }
}

// The least capacity, to a unit, at which the model calls `classes` feasible; 0 if it never does.
Bytes LeastCapacity(const PoochProfile& profile, const Classes& classes, const Search& like) {
  PoochProfile tight = profile;
  Bytes low = 0, high = tight.capacity = 4 * profile.capacity;
  const auto feasible = [&](Bytes capacity) {
    tight.capacity = capacity;
    const PoochModel model(tight);
    Search search(model, like.rule);
    search.keep_passed = like.keep_passed;
    return search.Simulate(classes).feasible;
  };
  if (!feasible(high)) return 0;
  while (high - low > kAllocationUnit) {
    const Bytes middle = (low + high) / 2;
    (feasible(middle) ? high : low) = middle;
  }
  return high;
}

Evaluation Judge(const Setting& s, const Classes& classes, SwapInRule rule, bool keep_passed, Bytes capacity) {
  Problem problem = s.problem;
  problem.capacity = capacity;
  const PoochModel model = MakeModel(problem);
  Search search(model, rule);
  search.keep_passed = keep_passed;
  search.SimulateUnlimited(classes);
  DelaySwapIns(search.scratch);
  return Evaluate(PlanOf(search, classes, problem), problem, {.verify = false, .bounds = false, .timeline = false});
}

TEST_CASE("what the model finds feasible runs in a pool, and what it does not does not") {
  Random random(2);
  int judged = 0, ran = 0, failed = 0;
  for (const Case& c : kCases) {
    const Setting s(c, random.Below(2) == 0 ? "chainer" : "plain");
    const PoochModel model = MakeModel(s.problem);
    for (int round = 0; round < 6; ++round) {
      CAPTURE(c.network, round);
      Search search(model, round % 2 == 0 ? SwapInRule::kWhenRoom : SwapInRule::kBursts);
      search.keep_passed = round % 3 != 0;
      const Classes classes = RandomClasses(model.profile(), random);
      const Bytes least = LeastCapacity(model.profile(), classes, search);
      if (least == 0) continue;
      const Bytes capacity = least + model.profile().persistent;
      ++judged;
      ran += Judge(s, classes, search.rule, search.keep_passed, capacity).feasible ? 1 : 0;
      // A hundredth less, for what the model counts a moment too long: labels, from the start of the step.
      failed += Judge(s, classes, search.rule, search.keep_passed, capacity / 100 * 99).feasible ? 0 : 1;
    }
  }
  CAPTURE(judged, ran, failed);
  CHECK(judged > 40);
  CHECK(ran == judged);
  CHECK(failed == judged);
}

TEST_CASE("ResNet-50 beyond 16 GB, as a Chainer of 2018 would do it, does not run out of memory") {
  for (const char* machine : {"v100-x86-pcie3", "v100-power9-nvlink2"}) {
    for (const std::int64_t batch : {256, 512, 640}) {
      const Setting s({"resnet50", batch, machine}, "chainer");
      for (const char* name : {"swap-all", "swap-opt", "pooch", "pooch-released"}) {
        CAPTURE(machine, batch, name);
        const Planned planned = StrategyByName(name).plan(s.problem);
        REQUIRE(planned.feasible);
        CHECK(Evaluate(planned.plan, s.problem, {.verify = false, .bounds = false, .timeline = false}).feasible);
      }
    }
  }
}

}  // namespace
}  // namespace spillway
