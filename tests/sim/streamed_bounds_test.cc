// The bound of an instant where operands may be streamed: by hand, and against plans that run in as little memory as they
// can, behind links so slow that it binds.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "model/step/launch.h"
#include "model/step/work_hash.h"
#include "model/unroll/unroll.h"
#include "model/util/hash.h"
#include "sim/certify/find_certificate.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/parts.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"
#include "tests/sim/turn_plans.h"
#include "tests/small_networks.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

// m1 and m2 are 10 bytes each of the turn, where 12 bytes are free: f1 -> m1 -> f2 -> m2; b2 reads m2, b1 reads m1.
TrainingStep TwoMaps() {
  HandStep b;
  const TensorId m1 = b.Tensor("m1", TensorClass::kFeatureMap, 10), m2 = b.Tensor("m2", TensorClass::kFeatureMap, 10);
  const TensorId g = b.Tensor("g", TensorClass::kGradient, 1);
  b.Op("f1", Pass::kForward, 4, {}, {m1});
  b.Op("f2", Pass::kForward, 6, {m1}, {m2});
  b.Op("b2", Pass::kBackward, 4, {m2}, {g});
  b.Op("b1", Pass::kBackward, 4, {m1, g}, {});
  return b.Take();
}

Scope Streamed() { return {.copy_chunk = 0, .parts = PartScope::kStreamed}; }

// Both ways at so many nanoseconds a byte, behind a latency: none of them is whole for most.
void SlowDown(Machine& machine, Random& random) {
  const Nanos slower = random.Below(3) == 0 ? 1 : random.Between(2, 100);
  for (TransferCurve& curve : machine.links[0].curves) {
    const Nanos latency = random.Below(2) == 0 ? 0 : random.Between(1, 300);
    const Nanos million = slower * random.Between(5, 200) * 100'003;
    curve.points = {{0, latency}, {1'000'000, latency + million}};
  }
}

// Copies slow down kernels, some more and some less.
class SlowedCosts : public CostModel {
 public:
  SlowedCosts(const Machine& machine, double most) : CostModel(machine), most_(most) {}
  Cost Kernel(const Launch& launch, int device = 0) const override {
    return Slowed(launch, CostModel::Kernel(launch, device));
  }
  std::vector<MenuEntry> Menu(const Launch& launch, int device = 0) const override {
    std::vector<MenuEntry> menu = CostModel::Menu(launch, device);
    for (MenuEntry& entry : menu) entry.cost = Slowed(launch, entry.cost);
    return menu;
  }

 private:
  Cost Slowed(const Launch& launch, Cost cost) const {
    cost.copy_slowdown = 1 + (most_ - 1) * static_cast<double>(HashOfWork(launch) % 5) / 4;
    return cost;
  }
  double most_;
};

// Many maps, few of which an op works on at a time: all that is live at the turn is many times as much.
Network Deep() {
  NetworkBuilder b("deep", {.n = 8, .c = 4, .h = 8, .w = 8});
  LayerId x = kNetworkInput;
  for (int k = 0; k < 16; ++k) x = b.ConvolutionRelu("conv" + std::to_string(k), x, Square(4, 1));
  return b.Loss(b.Linear("fc", b.AveragePool("pool", x, Square(0, 8, 8)), 2));
}
// With batch norm, which has no parts: between its ops are more instants. Strides leave out rows and reach beyond them.
Network DeepWithNorm() {
  NetworkBuilder b("deep-norm", {.n = 8, .c = 4, .h = 16, .w = 16});
  LayerId x = kNetworkInput;
  for (int k = 0; k < 6; ++k) {
    const std::string name = "block" + std::to_string(k);
    const LayerId one = b.ConvolutionNormRelu(name + "a", x, Square(4, 3, 1, 1));
    x = b.Relu(name + "_relu", b.AddUp(name + "_sum", {b.Convolution(name + "b", one, Square(4, 1)), x}));
  }
  const LayerId strided = b.Convolution("strided", b.Convolution("padded", x, Square(4, 3, 1, 2)), Square(4, 1, 2));
  return b.Loss(b.Linear("fc", b.MaxPool("pool", strided, Square(0, 3, 3)), 2));
}
const std::vector<SmallNetwork> kDeep = {{"deep", Deep, "plain"},
                                         {"deep", Deep, "torch"},
                                         {"norm", DeepWithNorm, "plain"},
                                         {"norm", DeepWithNorm, "chainer"}};

struct Place {
  Place(const Network& network, const char* options, std::uint64_t seed)
      : step(BuildTrainingStep(network, StepOptionsByName(options))),
        machine(LoadMachine("unit")),
        costs(machine, seed % 2 == 0 ? 2.5 : 1),
        random(seed) {
    SlowDown(machine, random);
  }
  TrainingStep step;
  Machine machine;
  SlowedCosts costs;
  Random random;
};

struct Tally {
  int plans = 0, streamed = 0, instant = 0, certified = 0;
  std::string Text() const {
    return std::to_string(plans) + " plans, " + std::to_string(streamed) + " stream, with an instant above the work " +
           std::to_string(instant) + ", certified by one " + std::to_string(certified);
  }
};

// The plan in no more than it takes, a little more for some, is not below what is said of so much.
void Judge(const Place& p, const std::shared_ptr<const StepFacts>& facts, const Plan& plan, bool certify,
           Tally& tally) {
  const Bytes peak = LowerItems(plan, facts->tables(), 1).list_peak;
  const Bytes room = plan.runtime.memory == MemoryModel::kPool || tally.plans % 2 == 0 ? peak / 64 : peak / 8;
  const Evaluation e = Oracle(facts, peak + room).Evaluate(plan, {.bounds = false, .timeline = false});
  if (!e.feasible) return;
  const Oracle oracle(facts, e.peak_bytes);
  const Scope scope = ScopeOf(plan);
  const Bounds bounds = oracle.BoundsIn(scope);
  INFO(p.step.network << ", " << scope.Text() << "\n" << PlanToYaml(plan, p.step));
  REQUIRE(bounds.Best() <= e.step_time);
  ++tally.plans;
  if (scope.parts != PartScope::kStreamed) return;
  ++tally.streamed;
  tally.instant += bounds.instant > std::max(bounds.compute, bounds.transfer) ? 1 : 0;
  if (!certify) return;
  const auto found = FindCertificate(*facts, e.peak_bytes, scope);
  REQUIRE(found);
  REQUIRE(found->bound <= e.step_time);
  REQUIRE(ProvenBound(p.step, facts->costs(), *found) >= found->bound);
  tally.certified += found->op != kNoOp ? 1 : 0;
}

Runtime RandomRuntime(Random& random) {
  Runtime runtime{.copy_streams = random.Between(1, 2)};
  const std::uint32_t memory = random.Below(3);
  if (memory == 0) runtime.memory = MemoryModel::kPool;
  if (memory == 1) runtime.memory = MemoryModel::kCounted;
  if (random.Below(4) == 0) runtime.copy_chunk = kLeastCopyChunk;
  return runtime;
}

}  // namespace

TEST_CASE("what is live at the turn is kept, copied or computed again, whatever is streamed") {
  const TrainingStep step = TwoMaps();
  const Machine machine = HandMachine(2);
  const CostModel costs(machine);
  // Of 20 bytes 12 stay. Of 8 bytes of m1 x are copied, 2 ns each, for the others a share of f1 runs again: S >= 10, and behind
  // it 8 + 4 (8 - x) / 10, or 2 x. Both are 28 / 3.
  const Bounds bounds = LowerBounds(step, costs, 12, Streamed());
  CHECK(bounds.compute == 18);
  CHECK(bounds.memory == 18);
  CHECK(bounds.instant == 20);
  CHECK(std::string(bounds.Binding()) == kInstantBinds);
  CHECK(LowerBounds(step, costs, 20, Streamed()).instant == 0);
  const StepFacts facts(step, costs);
  const auto found = FindCertificate(facts, 12, Streamed());
  REQUIRE(found);
  CHECK(found->op == 2);
  CHECK(found->bound == 20);
  // A group may go across any other op.
  BoundCertificate other = *found;
  for (const OpId op : {1, 3}) {
    other.op = op;
    CHECK(ProvenBound(step, costs, other) == 0);
  }
}

TEST_CASE("no plan that streams is faster than what an instant says of the memory it takes") {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= Cases(40u, 160u); ++seed) {
    const std::vector<SmallNetwork>& networks = seed % 2 == 0 ? kNetworks : kDeep;
    const SmallNetwork& network = networks[seed / 2 % networks.size()];
    Place p(network.build(), network.options, seed);
    const auto facts = std::make_shared<const StepFacts>(p.step, p.costs);
    const StepTables& tables = facts->tables();
    const Bytes largest = tables.WorkingSet(tables.LargestWorkingSet());
    for (int k = 0; k < 16; ++k) {
      Plan plan = RandomPlan(p.step, RandomRuntime(p.random), k % 4 < 3 ? 0 : 10, p.random);
      for (GapDecision& gap : plan.gaps) gap.keep_result = true, gap.leaves_after = kNoOp;
      LeaveAtTheTurn(p.step, k % 4 < 2 ? 100 : 90, 20 * p.random.Below(6), p.random, plan);
      const Bytes more = largest / 100 * p.random.Between(20, 95);
      const auto may = [&](const Op& op) {
        return tables.WorkingSet(static_cast<OpId>(&op - p.step.ops.data())) > more;
      };
      const std::uint32_t percent = 50 + 10 * p.random.Below(6);
      if (k % 2 == 0) {
        AddRandomGroups(p.step, percent, p.random, plan, may);
      } else {
        AddRandomStreams(p.step, percent, p.random, plan, may, seed % 3 == 0 ? TileCounts{2, 2, 3} : TileCounts{});
      }
      if (!CheckPlan(plan, p.step).empty()) continue;
      Judge(p, facts, plan, k == 0, tally);
    }
  }
  INFO(tally.Text());
  CHECK(tally.streamed > Cases(500, 2000));
  CHECK(tally.instant > tally.streamed / 10);
  CHECK(tally.certified > Cases(5, 20));
}

TEST_CASE("nor is what best finds") {
  Tally tally;
  for (std::uint64_t seed = 1; seed <= Cases(5u, 8u); ++seed) {
    const SmallNetwork& network = kDeep[seed % kDeep.size()];
    Place p(network.build(), network.options, seed);
    const auto facts = std::make_shared<const StepFacts>(p.step, p.costs);
    const Bytes largest = facts->tables().WorkingSet(facts->tables().LargestWorkingSet());
    Problem problem;
    problem.step = &p.step;
    problem.costs = &p.costs;
    problem.capacity = largest / 100 * p.random.Between(60, 120);
    problem.simulation_cap = 1000;
    problem.use_runtime = true;
    problem.runtime = RuntimeByName("arena");
    for (const char* name : {"best", "pooch-parts"}) {
      const Planned planned = StrategyByName(name).plan(problem);
      if (planned.feasible) Judge(p, facts, planned.plan, true, tally);
    }
  }
  INFO(tally.Text());
  CHECK(tally.streamed > Cases(0, 3));
  CHECK(tally.instant >= Cases(0, 3));
}

}  // namespace spillway
