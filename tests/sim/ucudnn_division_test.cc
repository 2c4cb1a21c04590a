// The 0/1 program of workspace division against every choice there is, and on a network against a linear program.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/step/training_step.h"
#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/bounds/linear_program.h"
#include "sim/strategies/ucudnn/configurations.h"
#include "sim/strategies/ucudnn/workspace_division.h"

namespace spillway::ucudnn {
namespace {

using Kernels = std::vector<std::vector<Choice>>;

std::vector<Choice> RandomChoices(Random& random) {
  std::vector<Choice> choices{{random.Between(0, 20), random.Between(100, 200)}};
  for (std::int32_t more = random.Between(0, 6); more > 0; --more) {
    const Choice& last = choices.back();
    choices.push_back({last.workspace + random.Between(1, 20), last.time - random.Between(1, 15)});
  }
  return choices;
}

Kernels RandomNetwork(std::int32_t kernels, Random& random) {
  Kernels network;
  for (std::int32_t k = 0; k < kernels; ++k) network.push_back(RandomChoices(random));
  return network;
}

Nanos LeastOfAll(const Kernels& kernels, std::size_t from, Bytes room) {
  if (from == kernels.size()) return 0;
  Nanos least = INT64_MAX;
  for (const Choice& choice : kernels[from]) {
    if (choice.workspace > room) continue;
    const Nanos rest = LeastOfAll(kernels, from + 1, room - choice.workspace);
    if (rest != INT64_MAX) least = std::min(least, choice.time + rest);
  }
  return least;
}

void CheckFigures(const Division& division, const Kernels& kernels, Bytes total) {
  REQUIRE(division.choice.size() == kernels.size());
  Nanos time = 0;
  Bytes workspace = 0;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    time += kernels[k][division.choice[k]].time;
    workspace += kernels[k][division.choice[k]].workspace;
  }
  CHECK(time == division.time);
  CHECK(workspace == division.workspace);
  CHECK(workspace <= total);
  CHECK(division.bound <= time);
}

// Fractions of configurations allowed. In milliseconds and MiB.
double Relaxed(const Kernels& kernels, Bytes total) {
  LinearProgram program;
  std::vector<LinearProgram::Term> room;
  for (const std::vector<Choice>& choices : kernels) {
    std::vector<LinearProgram::Term> one;
    for (const Choice& choice : choices) {
      const int column = program.AddColumn(static_cast<double>(choice.time) / 1e6, 1);
      one.push_back({column, 1});
      room.push_back({column, -static_cast<double>(choice.workspace) / static_cast<double>(kMiB)});
    }
    program.AddRow(one, 1);
  }
  program.AddRow(room, -static_cast<double>(total) / static_cast<double>(kMiB));
  return program.Minimum() * 1e6;
}

Kernels FrontsOf(const char* network, std::int64_t batch, Bytes total) {
  const Machine machine = LoadMachine("p100-power8-nvlink1");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), StepOptionsByName("chainer"));
  Kernels kernels;
  for (const Op& op : step.ops) {
    if (op.kind != OpKind::kConvolution) continue;
    std::vector<Choice> choices;
    const MicroKernels micro = MicroKernelsOf(costs, LaunchOf(op), BatchPolicy::kPowersOfTwo, total);
    for (const Configuration& c : ConfigurationFront(micro, total)) choices.push_back({c.workspace, c.time});
    kernels.push_back(std::move(choices));
  }
  return kernels;
}

}  // namespace

TEST_CASE("workspace division is as good as the best of all choices") {
  Random random(11);
  int cases = 0, infeasible = 0, tight = 0;
  for (std::int32_t kernels = 1; kernels <= 4; ++kernels) {
    for (int i = 0; i < 1000; ++i, ++cases) {
      const Kernels network = RandomNetwork(kernels, random);
      const Bytes total = random.Between(0, 60 * kernels);
      const Nanos least = LeastOfAll(network, 0, total);
      const auto division = DivideWorkspace(network, total);
      REQUIRE(division.has_value() == (least != INT64_MAX));
      if (!division) {
        ++infeasible;
        continue;
      }
      CheckFigures(*division, network, total);
      CHECK(division->time == least);
      CHECK(division->bound == least);
      tight += division->states > 0 ? 1 : 0;
    }
  }
  CHECK(cases == 4000);
  CHECK(infeasible > 100);
  CHECK(tight > 1000);  // the greedy solution was not taken unseen
}

TEST_CASE("cut off, a division still fits and its bound still holds") {
  Random random(12);
  int cases = 0, gaps = 0;
  for (; cases < 500; ++cases) {
    const Kernels network = RandomNetwork(8, random);
    const Bytes total = random.Between(160, 400);
    const auto exact = DivideWorkspace(network, total);
    const auto cut = DivideWorkspace(network, total, 8);
    REQUIRE(exact.has_value() == cut.has_value());
    if (!exact) continue;
    CheckFigures(*cut, network, total);
    CHECK(cut->time >= exact->time);
    CHECK(cut->bound <= exact->time);
    gaps += cut->bound < cut->time ? 1 : 0;
  }
  CHECK(gaps > 50);
}

TEST_CASE("a byte too much is too much") {
  const Kernels network{{{0, 10}, {3 * kGB, 1}}, {{0, 10}, {2 * kGB + 1, 2}}};
  CHECK(DivideWorkspace(network, 5 * kGB + 1)->time == 3);
  CHECK(DivideWorkspace(network, 5 * kGB)->time == 11);
  CHECK(DivideWorkspace(network, 0)->time == 20);
  CHECK_FALSE(DivideWorkspace({{{1, 10}}}, 0));
  CHECK_FALSE(DivideWorkspace({{}}, kGB));
  CHECK(DivideWorkspace({}, 0)->time == 0);
}

TEST_CASE("ResNet-18's division is within the linear program's bound, and the same each time") {
  int gaps = 0;
  for (const Bytes total : {8 * kMiB, 64 * kMiB, 512 * kMiB}) {
    const Kernels kernels = FrontsOf("resnet18", 64, total);
    REQUIRE(kernels.size() == 59);
    const auto division = DivideWorkspace(kernels, total);
    REQUIRE(division);
    CheckFigures(*division, kernels, total);
    CHECK(division->bound == division->time);
    const double relaxed = Relaxed(kernels, total);
    CHECK(relaxed <= static_cast<double>(division->time) + 1);
    CHECK(relaxed >= 0.99 * static_cast<double>(division->time));
    gaps += relaxed + 1 < static_cast<double>(division->time) ? 1 : 0;
    CHECK(DivideWorkspace(kernels, total)->choice == division->choice);
  }
  CHECK(gaps > 0);
}

}  // namespace spillway::ucudnn
