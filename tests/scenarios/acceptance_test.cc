// A part of the sweeps in scenarios/acceptance: the smallest networks on one machine, all strategies. What is feasible was
// proved by verify on the way (it throws), and no bound is above it; what is not has its reason.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "scenarios/run/run.h"
#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

Scenario Sweep(const std::string& name) {
  return LoadScenario(std::string(SPILLWAY_SOURCE_DIR) + "/scenarios/acceptance/" + name + ".yaml");
}

struct Counted {
  int rows = 0, feasible = 0, swapped = 0, recomputed = 0;
  std::set<std::string> reasons;  // the words that they begin with
};

Counted Judged(const PreparedRun& run) {
  Counted counted;
  RunPoints(run, 2, [&](const Point&, PointResult& result) {
    const ResultRow& row = result.row;
    INFO(row.point << ": " << row.reason);
    ++counted.rows;
    CHECK(row.feasible == row.reason.empty());
    if (!row.feasible) counted.reasons.insert(row.reason.substr(0, row.reason.find(':')));
    if (!row.feasible) return;
    ++counted.feasible;
    counted.swapped += row.memory.bytes_out > 0 ? 1 : 0;
    counted.recomputed += row.times.recompute > 0 ? 1 : 0;
    CHECK(row.bounds.lower <= row.times.step);
    CHECK(row.bounds.widest <= row.times.step);
    if (!row.plan.memory_model.starts_with("managed")) CHECK(row.memory.peak <= row.memory_limit);
  });
  return counted;
}

}  // namespace

// The networks of 2012 to 2019: those that the strategies were published with.
constexpr std::size_t kSweptNetworks = 21;

TEST_CASE("both pairs of sweeps name every strategy once, and together every network of the zoo") {
  for (const std::string later : {"", "-today"}) {
    std::multiset<std::string> named;
    const std::string heuristics = later.empty() ? "heuristics" : "today";
    for (const std::string& name : {heuristics, "solvers" + later}) {
      for (const StrategyChoice& choice : Sweep(name).strategies) named.insert(choice.name);
    }
    for (const Strategy& strategy : Strategies()) {
      INFO(strategy.name);
      CHECK(named.count(strategy.name) == 1);
    }
  }
  std::multiset<std::string> swept;
  for (const char* name : {"heuristics", "today"}) {
    for (const NetworkChoice& network : Sweep(name).networks) swept.insert(network.zoo);
  }
  for (const std::string& name : ZooNames()) {
    INFO(name);
    CHECK(swept.count(name) == 1);
  }
  PreparedRun run;
  Prepare(Sweep("heuristics"), {}, run);
  std::set<std::string> networks, machines;
  for (const Point& point : run.points) {
    networks.insert(point.row.network);
    machines.insert(point.row.machine);
  }
  CHECK(networks.size() == kSweptNetworks);
  CHECK(machines.size() == 3);
  CHECK(run.points.size() == kSweptNetworks * 3 * 3 * 26);  // three sizes of memory
}

TEST_CASE("each heuristic's plan of small networks is proved, or there is a reason", "[threads]") {
  PreparedRun run;
  Scenario scenario = Sweep("heuristics");
  ApplyOverrides({.machines = {"v100-x86-pcie3"}}, scenario);
  Prepare(scenario, {}, run);
  std::erase_if(run.points, [](const Point& point) {
    return point.row.network != "alexnet" && point.row.network != "resnet18" && point.row.network != "cifar-vgg";
  });
  const Counted counted = Judged(run);
  CHECK(counted.rows == 3 * 3 * 26);
  CHECK(counted.feasible > counted.rows / 2);
  CHECK(counted.feasible < counted.rows);
  CHECK(counted.swapped > 50);
  CHECK(counted.recomputed > 20);
  CHECK_FALSE(counted.reasons.contains(""));
}

Counted JudgedToday(const std::string& sweep, const std::set<std::string>& networks) {
  PreparedRun run;
  Scenario scenario = Sweep(sweep);
  ApplyOverrides({.machines = {"a100-pcie4"}}, scenario);
  Prepare(scenario, {}, run);
  std::erase_if(run.points,
                [&](const Point& point) { return !networks.empty() && !networks.contains(point.row.network); });
  return Judged(run);
}

TEST_CASE("each heuristic's plan of small networks of today is proved, or there is a reason", "[threads]") {
  const Counted counted = JudgedToday("today", {"unet-2d", "mobilenet-v3-small", "gpt2"});
  CHECK(counted.rows == 3 * 2 * 26);
  CHECK(counted.feasible > counted.rows / 2);
  CHECK(counted.feasible < counted.rows);
  CHECK(counted.swapped > 40);
  CHECK(counted.recomputed > 20);
  CHECK_FALSE(counted.reasons.contains(""));
}

TEST_CASE("each strategy's plan of every network of today is proved, or there is a reason", "[deep][threads]") {
  Counted counted = JudgedToday("today", {});
  CHECK(counted.rows == 48 * 2 * 26);
  CHECK(counted.feasible > counted.rows / 2);
  CHECK_FALSE(counted.reasons.contains(""));
  counted = JudgedToday("solvers-today", {});
  CHECK(counted.rows == 3 * 2 * 13);
  CHECK(counted.feasible > counted.rows / 2);
  CHECK_FALSE(counted.reasons.contains(""));
}

}  // namespace spillway
