// Plans that divide convolutions, carried out: random shapes in random parts compute what whole ops compute.
//
// Forward and backward data are the same bits where the library runs the part by the same implementation; of filter
// gradients the parts' sums are rounded in another order.
#include <catch2/catch.hpp>

#include "hw/text/lists.h"
#include "model/cost/op_tiles.h"
#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/network_builder.h"
#include "sim/strategies/strategies.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/random_convolution.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

// Three convolutions of any shape behind each other: eight calls that may be divided.
Network RandomNetwork(std::uint64_t seed) {
  Random random(seed);
  Shape shape{
      .n = random.Between(2, 7), .c = random.Between(1, 8), .h = random.Between(6, 13), .w = random.Between(6, 13)};
  NetworkBuilder b("random", shape);
  LayerId x = kNetworkInput;
  for (int k = 0; k < 3; ++k) {
    const LayerAttributes attributes = RandomConvolution(random, shape);
    x = b.Convolution("c" + std::to_string(k), x, attributes);
    if (random.Below(2) == 0) x = b.Relu("r" + std::to_string(k), x);
    shape = ResultOf(attributes, shape);
  }
  return b.Loss(b.Linear("fc", x, 3));
}

// What a library has for whole ops and parts, and what the plans of one network are compared by.
class Divider {
 public:
  explicit Divider(const CpuCase& c) : c_(c) {}

  // Parts for all convolutions of these passes, with what each part's first algorithm wants granted.
  Plan Divide(const std::vector<Pass>& passes, Random& random) {
    Plan plan;
    plan.network = c_.step.network;
    plan.batch = c_.step.batch;
    for (OpId op = 0; op < static_cast<OpId>(c_.step.ops.size()); ++op) {
      const Op& o = c_.step.ops[Index(op)];
      if (o.kind == OpKind::kConvolution && Contains(passes, o.pass)) plan.ops.push_back(DivideOp(op, random));
    }
    return plan;
  }
  int divided = 0;
  bool alike = true;  // every part of a forward or data pass by the implementation of the whole

 private:
  OpDecision DivideOp(OpId op, Random& random) {
    const Op& o = c_.step.ops[Index(op)];
    OpDecision decision{.op = op};
    for (std::int64_t left = o.shape.in.n; left > 0;) {
      const std::int64_t most = decision.parts.empty() ? left - 1 : left;  // never the whole in one
      const std::int64_t samples = random.Between(1, static_cast<std::int32_t>(most));
      OpCall call = CallOf(o);
      call.launch = PartOf(call.launch, samples, decision.parts.empty());
      const CpuAlgorithm chosen = Choose(kernels_.Algorithms(call), OfWhole(o), random);
      decision.parts.push_back({samples, chosen.algorithm, chosen.workspace});
      if (o.pass != Pass::kBackwardFilter) alike = alike && chosen.implementation == OfWhole(o);
      left -= samples;
    }
    if (o.pass == Pass::kForward) decision.again = {Again(op)};
    ++divided;
    return decision;
  }
  // Whole, by any algorithm.
  OpAgain Again(OpId op) {
    const std::vector<CpuAlgorithm> all = kernels_.Algorithms(CallOf(c_.step.ops[Index(op)]));
    const CpuAlgorithm& one = all[Index(op) % all.size()];
    return {.algorithm = one.algorithm, .workspace = one.workspace};
  }
  // Mostly what runs the whole, where it has that for the part too.
  static CpuAlgorithm Choose(const std::vector<CpuAlgorithm>& all, const std::string& of_whole, Random& random) {
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const CpuAlgorithm& one) { return one.implementation == of_whole; });
    if (same != all.end() && random.Below(20) > 0) return *same;
    return all[random.Below(static_cast<std::uint32_t>(all.size()))];
  }
  // As `MachineFor` has it: the algorithm that wants least.
  std::string OfWhole(const Op& op) {
    OpCall call = CallOf(op);
    call.launch.workspace = c_.costs.Kernel(call.launch).workspace;
    return kernels_.Prepare(call).implementation();
  }
  const CpuCase& c_;
  CpuKernels kernels_;
};

struct Tally {
  int ops = 0, networks = 0, alike = 0, exact = 0;
};

void CheckNetworks(std::uint64_t first, std::uint64_t last, Tally& tally) {
  for (std::uint64_t seed = first; seed < last; ++seed) {
    const CpuCase c(RandomNetwork(seed));
    INFO("seed " << seed << ": " << DumpStep(c.step));
    Random random(seed);
    Divider divider(c);
    const Plan exact = divider.Divide({Pass::kForward, Pass::kBackwardData}, random);
    Plan sums = divider.Divide({Pass::kBackwardFilter}, random);
    const Trained expected = Train(c, c.InCore().program, {.iterations = 1});
    const Trained forward = Train(c, ProvenProgram(c, exact), {.iterations = 1});
    CheckClose(expected, forward, 1e-5);
    CheckClose(expected, Train(c, ProvenProgram(c, sums), {.iterations = 1}), 1e-5);
    ++tally.networks;
    tally.ops += divider.divided;
    tally.alike += divider.alike ? 1 : 0;
    tally.exact += divider.alike && Difference(expected, forward).empty() ? 1 : 0;
  }
}

}  // namespace

// In all 5120 convolutions in parts, a quarter of them in the quick tier.
TEST_CASE("random convolutions in random parts of the batch compute what whole ones do") {
  for (const std::uint64_t first : {1u, 161u, 321u, 481u}) {
    SECTION("from seed " + std::to_string(first)) {
      Tally tally;
      const unsigned networks = Cases(40u, 160u);
      CheckNetworks(first, first + networks, tally);
      CHECK(tally.ops == static_cast<int>(networks) * 8);
      INFO(tally.alike << " of " << tally.networks << " networks by the same implementations, " << tally.exact
                       << " of these bit for bit");
      CHECK(tally.alike > tally.networks / 4);
      // All on some processors; on one with AVX2 alone the library may sum in another order where there are fewer samples.
      CHECK(tally.exact > tally.alike / 2);
    }
  }
}

TEST_CASE("networks in parts train as whole ones do, swapped and recomputed whole beside") {
  Random random(9);
  for (const SmallNetwork& network : kNetworks) {
    const CpuCase c(network.build(), StepOptionsByName(network.options));
    INFO(network.name);
    const Trained expected = Train(c, c.InCore().program, {.iterations = 1});
    for (const char* strategy : {"in-core", "swap-all", "recompute-all", "pooch"}) {
      INFO(strategy);
      const Planned planned = StrategyByName(strategy).plan(c.ProblemWithin(100 * kGB));
      REQUIRE(planned.feasible);
      Divider divider(c);
      Plan plan = planned.plan;
      plan.ops = divider.Divide({Pass::kForward, Pass::kBackwardData, Pass::kBackwardFilter}, random).ops;
      CHECK(divider.divided >= 3);
      CheckClose(expected, Train(c, ProvenProgram(c, plan), {.iterations = 1, .debug = true}), 1e-4);
    }
  }
}

}  // namespace spillway
