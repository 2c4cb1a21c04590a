// How far bounds and strategies are from the best of all plans: steps of up to five ops whose forward and backward ops
// have two ways to run, everything that a Plan can say about them, tried.
//
// Left out, because it cannot be better (the rules by which the enumeration is complete):
//   - a gap without an op in it: what is moved out during it is missed by nobody
//   - a grant above what the algorithm needs, and an algorithm by name that the library chooses with the same grant
//   - chunks, barriers, host waits, blocking copies and host times of a runtime: they only add; pools, since no plan fits a
//     pool with addresses that an arena could not lay out, and one that counts bytes is no memory
// What remains: for each gap, to keep; to swap with each moment to start the copy out and each to issue the copy back; to
// recompute, the result and what is passed on the way kept or not. For each op, each way. One and two copy streams.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string_view>

#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/menu_costs.h"
#include "tests/sim/small_dags.h"

namespace spillway {
namespace {

constexpr Nanos kNothingFits = INT64_MAX;

// The fast way of every second op needs more than the usual grant of one unit.
CostOptions UnitGrant() {
  CostOptions options;
  options.workspace_limit = kAllocationUnit;
  return options;
}

struct Instance {
  explicit Instance(const Dag& d) : dag(d), step(DagStep(d).Take()) {
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      Op& o = step.ops[op];
      if (o.pass == Pass::kUpdate) continue;
      const Nanos slow = o.shape.in.c;
      const Bytes units = op % 2 == 0 ? 1 : 3;
      costs.SetMenu(o, {{2, units * kAllocationUnit, slow * 6 / 10}, {1, 0, slow}});
    }
    facts = std::make_shared<const StepFacts>(step, costs);
    const StepTables& tables = facts->tables();
    least = tables.WorkingSet(tables.LargestWorkingSet());
    all = Lower(Empty(), tables, 0).list_peak;
  }
  Instance(const Instance&) = delete;
  Plan Empty() const {
    Plan plan;
    plan.strategy = "by enumeration";
    plan.network = step.network;
    plan.batch = step.batch;
    return plan;
  }
  Dag dag;
  Machine machine = HandMachine();
  MenuCosts costs{machine, UnitGrant()};
  TrainingStep step;
  std::shared_ptr<const StepFacts> facts;
  Bytes least = 0, all = 0;  // the largest op; everything in-core
};

// What may be done about the gap between two consecutive uses; the first choice, nothing, is left out.
std::vector<GapDecision> WaysOfGap(const TrainingStep& step, const Uses& uses, TensorId tensor, OpId after,
                                   OpId before) {
  std::vector<GapDecision> ways;
  const auto add = [&](GapDecision gap) {
    Plan plan;
    plan.network = step.network;
    plan.batch = step.batch;
    plan.gaps.push_back(std::move(gap));
    if (FindMistakes(plan, step).empty()) ways.push_back(plan.gaps.front());
  };
  const GapDecision gap{.tensor = tensor, .after = after, .before = before, .reason = ""};
  const OpId first_out = uses.of[Index(tensor)].front();
  for (OpId in_at = after + 1; in_at <= before; ++in_at) {
    for (OpId out = first_out; out <= after; ++out) {
      GapDecision swap = gap;
      swap.out_after = out;
      swap.in_at = in_at;
      add(swap);
    }
  }
  for (const bool keep_result : {true, false}) {
    for (const bool keep_passed : {true, false}) {
      GapDecision recompute = gap;
      recompute.action = GapAction::kRecompute;
      recompute.keep_result = keep_result;
      recompute.keep_passed = keep_passed;
      add(recompute);
    }
  }
  return ways;
}

std::vector<std::vector<GapDecision>> WaysOfGaps(const TrainingStep& step, const Uses& uses) {
  std::vector<std::vector<GapDecision>> all;
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    for (std::size_t k = 0; k + 1 < uses.of[t].size(); ++k) {
      const OpId after = uses.of[t][k], before = uses.of[t][k + 1];
      if (after + 1 == before) continue;
      all.push_back(WaysOfGap(step, uses, static_cast<TensorId>(t), after, before));
      if (all.back().empty()) all.pop_back();
    }
  }
  return all;
}

// Calls visit for every way to choose an index below each of `counts`.
template <typename Visit>
void ForEachChoice(const std::vector<std::size_t>& counts, Visit visit) {
  std::vector<std::size_t> chosen(counts.size(), 0);
  for (;;) {
    visit(chosen);
    std::size_t i = 0;
    while (i < counts.size() && chosen[i] + 1 == counts[i]) chosen[i++] = 0;
    if (i == counts.size()) return;
    ++chosen[i];
  }
}

struct Optimum {
  Nanos usual = kNothingFits, any = kNothingFits;  // by what is chosen about ops
  int plans = 0;
};

// The way of each op that is not the usual one; that one is granted in no other way.
std::vector<OpDecision> OtherWays(const Instance& n) {
  std::vector<OpDecision> other;
  for (std::size_t op = 0; op < n.step.ops.size(); ++op) {
    const Launch launch = LaunchOf(n.step.ops[op]);
    const std::int32_t usual = n.costs.Kernel(launch).algorithm;
    for (const MenuEntry& entry : n.costs.Menu(launch)) {
      if (entry.algorithm == 0 || entry.algorithm == usual) continue;
      other.push_back({static_cast<OpId>(op), entry.algorithm, entry.workspace});
    }
  }
  return other;
}

Optimum BestOfAll(const Instance& n, const Oracle& oracle, int copy_streams) {
  const std::vector<std::vector<GapDecision>> gaps = WaysOfGaps(n.step, n.facts->tables().uses);
  const std::vector<OpDecision> ops = OtherWays(n);
  std::vector<std::size_t> counts;
  for (const auto& ways : gaps) counts.push_back(ways.size() + 1);
  counts.resize(gaps.size() + ops.size(), 2);
  Optimum best;
  ForEachChoice(counts, [&](const std::vector<std::size_t>& chosen) {
    Plan plan = n.Empty();
    plan.runtime.copy_streams = copy_streams;
    for (std::size_t g = 0; g < gaps.size(); ++g) {
      if (chosen[g] > 0) plan.gaps.push_back(gaps[g][chosen[g] - 1]);
    }
    for (std::size_t o = 0; o < ops.size(); ++o) {
      if (chosen[gaps.size() + o] > 0) plan.ops.push_back(ops[o]);
    }
    if (!FindMistakes(plan, n.step).empty()) return;
    ++best.plans;
    const Evaluation e = oracle.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
    if (!e.feasible) return;
    best.any = std::min(best.any, e.step_time);
    if (plan.ops.empty()) best.usual = std::min(best.usual, e.step_time);
  });
  return best;
}

// Shares by which something is above (strategies) or below (bounds) the optimum.
using Distances = std::map<std::string, std::vector<double>>;

void Measure(const Instance& n, Bytes capacity, int copy_streams, int& plans, Distances& distances) {
  const Oracle oracle(n.facts, capacity);
  const Optimum best = BestOfAll(n, oracle, copy_streams);
  plans = std::max(plans, best.plans);
  INFO(n.dag.Text() << ", capacity " << capacity << ", copy streams " << copy_streams);
  const Nanos usual = oracle.BoundsIn({.copy_streams = copy_streams}).Best();
  Scope any = WidestScope();
  any.copy_streams = copy_streams;
  const Nanos widest = oracle.BoundsIn(any).Best();
  if (best.any != kNothingFits) {
    REQUIRE(widest <= best.any);
    distances["the bound, any algorithm"].push_back(1 - static_cast<double>(widest) / static_cast<double>(best.any));
  }
  if (best.usual == kNothingFits) return;
  REQUIRE(usual <= best.usual);
  const auto below = [&](Nanos bound) { return 1 - static_cast<double>(bound) / static_cast<double>(best.usual); };
  distances["the bound, the usual algorithms"].push_back(below(usual));
  Bounds others = oracle.BoundsIn({.copy_streams = copy_streams});
  others.instant = 0;
  distances["the same without the instant's"].push_back(below(others.Best()));
  Problem problem;
  problem.step = &n.step;
  problem.costs = &n.costs;
  problem.capacity = capacity;
  problem.use_runtime = true;
  problem.runtime.copy_streams = copy_streams;
  for (const Strategy& strategy : Strategies()) {
    INFO(strategy.name);
    // Cuts ops by their shapes, which in steps made by hand say how long they take, not what their tensors are.
    if (std::string_view(strategy.name).starts_with("ooc-")) continue;
    const Planned planned = strategy.plan(problem);
    const Evaluation e = planned.feasible ? oracle.Evaluate(planned.plan) : Evaluation{};
    if (!e.feasible) continue;
    // Away between two ops in a row saves no memory, so that it is not enumerated; but the copy on the host may serve a
    // recomputation later on.
    // Nor are schedules of recomputations.
    const bool enumerated =
        planned.plan.recompute.empty() &&
        std::none_of(planned.plan.gaps.begin(), planned.plan.gaps.end(), [&](const GapDecision& gap) {
          const bool within_pass = gap.after >= 0 && n.step.IsForward(gap.after) == n.step.IsForward(gap.before);
          return within_pass || gap.after + 1 == gap.before;
        });
    if (!enumerated) {
      REQUIRE(e.step_time >= widest);
      continue;
    }
    if (strategy.scope.algorithms != AlgorithmScope::kUsual) {
      REQUIRE(e.step_time >= best.any);
      continue;
    }
    REQUIRE(e.step_time >= best.usual);
    distances[strategy.name].push_back(static_cast<double>(e.step_time) / static_cast<double>(best.usual) - 1);
  }
}

struct Figures {
  int instances = 0, most_plans = 0;
  Distances distances;
};

// Of every `each`-th network.
Figures MeasureAll(int forward_ops, int copy_streams, std::size_t each = 1) {
  Figures figures;
  const std::vector<Dag> dags = AllDags(forward_ops);
  for (std::size_t d = 0; d < dags.size(); d += each) {
    const Instance n(dags[d]);
    for (const Bytes capacity : {n.least, (n.least + n.all) / 2, n.all, n.all + 3 * kAllocationUnit}) {
      Measure(n, capacity, copy_streams, figures.most_plans, figures.distances);
      ++figures.instances;
    }
  }
  return figures;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::string Text(const Figures& figures) {
  std::string text = fmt::format("{} instances, up to {} plans each\n", figures.instances, figures.most_plans);
  for (const auto& [what, shares] : figures.distances) {
    text += fmt::format("{}: {} steps, median {:.1f} %, worst {:.1f} %\n", what, shares.size(), 100 * Median(shares),
                        100 * *std::max_element(shares.begin(), shares.end()));
  }
  return text;
}

}  // namespace

TEST_CASE("steps of three ops: no plan is below the bounds, no strategy below the best plan") {
  for (const int streams : {1, 2}) {
    const Figures figures = MeasureAll(1, streams);
    CHECK(figures.instances == 4 * 4);
    CHECK(figures.distances.at("pooch").size() > 10);
  }
}

TEST_CASE("steps of five ops: no plan is below the bounds, no strategy below the best plan", "[plain]") {
  const Figures figures = MeasureAll(2, 2);
  CHECK(figures.instances == 12 * 4);
  CHECK(figures.most_plans > 100);
  CHECK(figures.most_plans <= 1'000'000);
  CHECK(figures.distances.at("the bound, the usual algorithms").size() > 40);
  CHECK(figures.distances.at("pooch").size() > 20);
  UNSCOPED_INFO(Text(figures));  // figures of sim/bounds/README.md: shown by -s
  CHECK(Median(figures.distances.at("the bound, the usual algorithms")) < 0.1);
}

TEST_CASE("steps of seven ops, for the table of sim/bounds/README.md", "[.][figures]") {
  const Figures figures = MeasureAll(3, 2, 5);
  UNSCOPED_INFO(Text(figures));
  CHECK(figures.most_plans <= 1'000'000);
}

}  // namespace spillway
