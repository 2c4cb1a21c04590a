// No bound is above a plan that divides ops along the batch.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "model/network/network.h"
#include "sim/bounds/memory_bound.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/parts.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/sim/parts_place.h"
#include "tests/small_networks.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

Runtime RandomRuntime(Random& random) {
  Runtime runtime;
  runtime.copy_streams = random.Between(1, 2);
  const std::uint32_t memory = random.Below(3);
  if (memory == 0) runtime.memory = MemoryModel::kPool;
  if (memory == 1) runtime.memory = MemoryModel::kCounted;
  if (random.Below(3) == 0) runtime.copy_chunk = kLeastCopyChunk;
  if (random.Below(3) == 0) runtime.part_waits = PartWaits::kHost;
  if (random.Below(4) == 0) runtime.framework_time = random.Between(1, 2000);
  if (random.Below(4) == 0) runtime.barrier = Barrier::kOp;
  if (random.Below(4) == 0) runtime.workspaces = Workspaces::kHeld;
  return runtime;
}

// Algorithms by name and the library's, in what they want and in more; some of the ops whole.
void GrantWhatIsWanted(const TrainingStep& step, const CostModel& costs, Random& random, Plan& plan) {
  const auto grant = [&](Launch launch, std::int32_t& algorithm, Bytes& workspace) {
    algorithm = random.Between(0, 3);
    launch.algorithm = algorithm;
    launch.workspace = 512 * random.Below(250);
    workspace = costs.Kernel(launch).workspace + (algorithm == 0 ? 0 : 512 * random.Below(2));
  };
  for (OpDecision& decision : plan.ops) {
    const Launch launch = LaunchOf(step.ops[Index(decision.op)]);
    if (step.IsForward(decision.op) && random.Below(3) == 0) {
      decision.again = {{}};
      grant(launch, decision.again.front().algorithm, decision.again.front().workspace);
    }
    if (random.Below(8) == 0) {
      decision.parts.clear();
      grant(launch, decision.algorithm, decision.workspace);
    }
    if (decision.parts.empty()) {
      decision.tiles = {};
      continue;
    }
    const auto launches = LaunchesOfParts(decision, step.ops[Index(decision.op)]);
    for (std::size_t k = 0; k < launches.size(); ++k) {
      OpPart& part = decision.parts[k];
      part.workspace = 0;
      part.algorithm = random.Between(0, 3);
      for (Launch tile : launches[k]) {
        tile.algorithm = part.algorithm;
        tile.workspace = 512 * random.Below(250);
        const Bytes more = tile.algorithm == 0 ? 0 : 512 * random.Below(2);
        part.workspace = std::max(part.workspace, costs.Kernel(tile).workspace + more);
      }
    }
  }
}

}  // namespace

// By hand, 1 ns a byte each way. Under b1, 90 of m0's 100 bytes are too much. They go out from when f0 has made the first
// of them, and come back behind b1.
//
//   whole     f0 10, out 90, b1 10, in 90, b0 10      a copy out begins behind f0, b0 waits for the copy in
//   in parts         out 90, b1 10, in 90             f0's first part, and b0's last, take as little time as may be
TEST_CASE("a copy out may begin inside the op in parts that makes its bytes") {
  HandStep b;
  const TensorId m0 = b.Tensor("m0", TensorClass::kFeatureMap, 100), m1 = b.Tensor("m1", TensorClass::kFeatureMap, 90);
  const TensorId g1 = b.Tensor("g1", TensorClass::kGradient, 100);
  b.Op("f0", Pass::kForward, 10, {}, {m0});
  b.Op("f1", Pass::kForward, 10, {m0}, {m1});
  b.Op("b1", Pass::kBackwardData, 10, {m1}, {g1});
  b.Op("b0", Pass::kBackwardData, 10, {g1, m0}, {});
  TrainingStep step = b.Take();
  step.again_until.assign(step.tensors.size(), kNoOp);  // nothing is recomputed
  BoundProblem problem;
  problem.step = &step;
  problem.ways.assign(4, {{.time = 10, .workspace = 0, .beside_copies = 10}});
  problem.out = problem.in = {.nanos_per_byte = 1, .rounding = 0};
  problem.capacity = 200;
  CHECK(MemoryBound(problem) == 10 + 90 + 10 + 90 + 10);
  problem.in_parts = true;
  CHECK(MemoryBound(problem) == 90 + 10 + 90);
}

TEST_CASE("no plan in parts is faster than the bounds") {
  const std::vector<TileCounts> kTilesOfSeed = {{}, {}, {}, {}, {2, 1, 1}, {1, 2, 1}, {1, 1, 3}, {2, 1, 2}};
  Random random(7);
  int cases = 0, close = 0;
  for (std::uint64_t seed = 1; seed <= Cases(24u, 90u); ++seed) {
    const Network network = seed % 2 == 0 ? BoxedNetwork() : Modules();
    const PartsPlace p(network);
    const DiceCosts costs(p.machine, seed);
    const auto facts = std::make_shared<const StepFacts>(p.step, costs);
    const Bytes most = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
    for (const Bytes capacity : {most + most / 8, most * 2}) {
      const Oracle oracle(facts, capacity);
      for (int k = 0; k < 40; ++k) {
        Plan plan = RandomPlan(p.step, RandomRuntime(random), 10 * random.Below(9), random);
        AddRandomParts(p.step, 50 + 50 * random.Below(2), random, plan);
        AddRandomTiles(p.step, kTilesOfSeed[seed % 8], random, plan);
        GrantWhatIsWanted(p.step, costs, random, plan);
        const Evaluation e = oracle.Evaluate(plan, {.timeline = false});
        if (!e.feasible) continue;
        INFO("seed " << seed << " plan " << k << "\n" << PlanToYaml(plan, p.step));
        REQUIRE(e.widest.Best() <= e.bounds.Best());
        REQUIRE(e.bounds.Best() <= e.step_time);
        ++cases;
        close += e.bounds.Best() * 10 > e.step_time * 5 ? 1 : 0;
      }
    }
  }
  CHECK(cases > Cases(500, 2000));
  INFO(close << " within twice the bound");
  CHECK(close > cases / Cases(20, 10));
}

// Every convolution in the fastest parts there are, found by trying all sizes of each next part.
Plan BestParts(const PartsPlace& p, const CostModel& costs) {
  Plan plan = p.Whole();
  for (OpId op = 0; op < static_cast<OpId>(p.step.ops.size()); ++op) {
    const Op& o = p.step.ops[Index(op)];
    if (o.kind != OpKind::kConvolution) continue;
    std::vector<std::pair<Nanos, std::vector<OpPart>>> best(Index(static_cast<OpId>(o.shape.in.n) + 1));
    for (std::int64_t done = 0; done < o.shape.in.n; ++done) {
      const auto [time, parts] = best[static_cast<std::size_t>(done)];
      for (std::int64_t samples = 1; done + samples <= o.shape.in.n; ++samples) {
        auto& next = best[static_cast<std::size_t>(done + samples)];
        for (const MenuEntry& entry : costs.Menu(PartOf(LaunchOf(o), samples, done == 0))) {
          if (!next.second.empty() && time + entry.cost.time >= next.first) continue;
          next = {time + entry.cost.time, parts};
          next.second.push_back({samples, entry.algorithm, entry.workspace});
        }
      }
    }
    plan.ops.push_back({.op = op, .parts = best.back().second});
  }
  return plan;
}

TEST_CASE("the fastest parts beat every whole op, and not the bound") {
  int faster = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const PartsPlace p(BoxedNetwork());
    const DiceCosts costs(p.machine, seed);
    const Oracle oracle(std::make_shared<const StepFacts>(p.step, costs), kGB);
    const Evaluation e = oracle.Evaluate(BestParts(p, costs), {.timeline = false});
    REQUIRE(e.feasible);
    CHECK(e.bounds.Best() <= e.step_time);
    CHECK(e.bounds.compute * 10 > e.compute_time * 7);
    faster += e.step_time < oracle.BoundsIn(WidestScope()).Best() ? 1 : 0;
  }
  INFO(faster << " of 20 faster than any plan of whole ops");
  CHECK(faster > 10);
}

TEST_CASE("with parts that add up to the best rate the bound is met") {
  const PartsPlace p(BoxedNetwork());
  const DiceCosts costs(p.machine, 3);
  const OpId op = p.Op("plain:forward");
  const Launch launch = LaunchOf(p.step.ops[Index(op)]);
  const std::vector<PartRate> rates = PartRatesOf(launch, costs);
  REQUIRE(!rates.empty());
  double best = 1e300;
  for (std::int64_t samples = 1; samples <= 4; ++samples) {
    for (const MenuEntry& entry : costs.Menu(PartOf(launch, samples, true))) {
      best = std::min(best, static_cast<double>(entry.cost.time) / static_cast<double>(samples));
    }
  }
  CHECK(rates.front().nanos_per_sample == best);
  for (std::size_t k = 1; k < rates.size(); ++k) {
    CHECK(rates[k].nanos_per_sample > rates[k - 1].nanos_per_sample);
    CHECK(rates[k].workspace < rates[k - 1].workspace);
  }
  CHECK_FALSE(PartRatesOf(LaunchOf(p.step.ops[Index(p.Op("relu:forward"))]), costs).empty());
  CHECK(PartRatesOf(LaunchOf(p.step.ops.back()), costs).empty());
  const std::uint32_t relu = p.tables.launch[Index(p.Op("relu:forward"))];
  CHECK(PartRatesOf(p.tables, costs, PartScope::kBatch)[relu].empty());
  CHECK_FALSE(PartRatesOf(p.tables, costs, PartScope::kStreamed)[relu].empty());
}

}  // namespace spillway
