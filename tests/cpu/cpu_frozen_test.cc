// Frozen layers on the CPU device: they stay as they are, and the others train as if they were put back by hand.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "model/util/random.h"
#include "tests/cpu_step_runner.h"
#include "tests/cpu_training.h"
#include "tests/small_networks_today.h"

namespace spillway {
namespace {

// About half of the layers with parameters; the last of them is trained.
Network HalfFrozen(Network network, std::uint64_t seed) {
  Random random(DrawnSeed() * 64 + seed);
  Layer* last = nullptr;
  for (Layer& layer : network.layers) {
    if (LayerParameters(network, layer).empty()) continue;
    layer.attributes.frozen = random.Chance(0.5);
    last = &layer;
  }
  REQUIRE(last != nullptr);
  last->attributes.frozen = false;
  return network;
}

bool IsFrozen(const Network& network, const Tensor& tensor) {
  if (tensor.use != TensorClass::kParameter && tensor.use != TensorClass::kOptimizerState) return false;
  const std::string owner = tensor.name.substr(0, tensor.name.find(':'));
  const auto named = [&](const Layer& layer) { return layer.name == owner; };
  return std::find_if(network.layers.begin(), network.layers.end(), named)->attributes.frozen;
}

using Contents = std::map<std::string, Values>;

Contents ParametersOf(StepRunner& run) {
  Contents contents;
  for (std::size_t t = 0; t < run.step().tensors.size(); ++t) {
    const std::span<float> data = run.Data(static_cast<TensorId>(t));
    if (run.step().tensors[t].use != TensorClass::kParameter) continue;
    contents[run.step().tensors[t].name] = {data.begin(), data.end()};
  }
  return contents;
}

Contents Trained3(const Network& network, const StepOptions& options) {
  StepRunner run(network, options);
  for (int k = 0; k < 3; ++k) run.Forward(), run.Backward(), run.Update();
  CHECK(run.BuffersIntact());
  return ParametersOf(run);
}

// Of the same network with no layer frozen: after each update what is frozen is as it was.
Contents PutBackByHand(const Network& network, const StepOptions& options) {
  Network all = network;
  for (Layer& layer : all.layers) layer.attributes.frozen = false;
  StepRunner run(all, options);
  std::map<TensorId, Values> start;
  for (std::size_t t = 0; t < run.step().tensors.size(); ++t) {
    if (!IsFrozen(network, run.step().tensors[t])) continue;
    const std::span<float> data = run.Data(static_cast<TensorId>(t));
    start[static_cast<TensorId>(t)] = {data.begin(), data.end()};
  }
  REQUIRE_FALSE(start.empty());
  for (int k = 0; k < 3; ++k) {
    run.Forward(), run.Backward(), run.Update();
    for (const auto& [t, values] : start) std::copy(values.begin(), values.end(), run.Data(t).begin());
  }
  return ParametersOf(run);
}

}  // namespace

TEST_CASE("frozen layers stay, and the others train as with updates put back by hand") {
  std::uint64_t seed = 0;
  for (const SmallNetwork& small : Drawn(kNetworksToday)) {
    const Network network = HalfFrozen(small.build(), ++seed);
    const StepOptions& options = StepOptionsByName(small.options);
    INFO(small.name << " " << small.options);
    StepRunner fresh(network, options);
    const Contents start = ParametersOf(fresh), frozen = Trained3(network, options),
                   by_hand = PutBackByHand(network, options);
    REQUIRE(frozen.size() == by_hand.size());
    int changed = 0;
    for (const auto& [name, values] : frozen) {
      INFO(name);
      CHECK(values == by_hand.at(name));
      changed += values != start.at(name) ? 1 : 0;
      const Tensor& tensor = fresh.step().tensors[Index(fresh.Find(name))];
      if (IsFrozen(network, tensor)) CHECK(values == start.at(name));
    }
    CHECK(changed > 0);
  }
}

TEST_CASE("networks with frozen layers train out of core as in core") {
  std::uint64_t seed = 100;
  int tight = 0;
  for (const SmallNetwork& small : Drawn(kNetworksToday, 5)) {
    const CpuCase c(HalfFrozen(small.build(), ++seed), StepOptionsByName(small.options));
    const Evaluation in_core = c.InCore();
    const Trained expected = Train(c, in_core.program, {.iterations = 2});
    REQUIRE(Says(expected) == "");
    for (const char* strategy : {"swap-all", "recompute-all", "chen-sqrt"}) {
      INFO(small.name << " " << small.options << " " << strategy);
      const Evaluation evaluation = Tight(c, strategy, in_core.peak_bytes);
      if (!evaluation.feasible) continue;
      const Trained trained = Train(c, evaluation.program, {.iterations = 2});
      REQUIRE(Says(trained) == "");
      CHECK(Difference(expected, trained) == "");
      ++tight;
    }
  }
  CHECK(tight > 0);
}

}  // namespace spillway
