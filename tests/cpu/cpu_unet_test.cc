// U-Nets out of core: random plans, the strategies in too little memory, and batches in parts train as in core.
#include <catch2/catch.hpp>

#include "model/step/accumulate.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/random_programs.h"
#include "tests/random_unet.h"
#include "tests/training_networks.h"

namespace spillway {
namespace {

void CheckSame(const CpuCase& c, const Trained& reference, const Program& program) {
  const Trained trained = Train(c, program, {.iterations = 2, .debug = true});
  REQUIRE(Says(trained) == "");
  CHECK(Difference(trained, reference) == "");
}

}  // namespace

TEST_CASE("random plans of U-Nets train as in core, on all runtimes that execute") {
  Random random(11);
  for (const auto build : {TinyUNet, TinyUNet3d}) {
    for (const char* options : {"plain", "torch"}) {
      const CpuCase c(build(), StepOptionsByName(options));
      INFO(c.network.name << ' ' << options);
      const Trained reference = Train(c, c.InCore().program, {.iterations = 2});
      REQUIRE(Says(reference) == "");
      bool up = false, cut = false, resized = false;
      for (unsigned k = 0; k < Cases(1u, 6u); ++k) {
        ForEachRandomProgram(c.step, c.costs, random, [&](const Program& program) {
          CheckSame(c, reference, program);
          for (const Kernel& kernel : program.kernels) {
            const OpKind kind = c.step.ops[static_cast<std::size_t>(kernel.op)].kind;
            up = up || (kernel.recomputation && kind == OpKind::kTransposedConvolution);
            cut = cut || (kernel.recomputation && kind == OpKind::kSlice);
            resized = resized || (kernel.recomputation && kind == OpKind::kResize);
          }
        });
      }
      CHECK((up || cut || resized));
    }
  }
}

// A share of the cases each, so that they can run side by side.
TEST_CASE("random U-Nets under random plans train as in core") {
  for (const std::uint64_t first : {1u, 101u}) {
    SECTION("from seed " + std::to_string(first)) {
      for (std::uint64_t seed = first; seed < first + Cases(6u, 100u); ++seed) {
        Random random(seed);
        const CpuCase c(RandomUNet(seed), StepOptionsByName(seed % 2 == 0 ? "torch" : "plain"));
        INFO("seed " << seed << ": " << DumpStep(c.step));
        const Trained reference = Train(c, c.InCore().program, {.iterations = 2});
        REQUIRE(Says(reference) == "");
        const Plan plan = RandomPlan(c.step, {.copy_streams = random.Between(1, 2)}, 30 + 10 * random.Below(5), random);
        CheckSame(c, reference, ProvenProgram(c, plan));
      }
    }
  }
}

TEST_CASE("every strategy trains a U-Net as in core", "[long]") {
  const CpuCase c(TinyUNet(), StepOptionsByName("torch"));
  const Evaluation in_core = c.InCore();
  const Trained reference = Train(c, in_core.program, {.iterations = 2});
  ForEachTightProgram(c, in_core.peak_bytes, [&](const Program& program) { CheckSame(c, reference, program); });
}

// The loss is the weighted sum of all, and that of parts the mean over them.
TEST_CASE("the step's loss is the weighted sum of its losses, in parts of the batch too") {
  const auto loss_of = [](const CpuCase& c) {
    const Trained trained = Train(c, c.InCore().program, {.iterations = 1});
    REQUIRE(Says(trained) == "");
    return trained.losses.at(0);
  };
  const auto with_weights = [&](double first, double second) {
    Network network = TinyUNet();
    for (Layer& layer : network.layers) {
      if (layer.name == "loss") layer.attributes.weight = first;
      if (layer.name == "low_loss") layer.attributes.weight = second;
    }
    return loss_of(CpuCase(network));
  };
  const double first = with_weights(1, 0), second = with_weights(0, 1), both = with_weights(1, 0.5);
  CHECK(first > 0.1);
  CHECK(second > 0.1);
  CHECK(both == Approx(first + 0.5 * second));
  Network half = TinyUNet();
  half.input.n = 1;
  InferShapes(half);
  const CpuCase parts(half, Accumulated(BuildTrainingStep(half), 2).step);
  CHECK(loss_of(parts) == Approx(both).epsilon(1e-5));
}

}  // namespace spillway
