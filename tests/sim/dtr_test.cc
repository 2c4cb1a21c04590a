#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/dtr/dtr_play.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/small_dags.h"

namespace spillway {
namespace {

using dtr::Event;
using dtr::Graph;
using dtr::Happening;
using dtr::Play;
using dtr::Trace;
using dtr::Value;

// f1 ... fn, then b_n ... b_1; b_i reads what f_i read and f_i gave. Every op takes `time`, every value a byte.
Graph Chain(int n, Nanos time = 1) {
  Graph graph;
  for (int v = 0; v <= n; ++v) {
    Value value{.bytes = 1, .time = time, .may_leave = v > 0, .complete = v - 1};
    if (v > 0) value.sources = {v - 1};
    graph.values.push_back(value);
  }
  for (int v = 1; v <= n; ++v) graph.events.push_back({.time = time, .needs = {v - 1}, .writes = {v}});
  for (int v = n; v >= 1; --v) graph.events.push_back({.time = time, .needs = {v - 1, v}, .dies = {v}});
  graph.there = {0};
  return graph;
}

// Of random ops that read some of the values before them, forward and then back.
Graph RandomGraph(Random& random) {
  const int n = 4 + static_cast<int>(random.Below(12));
  Graph graph;
  for (int v = 0; v < n; ++v) {
    Value value{.bytes = static_cast<Bytes>(1 + random.Below(5)),
                .time = static_cast<Nanos>(1 + random.Below(20)),
                .workspace = static_cast<Bytes>(random.Below(3)),
                .may_leave = true,
                .complete = v};
    for (int source = 0; source < v; ++source) {
      if (random.Below(3) == 0) value.sources.push_back(source);
    }
    graph.events.push_back({.time = value.time, .workspace = value.workspace, .needs = value.sources, .writes = {v}});
    graph.values.push_back(value);
  }
  for (int v = n - 1; v >= 0; --v) {
    Event event{.time = 3, .needs = graph.values[static_cast<std::size_t>(v)].sources};
    event.needs.push_back(v);
    graph.events.push_back(event);
    graph.events.back().dies = {v};
  }
  return graph;
}

// Carries a trace out by its own words. "" or what is wrong with it.
std::string WrongWith(const Graph& graph, const Trace& trace, Bytes budget) {
  std::vector<bool> there(graph.values.size(), false), dead(graph.values.size(), false);
  for (const std::int32_t v : graph.there) there[Index(v)] = true;
  Bytes live = static_cast<Bytes>(graph.there.size());
  Nanos time = 0;
  std::size_t next = 0;
  for (std::size_t e = 0; e < graph.events.size(); ++e) {
    for (; next < trace.happened.size() && trace.happened[next].event == static_cast<std::int32_t>(e); ++next) {
      const Happening& it = trace.happened[next];
      const Value& value = graph.values[Index(it.value)];
      if (it.again == there[Index(it.value)]) return "is there already, or gone already";
      if (it.again) {
        for (const std::int32_t source : value.sources) {
          if (!there[Index(source)]) return "a source is missing";
        }
        time += value.time;
        if (live + value.bytes + value.workspace > budget) return "too much while it runs again";
      }
      there[Index(it.value)] = it.again;
      live += it.again ? value.bytes : -value.bytes;
    }
    const Event& event = graph.events[e];
    for (const std::int32_t v : event.needs) {
      if (!there[Index(v)]) return "an operand is missing";
    }
    for (const std::int32_t v : event.writes) {
      live += there[Index(v)] ? 0 : graph.values[Index(v)].bytes;
      there[Index(v)] = true;
    }
    if (live + event.workspace > budget) return "too much";
    time += event.time;
    for (const std::int32_t v : event.dies) {
      if (!there[Index(v)]) continue;
      there[Index(v)] = false;
      live -= graph.values[Index(v)].bytes;
    }
  }
  return time == trace.time ? "" : "another time";
}

}  // namespace

TEST_CASE("where everything fits nothing leaves") {
  const Trace trace = Play(Chain(10), 12);
  CHECK(trace.failed == -1);
  CHECK(trace.happened.empty());
  CHECK(trace.time == 20);
  CHECK(trace.peak == 11);
}

//   three bytes: the input and two values. f3 has no room, and of m1 and m2 the former is not locked: it leaves, and so on.
//   b3 wants m2 and m3: m1 and m2 run again
TEST_CASE("a chain of three in three bytes") {
  const Trace trace = Play(Chain(3), 3);
  CHECK(trace.failed == -1);
  std::vector<std::pair<int, bool>> happened;
  for (const Happening& it : trace.happened) happened.emplace_back(it.value, it.again);
  CHECK(happened == std::vector<std::pair<int, bool>>{{1, false}, {1, true}});
  CHECK(trace.time == 7);
  CHECK(Play(Chain(3), 2).failed == 1);
}

// Kirisame et al., theorem 1: with memory of the order of the root of n a chain costs no more than a constant times its ops.
TEST_CASE("a chain in the root of its length costs a constant factor") {
  for (const int n : {64, 256, 1024}) {
    const Trace trace = Play(Chain(n), static_cast<Bytes>(2 * std::ceil(std::sqrt(n))) + 2);
    INFO(n << ": " << trace.time);
    REQUIRE(trace.failed == -1);
    CHECK(trace.time < 2 * n * 3);
    CHECK(trace.time > 2 * n);
  }
}

TEST_CASE("a trace can be carried out, in every memory") {
  Random random(11);
  int fits = 0, again = 0;
  for (int round = 0; round < 400; ++round) {
    const Graph graph = RandomGraph(random);
    for (Bytes budget = 4; budget < 60; budget += 3) {
      const Trace trace = Play(graph, budget);
      if (trace.failed >= 0) continue;
      ++fits;
      again += trace.happened.empty() ? 0 : 1;
      CHECK(trace.peak <= budget);
      CHECK(WrongWith(graph, trace, budget) == "");
    }
  }
  CHECK(fits > 2000);
  CHECK(again > 500);
}

TEST_CASE("giving up says whether nothing was left to leave or too much ran again") {
  const Trace full = Play(Chain(3), 2);
  CHECK(full.failed == 1);
  CHECK_FALSE(full.too_often);
  // The input, b_i's own value and two to go up the chain with: each of 400 wants all before it again.
  const Trace often = Play(Chain(400), 4);
  CHECK(often.failed >= 0);
  CHECK(often.too_often);
}

// What DTR itself counted for the plan's kernels, to the three digits that the plan says.
double CountedTime(const Plan& plan) {
  const std::size_t end = plan.search.find(" of kernels by its own count");
  const std::size_t begin = plan.search.rfind(", ", end) + 2;
  REQUIRE(end != std::string::npos);
  const auto time = ParseDuration(plan.search.substr(begin, end - begin));
  REQUIRE(time.has_value());
  return static_cast<double>(*time);
}

// At 4.5 GB DTR itself comes to the end of GoogLeNet's step, and what is written down of it takes more.
TEST_CASE("where DTR fits and its plan does not that is said") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("googlenet", {.batch = 384}));
  Problem problem{.step = &step, .costs = &costs, .capacity = 4500 * kMB, .runtime = {}};
  const Planned tight = StrategyByName("dtr").plan(problem);
  INFO(tight.reason);
  if (tight.feasible) {
    CHECK(Lower(tight.plan, StepTables(step, costs), 1).list_peak <= problem.capacity);
  } else {
    CHECK_THAT(tight.reason, Catch::Contains("DTR itself fits; as a plan "));
  }
  problem.capacity = 1000 * kMB;
  const Planned none = StrategyByName("dtr").plan(problem);
  CHECK_FALSE(none.feasible);
  CHECK_THAT(none.reason, Catch::StartsWith("out_of_memory: nothing is left to leave at "));
}

TEST_CASE("as a plan it takes the time of its own count") {
  int compared = 0;
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  for (const char* network : {"resnet50", "vgg16", "googlenet", "densenet121"}) {
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = 32}));
    Problem problem{.step = &step, .costs = &costs, .capacity = 0, .runtime = {}};
    const StepTables tables(step, costs);
    const Bytes all = Lower(StrategyByName("in-core").plan(problem).plan, tables, 0).list_peak;
    Nanos before = 0;
    for (const int percent : {90, 80, 70, 60, 50, 40, 30}) {
      problem.capacity = all * percent / 100;
      const Planned planned = StrategyByName("dtr").plan(problem);
      INFO(network << " in " << percent << " %: " << planned.reason << planned.plan.search);
      if (!planned.feasible) continue;
      CHECK(CheckPlan(planned.plan, step).empty());
      CHECK(Lower(planned.plan, tables, 1).list_peak <= problem.capacity);
      problem.capacity += problem.capacity / 10;  // addresses
      const Evaluation e = Evaluate(planned.plan, problem);
      if (!e.feasible) continue;
      CHECK(e.recompute_time > before / 2);  // with less memory more, if not always
      before = e.recompute_time;
      CHECK(e.step_time >= e.bounds.Best());
      const double beside_its_count = static_cast<double>(e.compute_time) / CountedTime(planned.plan);
      INFO(beside_its_count);
      CHECK(beside_its_count > 0.99);  // what is counted is said to three digits
      CHECK(beside_its_count < 1.01);
      ++compared;
    }
    CHECK(before > 0);
  }
  CHECK(compared >= 18);
}

}  // namespace spillway
