// tvdnn-heuristic and tvdnn-ilp: the integer program against enumeration, and what becomes of its counts.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <set>

#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/parts.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"
#include "sim/strategies/tvdnn/integer_program.h"
#include "sim/strategies/tvdnn/section_model.h"
#include "tests/deep.h"

namespace spillway {
namespace {

using tvdnn::Counts;
using tvdnn::SectionModel;

// Calls f(counts) for all there are up to `most`.
void ForEachCounts(const Counts& most, const std::function<void(const Counts&)>& f) {
  Counts counts(most.size(), 0);
  for (;;) {
    f(counts);
    std::size_t k = 0;
    while (k < most.size() && counts[k] == most[k]) counts[k++] = 0;
    if (k == most.size()) return;
    ++counts[k];
  }
}

// A chain of up to five maps: op l makes map l, op 2 L - 1 - l of backward uses it last. Some maps have a second gap, and
// some are inputs.
SectionModel RandomChain(Random& random) {
  SectionModel model;
  const OpId layers = 2 + static_cast<OpId>(random.Below(3));
  std::vector<Bytes> bytes;
  for (OpId l = 0; l < layers; ++l) {
    tvdnn::SectionGap gap;
    gap.tensor = l;
    gap.sections = 1 + random.Below(4);
    gap.bytes = 512 * (1 + random.Below(40));
    bytes.push_back(gap.bytes * gap.sections);
    gap.after = l;
    gap.before = 2 * layers - 1 - l;
    gap.on_host = l == 0 && random.Below(2) == 0;
    if (gap.before - gap.after < 2) continue;
    const bool twice = gap.before - gap.after > 4 && random.Below(2) == 0;
    if (twice) gap.before = gap.after + 2;
    model.gaps.push_back(gap);
    if (!twice) continue;
    gap.copied_by = random.Below(2) == 0 ? static_cast<int>(model.gaps.size()) - 1 : -1;
    gap.after = gap.before;
    gap.before = 2 * layers - 1 - l;
    model.gaps.push_back(gap);
  }
  for (OpId op = 0; op < 2 * layers; ++op) {
    Bytes live = 0;
    for (OpId l = 0; l < layers; ++l) {
      if (l <= op && op <= 2 * layers - 1 - l) live += bytes[Index(l)];
    }
    model.live.push_back(live);
    model.time.push_back(random.Below(20000));
  }
  model.out_rate = 1 + 0.25 * random.Below(4);
  model.in_rate = 1 + 0.25 * random.Below(4);
  model.copy_streams = random.Between(1, 2);
  return model;
}

}  // namespace

TEST_CASE("whole columns: branch and bound finds what enumeration finds") {
  Random random(3);
  int cases = 0, fractional = 0;
  for (int k = 0; k < 400; ++k) {
    tvdnn::IntegerProgram program;
    const int columns = random.Between(2, 4);
    Counts most;
    for (int c = 0; c < columns; ++c) {
      most.push_back(random.Below(4));
      program.whole.push_back(program.rows.AddColumn(1 + random.Below(9), static_cast<double>(most.back())));
    }
    const int loose = program.rows.AddColumn(1 + random.Below(20), 100);
    for (int r = random.Between(1, 3); r > 0; --r) {
      std::vector<LinearProgram::Term> row{{loose, 1}};
      for (const int c : program.whole) row.push_back({c, static_cast<double>(random.Below(7))});
      program.rows.AddRow(row, random.Below(20));
    }
    LinearProgram::Solver solver(program.rows);
    double least = INFINITY;
    ForEachCounts(most, [&](const Counts& counts) {
      std::vector<double> lower(program.rows.upper().size(), 0), upper = program.rows.upper();
      for (std::size_t c = 0; c < counts.size(); ++c) lower[c] = upper[c] = static_cast<double>(counts[c]);
      const auto solution = solver.Minimum(lower, upper);
      REQUIRE(solution.kind == LinearProgram::Solver::Solution::Kind::kFound);
      least = std::min(least, solution.bound);
    });
    const tvdnn::IntegerSolution found = Minimise(program, 100000, 1e-9);
    REQUIRE(found.found);
    CHECK(found.value == Approx(least).margin(1e-6));
    CHECK(found.bound <= found.value + 1e-9);
    CHECK(found.bound >= least - 1e-6);
    for (const int c : program.whole) CHECK(std::round(found.columns[Index(c)]) == found.columns[Index(c)]);
    ++cases;
    fractional += program.rows.Minimum() < least - 1e-6 ? 1 : 0;
    // Cut off, it says how far it may be off.
    const tvdnn::IntegerSolution cut_off = Minimise(program, 4, 1e-9);
    CHECK(cut_off.bound <= least + 1e-6);
    CHECK((!cut_off.found || cut_off.value >= least - 1e-6));
  }
  INFO(cases << " programs, " << fractional << " above their relaxation");
  CHECK(cases == 400);
  CHECK(fractional > 100);
}

TEST_CASE("counts of sections with the least stall are those of enumeration") {
  Random random(7);
  int cases = 0, stalled = 0, impossible = 0, behind = 0;
  std::int64_t counts_tried = 0;
  for (int k = 0; k < Cases(50, 150); ++k) {
    const SectionModel model = RandomChain(random);
    const Bytes most = *std::max_element(model.live.begin(), model.live.end());
    const Bytes capacity = most * random.Between(50, 100) / 100;
    Counts all;
    for (const tvdnn::SectionGap& gap : model.gaps) all.push_back(gap.sections);
    double least = -1;
    ForEachCounts(all, [&](const Counts& counts) {
      const double stall = StallOf(model, capacity, counts);
      if (stall >= 0 && (least < 0 || stall < least)) least = stall;
      ++counts_tried;
    });
    const tvdnn::CountedProgram found = LeastStall(model, capacity, 1'000'000);
    INFO("chain " << k << ": " << least << " by enumeration, " << found.stall);
    REQUIRE(found.found == (least >= 0));
    if (!found.found) {
      ++impossible;
      continue;
    }
    CHECK(found.stall == Approx(least).margin(1));
    CHECK(StallOf(model, capacity, found.counts) == Approx(found.stall).margin(1));
    CHECK(found.bound <= found.stall + 1);
    ++cases;
    stalled += found.stall > 1 ? 1 : 0;
    const double by_rule = StallOf(model, capacity, FarthestUse(model, capacity));
    if (by_rule < 0) continue;
    CHECK(by_rule >= found.stall - 1);
    behind += by_rule > found.stall + 1 ? 1 : 0;
  }
  INFO(cases << " chains, " << counts_tried << " counts tried, " << stalled << " stall, " << impossible
             << " do not fit, the rule is behind in " << behind);
  CHECK(cases > Cases(25, 80));
  CHECK(stalled > Cases(8, 30));
}

// One map of 100 bytes in two sections over a gap of one op of 100 ns; 30 bytes too much meanwhile, a byte a nanosecond.
TEST_CASE("a stall by hand") {
  SectionModel model;
  tvdnn::SectionGap gap;
  gap.tensor = 0;
  gap.after = 0;
  gap.before = 3;
  gap.sections = 2;
  gap.bytes = 50;
  model.gaps = {gap};
  model.live = {100, 100, 180, 100};
  model.time = {10, 20, 20, 10};
  model.out_rate = model.in_rate = 1;
  // 30 bytes out before op 2: 20 while op 1 runs, 10 ns of stall. The rest of the section leaves while op 2 runs, when
  // nothing may come in, and 50 ns of stall bring all of it back for op 3.
  const tvdnn::CountedProgram found = LeastStall(model, 150, 1000);
  REQUIRE(found.found);
  CHECK(found.stall == Approx(60).margin(0.01));
  CHECK(found.counts == Counts{1});
  CHECK(FarthestUse(model, 150) == Counts{1});
  CHECK(LeastStall(model, 180, 1000).stall == Approx(0).margin(1e-6));
  CHECK(LeastStall(model, 180, 1000).counts == Counts{0});
  CHECK_FALSE(LeastStall(model, 79, 1000).found);
}

TEST_CASE("tvdnn's plans swap sections, within memory that whole tensors do not fit into") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-vgg", {.batch = 256}), {});
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.parameters.Set("section", std::int64_t{2});
  problem.capacity = kGB;
  const Evaluation in_core = Evaluate(StrategyByName("in-core").plan(problem).plan, problem);
  REQUIRE(in_core.feasible);
  int cases = 0, sections = 0, ahead = 0;
  for (const Bytes percent : {60, 70, 80, 90, 100}) {
    problem.capacity = in_core.peak_bytes * percent / 100;
    Nanos by_rule = 0;
    for (const char* name : {"tvdnn-heuristic", "tvdnn-ilp"}) {
      const Planned planned = StrategyByName(name).plan(problem);
      INFO(name << " within " << percent << " %: " << planned.reason);
      if (!planned.feasible) continue;
      REQUIRE(CheckPlan(planned.plan, step).empty());
      const Evaluation e = Evaluate(planned.plan, problem);
      REQUIRE(e.feasible);
      CHECK(e.bounds.Best() <= e.step_time);
      CHECK(planned.plan == StrategyByName(name).plan(problem).plan);  // the same twice
      ++cases;
      for (const GapDecision& gap : planned.plan.gaps) sections += gap.samples.IsWhole() ? 0 : 1;
      if (percent == 100) CHECK(e.step_time == in_core.step_time);
      if (by_rule > 0) ahead += e.step_time <= by_rule ? 1 : 0;
      by_rule = e.step_time;
    }
  }
  CHECK(cases >= 6);
  CHECK(sections > 50);
  CHECK(ahead >= 2);
}

TEST_CASE("tvdnn says what stands in its way") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-vgg", {.batch = 256}), {});
  Problem problem{.step = &step, .costs = &costs, .capacity = 10 * kMB, .runtime = {}};
  for (const char* name : {"tvdnn-heuristic", "tvdnn-ilp"}) {
    CHECK_THAT(StrategyByName(name).plan(problem).reason, Catch::StartsWith("out_of_memory: needs "));
    Problem pooled = problem;
    pooled.use_runtime = true;
    pooled.runtime = RuntimeByName("pooch");
    CHECK_THAT(StrategyByName(name).plan(pooled).reason, Catch::StartsWith("out_of_memory: sections are for arenas"));
  }
}

TEST_CASE("tvdnn-ilp says so where its program has no solution, and what the other sections need") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("vgg16", {.batch = 4}));
  Problem problem{.step = &step, .costs = &costs, .capacity = 1800 * kMB, .runtime = {}};
  const Planned planned = StrategyByName("tvdnn-ilp").plan(problem);
  CHECK(!planned.feasible);
  CHECK(
      planned.reason ==
      "out_of_memory: the integer program has no solution within 1.80 GB; sections by farthest use: out_of_memory: the "
      "plan needs 1.81 GB at relu_conv1_1:backward");
}

// From what fits down to what cannot, in small steps.
TEST_CASE("whatever does not run says why") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  int refused = 0;
  for (const char* network : {"cifar-vgg", "cifar-resnet20", "cifar-alexnet"}) {
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = 8}), StepOptionsByName("torch"));
    const Bytes all = StepTables(step, costs).NetworkWide();
    for (const Strategy& strategy : Drawn(Strategies())) {
      if (strategy.name == std::string("best") && !Deep()) continue;
      for (int percent = 90; percent > 20; percent -= 7) {
        Problem problem{.step = &step, .costs = &costs, .capacity = all * percent / 100, .runtime = {}};
        problem.simulation_cap = 20;
        const Planned planned = strategy.plan(problem);
        INFO(network << " by " << strategy.name << " at " << percent << " %");
        if (!planned.feasible) CHECK(planned.reason.find(": ") != std::string::npos);
        const bool runs = planned.feasible && Evaluate(planned.plan, problem, {.bounds = false}).feasible;
        refused += runs ? 0 : 1;
      }
    }
  }
  CHECK(refused > 20);
}

}  // namespace spillway
