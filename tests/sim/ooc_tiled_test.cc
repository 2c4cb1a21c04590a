// ooc-tiled: its search over the divisions of one op against all of them, and its plans against those of ooc-cudnn.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "model/cost/op_tiles.h"
#include "model/network/network.h"
#include "sim/plan/parts.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/ooc_cudnn/tile_search.h"
#include "sim/strategies/strategies.h"
#include "tests/sim/parts_place.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

using ooc_cudnn::Divided;
using ooc_cudnn::Steps;
using ooc_cudnn::TileSearch;

// Where a copy takes some time to begin: else a tile is a row.
Machine UnitWithLatency(Nanos latency = 1000) {
  Machine machine = LoadMachine("unit");
  for (TransferCurve& curve : machine.links[0].curves) curve.points = {{1, latency}, {1'000'000, latency + 1'000'000}};
  return machine;
}

Network OneConvolution(Random& random) {
  const std::int64_t side = random.Between(3, 8);
  const std::int32_t window = random.Below(2) == 0 ? 1 : 3;
  NetworkBuilder b("one", {.n = random.Between(1, 6), .c = random.Between(1, 6), .h = side, .w = side});
  LayerAttributes attributes = Square(random.Between(1, 6), window, 1, window / 2);
  if (random.Below(4) == 0 && window == 3) attributes.stride = {1, 2, 2};
  const LayerId first = b.Convolution("before", kNetworkInput, Square(random.Between(1, 6), 1));
  return b.Loss(b.Linear("fc", b.Convolution("conv", first, attributes), 2));
}

// What the op streams of a step: all that it may.
OpDecision Streaming(const PartsPlace& p, OpId op) {
  OpDecision decision{.op = op};
  for (const StepTables::Touch& touch : p.tables.Touches(op)) {
    if (MayStream(p.step.tensors[Index(touch.tensor)])) decision.streamed.push_back(touch.tensor);
  }
  return decision;
}

// Calls f with every division into up to kMostTilesPlanned tiles.
template <typename F>
void ForEachDivision(const Launch& whole, F f) {
  const TileCounts most = MostRanges(whole);
  for (std::int64_t n = 1; n <= whole.shape.in.n; ++n) {
    for (std::int64_t r = 1; r <= most.rows; ++r) {
      for (std::int64_t c = 1; c <= most.in_channels; ++c) {
        for (std::int64_t k = 1; k <= most.out_channels; ++k) {
          const Steps steps{n, {.in_channels = c, .out_channels = k, .rows = r}};
          if (steps.All() <= ooc_cudnn::kMostTilesPlanned) f(steps);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("ooc-tiled: the counts of ranges that make an axis' largest one smaller") {
  CHECK(ooc_cudnn::UsefulCounts(1, 512) == std::vector<std::int64_t>{1});
  CHECK(ooc_cudnn::UsefulCounts(10, 512) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 10});  // of 10, 5, 4, 3, 2, 1
  CHECK(ooc_cudnn::UsefulCounts(10, 4) == std::vector<std::int64_t>{1, 2, 3, 4});
}

TEST_CASE("ooc-tiled: the division of an op is the fastest of all") {
  const Machine machine = UnitWithLatency();
  const CostModel costs(machine);
  Random random(17);
  int cases = 0, found = 0, divided = 0;
  for (int k = 0; k < 60; ++k) {
    const PartsPlace p(OneConvolution(random));
    const Problem problem{.step = &p.step, .costs = &costs, .capacity = kGB, .runtime = {}};
    for (const char* pass : {"forward", "backward_data", "backward_filter"}) {
      const OpDecision decision = Streaming(p, p.Op(std::string("conv:") + pass));
      const TileSearch search(problem, p.tables, decision);
      const Bytes room = 512 * random.Between(2, 40);
      double least = TileSearch::kTooLong;
      ForEachDivision(search.whole(), [&](const Steps& steps) { least = std::min(least, search.TimeOf(steps, room)); });
      const std::optional<Steps> best = search.Fastest(room, ooc_cudnn::kMostTilesPlanned);
      INFO(pass << " in " << room << " bytes");
      ++cases;
      REQUIRE(best.has_value() == (least < TileSearch::kTooLong));
      if (!best) continue;
      ++found;
      divided += best->All() > 1 ? 1 : 0;
      CHECK(search.TimeOf(*best, room) == Approx(least).epsilon(1e-12));
    }
  }
  UNSCOPED_INFO(found << " of " << cases << " fit, " << divided << " in several tiles");
  CHECK(found > cases / 2);
  CHECK(divided > found / 4);
}

// What the search takes for the fastest, among all divisions as our engine carries them out.
TEST_CASE("ooc-tiled: the division that is found is about as fast as any when simulated") {
  const Machine machine = UnitWithLatency();
  const CostModel costs(machine);
  Random random(5);
  double worst = 1;
  int cases = 0;
  for (int k = 0; k < 6; ++k) {
    const PartsPlace p(OneConvolution(random));
    const Problem problem{.step = &p.step, .costs = &costs, .capacity = kGB, .runtime = {}};
    const Oracle oracle = OracleOf(problem);
    for (const char* pass : {"forward", "backward_data", "backward_filter"}) {
      const OpDecision decision = Streaming(p, p.Op(std::string("conv:") + pass));
      const TileSearch search(problem, p.tables, decision);
      const auto simulated = [&](const Steps& steps) {
        Plan plan = p.Whole();
        plan.ops.push_back(Divided(problem, decision, steps));
        SwapWhereStreamed(p.step, p.tables.uses, "streamed", plan);
        plan.runtime.barrier = Barrier::kCall;
        const Evaluation e = oracle.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
        REQUIRE(e.feasible);
        return e.step_time;
      };
      const std::optional<Steps> best = search.Find(kGB);
      REQUIRE(best.has_value());
      Nanos least = simulated(*best);
      const Nanos ours = least;
      ForEachDivision(search.whole(), [&](const Steps& steps) {
        if (steps.All() <= 24) least = std::min(least, simulated(steps));
      });
      worst = std::max(worst, static_cast<double>(ours) / static_cast<double>(least));
      ++cases;
    }
  }
  UNSCOPED_INFO("of " << cases << " the worst " << worst << " times as slow as the fastest");
  CHECK(worst < 1.05);
}

TEST_CASE("ooc-tiled: never behind ooc-cudnn and its fused functions, and proved", "[plain]") {
  struct Case {
    const char* machine;
    const SmallNetwork& network;
    int percent;  // of all tensors
  };
  const Machine unit = UnitWithLatency(50'000), shipped = LoadMachine("p100-x86-pcie3");
  int cases = 0, faster = 0;
  for (const Case& c : {Case{"unit", kNetworks[1], 70}, Case{"unit", kNetworks[2], 50}, Case{"unit", kNetworks[3], 60},
                        Case{"p100", kNetworks[1], 50}, Case{"p100", kNetworks[3], 60}}) {
    const CostModel costs(c.machine == std::string("unit") ? unit : shipped);
    const PartsPlace p(c.network.build(), c.network.options);
    Bytes all = 0;
    for (const Bytes bytes : p.tables.bytes) all += bytes;
    INFO(c.network.name << " on " << c.machine << " in " << c.percent << " %");
    const Problem problem{.step = &p.step, .costs = &costs, .capacity = all * c.percent / 100, .runtime = {}};
    const Planned planned = StrategyByName("ooc-tiled").plan(problem);
    REQUIRE(planned.feasible);
    REQUIRE(CheckPlan(planned.plan, p.step).empty());
    const Evaluation e = Evaluate(planned.plan, problem);  // proved by verify
    if (e.feasible) CHECK(e.bounds.Best() <= e.step_time);
    for (const char* name : {"ooc-cudnn", "ooc-cudnn-fused"}) {
      const Plan plan = PlanWithHeadroom(StrategyByName(name), problem).plan;
      const Evaluation other = Evaluate(plan, problem, {.verify = false, .bounds = false, .timeline = false});
      if (!other.feasible) continue;
      ++cases;
      REQUIRE(e.feasible);
      CHECK(e.step_time <= other.step_time);
      faster += e.step_time < other.step_time ? 1 : 0;
    }
  }
  UNSCOPED_INFO(faster << " of " << cases << " faster");
  CHECK(cases > 6);
  CHECK(faster > cases / 2);
}

TEST_CASE("ooc-tiled: the same every time, on the runtime that it is told") {
  const Machine machine = UnitWithLatency(50'000);
  const CostModel costs(machine);
  const PartsPlace p(Vgg());
  Bytes all = 0;
  for (const Bytes bytes : p.tables.bytes) all += bytes;
  Problem problem{.step = &p.step, .costs = &costs, .capacity = all / 2, .runtime = {}};
  problem.use_runtime = true;
  problem.runtime.copy_streams = 1;
  const Planned once = StrategyByName("ooc-tiled").plan(problem), again = StrategyByName("ooc-tiled").plan(problem);
  CHECK(once.plan == again.plan);
  CHECK(once.plan.runtime == problem.runtime);
}

}  // namespace spillway
