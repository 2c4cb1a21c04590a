// Plans that cut ops along batch, channels and rows, carried out: random shapes in random tiles, streamed or in place, leave
// behind what whole ops do, within 1e-5 of the largest value: sums are rounded in another order, and the library may run a
// tile by another implementation.
#include <catch2/catch.hpp>

#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "sim/plan/parts.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/random_convolution.h"
#include "tests/random_streams.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

constexpr TileCounts kUpTo{3, 3, 4};

// Convolutions of any shape with a fork whose gradients add up, ReLU, LRN, and pooling whose windows lie side by side.
Network RandomTiledNetwork(std::uint64_t seed) {
  Random random(seed);
  Shape shape{
      .n = random.Between(1, 5), .c = random.Between(1, 8), .h = random.Between(8, 14), .w = random.Between(8, 14)};
  NetworkBuilder b("random", shape);
  LayerId x = kNetworkInput;
  for (int k = 0; k < 2; ++k) {
    const LayerAttributes attributes = RandomConvolution(random, shape);
    const std::string name = std::to_string(k);
    const LayerId left = b.Relu("r" + name, b.Convolution("c" + name, x, attributes));
    x = random.Below(2) == 0 ? left : b.AddUp("s" + name, {left, b.Convolution("d" + name, x, attributes)});
    shape = ResultOf(attributes, shape);
    if (random.Below(3) == 0) x = b.Lrn("n" + name, x);
  }
  if (random.Below(3) == 0) x = b.UpConvolution("up", x, Square(2 * random.Between(1, 3), 2));
  if (shape.h >= 4 && shape.w >= 4) {
    x = random.Below(2) == 0 ? b.MaxPool("p", x, Square(0, 2, 2)) : b.AveragePool("p", x, Square(0, 2, 2));
  }
  return b.Loss(b.Linear("fc", x, 3));
}

// Every part by the library's choice, in what the first algorithm for the most demanding of its tiles wants.
void GrantWhatTilesWant(const CpuCase& c, CpuKernels& kernels, Plan& plan) {
  for (OpDecision& decision : plan.ops) {
    const Op& op = c.step.ops[Index(decision.op)];
    const auto launches = LaunchesOfParts(decision, op);
    for (std::size_t k = 0; k < launches.size(); ++k) {
      decision.parts[k].algorithm = 0;
      decision.parts[k].workspace = 0;
      for (const Launch& launch : launches[k]) {
        OpCall call = CallOf(op);
        call.launch = launch;
        if (!HasAlgorithms(op.kind)) continue;
        decision.parts[k].workspace = std::max(decision.parts[k].workspace, kernels.Algorithms(call).front().workspace);
      }
    }
  }
}

struct TileTally {
  int ops = 0, rows = 0, in_channels = 0, out_channels = 0, streamed = 0;
  void Count(const Plan& plan) {
    for (const OpDecision& decision : plan.ops) {
      ++ops;
      rows += decision.tiles.rows > 1 ? 1 : 0;
      in_channels += decision.tiles.in_channels > 1 ? 1 : 0;
      out_channels += decision.tiles.out_channels > 1 ? 1 : 0;
      streamed += decision.streamed.empty() ? 0 : 1;
    }
  }
};

// Ops in place and ops that stream, about as many.
Plan RandomTiledPlan(const CpuCase& c, CpuKernels& kernels, Random& random, TileTally& tally) {
  Plan plan;
  plan.network = c.step.network;
  plan.batch = c.step.batch;
  AddRandomParts(c.step, 90, random, plan);
  AddRandomTiles(c.step, kUpTo, random, plan);
  AddRandomTiledStreams(c.step, 30 + 30 * random.Below(3), kUpTo, random, plan);
  GrantWhatTilesWant(c, kernels, plan);
  tally.Count(plan);
  return plan;
}

}  // namespace

TEST_CASE("random ops in random tiles compute what whole ones do") {
  for (const std::uint64_t first : {1u, 131u, 261u}) {
    SECTION("from seed " + std::to_string(first)) {
      const unsigned networks = Cases(40u, 130u);
      CpuKernels kernels;
      TileTally tally;
      for (std::uint64_t seed = first; seed < first + networks; ++seed) {
        const CpuCase c(RandomTiledNetwork(seed));
        Random random(seed);
        const Plan plan = RandomTiledPlan(c, kernels, random, tally);
        INFO("seed " << seed << ": " << DumpStep(c.step) << PlanToYaml(plan, c.step));
        const Trained expected = Train(c, c.InCore().program, {.iterations = 1});
        CheckClose(expected, Train(c, ProvenProgram(c, plan), {.iterations = 1, .debug = seed % 4 == 0}), 1e-5);
      }
      INFO(tally.ops << " ops, " << tally.rows << " in rows, " << tally.in_channels << " and " << tally.out_channels
                     << " in channels, " << tally.streamed << " stream");
      CHECK(tally.ops > Cases(450, 1700));
      CHECK(tally.rows > Cases(70, 300));
      CHECK(tally.in_channels > Cases(20, 100));
      CHECK(tally.out_channels > Cases(50, 250));
      CHECK(tally.streamed > Cases(120, 500));
    }
  }
}

TEST_CASE("networks in tiles train as in core, swapped and recomputed beside") {
  Random random(13);
  CpuKernels kernels;
  TileTally tally;
  for (const SmallNetwork& network : kNetworks) {
    const CpuCase c(network.build(), StepOptionsByName(network.options));
    INFO(network.name);
    // Nineteen batch norms on so few samples carry rounding far (calibrate/validate/numerics.h): 0.8 % in a momentum.
    const double tolerance = std::string(network.name) == "resnet" ? 0.05 : 1e-4;
    const Trained expected = Train(c, c.InCore().program, {.iterations = 1});
    for (int k = 0; k < 4; ++k) {
      Plan plan = RandomPlan(c.step, {}, 20 * random.Below(3), random);
      AddRandomParts(c.step, 40, random, plan);
      AddRandomTiles(c.step, kUpTo, random, plan);
      AddRandomTiledStreams(c.step, 50, kUpTo, random, plan);
      GrantWhatTilesWant(c, kernels, plan);
      INFO(PlanToYaml(plan, c.step));
      CheckClose(expected, Train(c, ProvenProgram(c, plan), {.iterations = 1, .debug = true}), tolerance);
    }
  }
}

}  // namespace spillway
