// Random networks over all kinds of layers: they train out of core as in core, by any optimizer; and every kind of layer has
// the gradient that finite differences of the loss give.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tests/cpu_step_runner.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/random_streams.h"
#include "tests/random_today.h"

namespace spillway {
namespace {

const StepOptions& TrainingOptionsOf(Random& random) {
  static const std::vector<const StepOptions*> all = [] {
    std::vector<const StepOptions*> training;
    for (const StepOptions& options : StepOptionTable()) {
      if (!options.inference) training.push_back(&options);
    }
    return training;
  }();
  return *all[random.Below(static_cast<std::uint32_t>(all.size()))];
}

Plan DrawnPlan(const TrainingStep& step, Random& random) {
  Plan plan = RandomPlan(step, {.copy_streams = random.Between(1, 2)}, 25 * random.Below(4), random);
  if (random.Below(3) == 0) AddRandomNextStepGaps(step, random, plan);
  random.Below(2) == 0 ? AddRandomEntries(step, random, plan) : AddRandomStreams(step, 50, random, plan, ExactInParts);
  return plan;
}

// Of all parameters; returns those whose gradients the loss's rounding does not hide.
std::set<std::string> CheckSlopes(const Network& network) {
  StepRunner run(network, {});
  run.Forward();
  run.Backward();
  std::vector<std::pair<std::string, Values>> gradients;
  for (std::size_t k = 0; k < run.step().tensors.size(); ++k) {
    const Tensor& tensor = run.step().tensors[k];
    const std::span<float> data = run.Data(static_cast<TensorId>(k));
    if (tensor.use == TensorClass::kParameterGradient) gradients.push_back({tensor.name, {data.begin(), data.end()}});
  }
  std::set<std::string> checked;
  for (auto& [name, gradient] : gradients) {
    const std::string parameter = name.substr(0, name.size() - std::string(":gradient").size());
    double square = 0;
    for (const float value : gradient) square += static_cast<double>(value) * value;
    const double length = std::sqrt(square);
    INFO(parameter << ", gradient " << length);
    if (!(length < 3e-3)) {
      for (float& value : gradient) value = static_cast<float>(value / length);
      CHECK(Slope(run, parameter, gradient, 1e-3f) == Approx(length).epsilon(0.03).margin(1e-3));
      checked.insert(parameter);
    }
  }
  return checked;
}

}  // namespace

// A share of the cases each, so that they can run side by side.
TEST_CASE("random networks over all kinds of layers train under random plans as in core") {
  for (std::uint64_t share = 0; share < 4; ++share) {
    SECTION("share " + std::to_string(share)) {
      std::size_t moved = 0, repeated = 0;
      for (std::uint64_t k = 0; k < Cases(3u, 50u); ++k) {
        const std::uint64_t seed = 1000 * DrawnSeed() + 4 * k + share;
        Random random(seed);
        const Network network = RandomToday(seed).Build();
        const StepOptions& options = TrainingOptionsOf(random);
        const CpuCase c(network, options);
        INFO("seed " << seed << " " << options.name << ": " << DumpStep(c.step));
        const Trained expected = Train(c, c.InCore().program, {.iterations = 2});
        REQUIRE(Says(expected) == "");
        for (int plans = 0; plans < 4; ++plans) {
          const Program program = ProvenProgram(c, DrawnPlan(c.step, random));
          const Trained trained = Train(c, program, {.iterations = 2, .debug = random.Below(2) == 0});
          REQUIRE(Says(trained) == "");
          CHECK(Difference(expected, trained) == "");
          moved += program.copies.size();
          for (const Kernel& kernel : program.kernels) repeated += kernel.recomputation ? 1 : 0;
        }
      }
      INFO(moved << " copies, " << repeated << " ops repeated");
      CHECK(moved > Cases(60u, 2000u));
      CHECK(repeated > Cases(20u, 1000u));
    }
  }
}

TEST_CASE("random networks come to all kinds of layers, optimizers and ways to end a step") {
  std::set<std::string> kinds, optimizers;
  std::set<OpKind> ops;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Network network = RandomToday(1000 * DrawnSeed() + seed).Build();
    for (const Layer& layer : network.layers) kinds.insert(layer.kind->name);
    optimizers.insert(network.optimizer == nullptr ? "" : network.optimizer->name);
    for (const Op& op : BuildTrainingStep(network).ops) ops.insert(op.kind);
  }
  CHECK(kinds.size() == LayerKinds().size());
  CHECK(optimizers.size() == OptimizerTable().size() + 1);
  for (std::size_t k = 0; k < kOpTraits.size(); ++k) {
    const auto kind = static_cast<OpKind>(k);
    if (kind == OpKind::kCast || kind == OpKind::kRecorded || kind == OpKind::kCopy) continue;  // of no layer in fp32
    INFO(kOpTraits[k].name);
    CHECK(ops.contains(kind));
  }
}

// A kind without a block fails: each has its case.
TEST_CASE("every kind of layer has gradients that are slopes of the loss") {
  for (const LayerKind* kind : LayerKinds()) {
    INFO(kind->name);
    REQUIRE(RandomToday::Blocks().contains(kind->name));
    int through = 0;
    for (std::uint64_t seed = 1; seed <= Cases(2u, 8u); ++seed) {
      INFO("seed " << seed);
      const Network network = RandomToday(seed).BuildAround(kind->name);
      const std::set<std::string> checked = CheckSlopes(network);
      const std::string front = network.tokens ? network.layers[0].name : "before";
      through += checked.contains(front + ":weight") ? 1 : 0;
      const bool has_kind = std::any_of(network.layers.begin(), network.layers.end(),
                                        [kind](const Layer& layer) { return layer.kind == kind; });
      CHECK(has_kind);
    }
    CHECK(through > 0);
  }
}

}  // namespace spillway
