// micro-cuDNN's dynamic programs against every division there is, and what they ask of the costs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "model/step/training_step.h"
#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/strategies/ucudnn/configurations.h"

namespace spillway::ucudnn {
namespace {

constexpr Bytes kNoLimit = 1'000'000'000;

std::vector<MicroKernel> RandomKernels(std::int64_t samples, Random& random) {
  std::vector<MicroKernel> kernels;
  const std::int32_t count = random.Between(0, 4);
  for (std::int32_t i = 0; i < count; ++i) {
    const auto time = static_cast<Nanos>(random.Between(1, 8)) * (random.Chance(0.5) ? samples : 2);
    kernels.push_back({samples, i + 1, random.Between(0, 6), time});
  }
  return kernels;
}

MicroKernels RandomMicroKernels(std::int64_t batch, Random& random) {
  MicroKernels kernels;
  kernels.other.resize(static_cast<std::size_t>(batch) + 1);
  kernels.first = kernels.other;
  const bool alike = random.Chance(0.5);
  for (std::int64_t s = 1; s <= batch; ++s) {
    if (random.Chance(0.2)) continue;
    kernels.other[Index(static_cast<std::int32_t>(s))] = DesirableSet(RandomKernels(s, random), kNoLimit);
    kernels.first[Index(static_cast<std::int32_t>(s))] =
        alike ? kernels.other[Index(static_cast<std::int32_t>(s))] : DesirableSet(RandomKernels(s, random), kNoLimit);
  }
  return kernels;
}

// Calls `see` with the time, the workspace and the number of parts of every list of micro-kernels that sums up to the batch.
using See = std::function<void(Nanos, Bytes, std::int32_t)>;
void EachDivision(const MicroKernels& kernels, std::size_t left, Nanos time, Bytes workspace, std::int32_t parts,
                  Nanos per_kernel, const See& see) {
  if (left == 0) return see(time, workspace, parts);
  for (std::size_t s = 1; s <= left; ++s) {
    for (const MicroKernel& kernel : (parts == 0 ? kernels.first : kernels.other)[s]) {
      EachDivision(kernels, left - s, time + kernel.time + per_kernel, std::max(workspace, kernel.workspace), parts + 1,
                   per_kernel, see);
    }
  }
}

struct Outcome {
  Nanos time = 0;
  Bytes workspace = 0;
  std::int32_t parts = 0;
};

std::vector<Outcome> AllDivisions(const MicroKernels& kernels, Nanos per_kernel) {
  std::vector<Outcome> all;
  EachDivision(kernels, kernels.other.size() - 1, 0, 0, 0, per_kernel,
               [&](Nanos time, Bytes workspace, std::int32_t parts) {
                 all.push_back({time, workspace, parts});
               });
  return all;
}

// Whether it is one of the divisions, with the figures that it claims.
void CheckConsistent(const Configuration& configuration, const MicroKernels& kernels, Nanos per_kernel) {
  Nanos time = 0;
  Bytes workspace = 0;
  std::int64_t samples = 0;
  for (std::size_t i = 0; i < configuration.parts.size(); ++i) {
    const MicroKernel& part = configuration.parts[i];
    const auto& set = (i == 0 ? kernels.first : kernels.other)[static_cast<std::size_t>(part.samples)];
    CHECK(std::find(set.begin(), set.end(), part) != set.end());
    time += part.time + per_kernel;
    workspace = std::max(workspace, part.workspace);
    samples += part.samples;
    if (i > 1) CHECK(part.samples <= configuration.parts[i - 1].samples);
  }
  CHECK(samples == kernels.Batch());
  CHECK(time == configuration.time);
  CHECK(workspace == configuration.workspace);
}

// What one instance says: the fastest within each limit, of the fewest parts, and the front.
void CheckAgainstAll(const MicroKernels& kernels, Nanos per_kernel) {
  const std::vector<Outcome> all = AllDivisions(kernels, per_kernel);
  std::vector<std::pair<Bytes, Nanos>> front;
  for (Bytes limit = 0; limit <= 7; ++limit) {
    std::pair<Nanos, std::int32_t> best{INT64_MAX, 0};
    for (const Outcome& one : all) {
      if (one.workspace <= limit) best = std::min(best, std::pair(one.time, one.parts));
    }
    const auto found = FastestConfiguration(kernels, limit, per_kernel);
    REQUIRE(found.has_value() == (best.first != INT64_MAX));
    if (!found) continue;
    CHECK(found->time == best.first);
    CHECK(static_cast<std::int32_t>(found->parts.size()) == best.second);
    CHECK(found->workspace <= limit);
    CheckConsistent(*found, kernels, per_kernel);
    if (front.empty() || best.first < front.back().second) front.emplace_back(limit, best.first);
  }
  const std::vector<Configuration> claimed = ConfigurationFront(kernels, 7, per_kernel);
  REQUIRE(claimed.size() == front.size());
  for (std::size_t i = 0; i < front.size(); ++i) {
    CHECK(claimed[i].workspace == front[i].first);
    CHECK(claimed[i].time == front[i].second);
    CheckConsistent(claimed[i], kernels, per_kernel);
  }
}

// A convolution of AlexNet or ResNet-18 as the step has it.
std::vector<Launch> Convolutions(const char* network, std::int64_t batch) {
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), StepOptionsByName("chainer"));
  std::vector<Launch> launches;
  for (const Op& op : step.ops) {
    if (op.kind == OpKind::kConvolution) launches.push_back(LaunchOf(op));
  }
  return launches;
}

}  // namespace

TEST_CASE("the micro-batches of each policy") {
  using Sizes = std::vector<std::int64_t>;
  CHECK(MicroBatches(BatchPolicy::kUndivided, 12) == Sizes{12});
  CHECK(MicroBatches(BatchPolicy::kPowersOfTwo, 12) == Sizes{1, 2, 4, 8, 12});
  CHECK(MicroBatches(BatchPolicy::kPowersOfTwo, 8) == Sizes{1, 2, 4, 8});
  CHECK(MicroBatches(BatchPolicy::kAll, 5) == Sizes{1, 2, 3, 4, 5});
  CHECK(MicroBatches(BatchPolicy::kPowersOfTwo, 1) == Sizes{1});
}

TEST_CASE("a desirable set is what nothing beats in both workspace and time") {
  Random random(17);
  int cases = 0, beaten = 0;
  for (; cases < 5000; ++cases) {
    std::vector<MicroKernel> kernels;
    for (std::int32_t i = random.Between(0, 9); i > 0; --i) {
      kernels.push_back({1, i, random.Between(0, 9), random.Between(1, 9)});
    }
    const Bytes limit = random.Between(0, 10);
    const std::vector<MicroKernel> set = DesirableSet(kernels, limit);
    for (std::size_t i = 1; i < set.size(); ++i) {
      CHECK(set[i].workspace > set[i - 1].workspace);
      CHECK(set[i].time < set[i - 1].time);
    }
    for (const MicroKernel& kernel : kernels) {
      const bool in = std::any_of(set.begin(), set.end(), [&](const MicroKernel& other) {
        return other.workspace == kernel.workspace && other.time == kernel.time;
      });
      const bool is_beaten = std::any_of(kernels.begin(), kernels.end(), [&](const MicroKernel& other) {
        return other.workspace <= kernel.workspace && other.time <= kernel.time &&
               (other.workspace < kernel.workspace || other.time < kernel.time);
      });
      beaten += is_beaten ? 1 : 0;
      CHECK(in == (!is_beaten && kernel.workspace <= limit));
    }
  }
  CHECK(beaten > cases);
}

TEST_CASE("the dynamic programs are as good as the best of all divisions") {
  // Every list of micro-kernels, in every order, is tried, with sets of up to four.
  Random random(4);
  int cases = 0;
  for (std::int64_t batch = 1; batch <= 8; ++batch) {
    for (int i = 0; i < 500; ++i, ++cases) {
      CheckAgainstAll(RandomMicroKernels(batch, random), random.Chance(0.5) ? 0 : random.Between(1, 5));
    }
  }
  CHECK(cases == 4000);
}

TEST_CASE("the same for batches to 12, with one way to run each part", "[plain]") {
  Random random(5);
  int cases = 0;
  for (std::int64_t batch = 9; batch <= 12; ++batch) {
    for (int i = 0; i < 250; ++i, ++cases) {
      MicroKernels kernels = RandomMicroKernels(batch, random);
      // So that 2048 lists are the most.
      for (auto* sets : {&kernels.first, &kernels.other}) {
        for (std::size_t s = 1; s < sets->size(); ++s) (*sets)[s].resize(std::min<std::size_t>((*sets)[s].size(), 1));
      }
      CheckAgainstAll(kernels, random.Chance(0.5) ? 0 : random.Between(1, 5));
    }
  }
  CHECK(cases == 1000);
}

TEST_CASE("a micro-kernel's cost keeps a convolution whole") {
  // Two parts of 4 ns in no workspace against 10 ns at once: 8 < 10, but not with 2 ns and more for each.
  MicroKernels kernels;
  kernels.other = {{}, {{1, 1, 0, 4}}, {{2, 1, 0, 10}}};
  kernels.first = kernels.other;
  CHECK(FastestConfiguration(kernels, 0)->parts.size() == 2);
  CHECK(FastestConfiguration(kernels, 0, 1)->time == 10);
  CHECK(FastestConfiguration(kernels, 0, 2)->parts.size() == 1);
  CHECK(FastestConfiguration(kernels, 0, 2)->time == 12);
}

TEST_CASE("later parts of a backward filter add to the first one") {
  const Machine machine = LoadMachine("p100-power8-nvlink1");
  const CostModel costs(machine);
  const std::vector<Launch> convolutions = Convolutions("resnet18", 16);
  int filters = 0;
  for (const Launch& launch : convolutions) {
    const MicroKernels kernels = MicroKernelsOf(costs, launch, BatchPolicy::kPowersOfTwo, 64 * kMiB);
    CHECK(kernels.Batch() == 16);
    CHECK(kernels.first[3].empty());
    REQUIRE_FALSE(kernels.first[16].empty());
    for (const std::size_t s : {1u, 2u, 4u, 8u}) {
      Launch adding = launch;
      adding.shape.in.n = adding.shape.out.n = static_cast<std::int64_t>(s);
      adding.accumulate = true;
      for (const MicroKernel& kernel : kernels.other[s]) {
        adding.algorithm = kernel.algorithm;
        adding.workspace = kernel.workspace;
        if (launch.pass == Pass::kBackwardFilter) CHECK(costs.Kernel(adding).time == kernel.time);
      }
      if (launch.pass != Pass::kBackwardFilter) CHECK(kernels.other[s] == kernels.first[s]);
    }
    filters += launch.pass == Pass::kBackwardFilter ? 1 : 0;
  }
  CHECK(filters == 20);
}

TEST_CASE("more micro-batches and more workspace are never slower") {
  const Machine machine = LoadMachine("p100-power8-nvlink1");
  const CostModel costs(machine);
  int divided = 0, faster_than_halves = 0;
  for (const Launch& launch : Convolutions("alexnet", 48)) {
    Nanos before[3] = {INT64_MAX, INT64_MAX, INT64_MAX};
    for (const Bytes limit : {0 * kMiB, 8 * kMiB, 64 * kMiB, 512 * kMiB}) {
      Nanos times[3] = {};
      for (const BatchPolicy policy : {BatchPolicy::kUndivided, BatchPolicy::kPowersOfTwo, BatchPolicy::kAll}) {
        const auto best = FastestConfiguration(MicroKernelsOf(costs, launch, policy, limit), limit);
        const auto p = static_cast<std::size_t>(policy);
        times[p] = best ? best->time : INT64_MAX;
        CHECK(times[p] <= before[p]);
        before[p] = times[p];
        if (policy == BatchPolicy::kUndivided && best) CHECK(best->parts.size() == 1);
        if (policy == BatchPolicy::kPowersOfTwo && best && best->parts.size() > 1) ++divided;
      }
      CHECK(times[1] <= times[0]);
      CHECK(times[2] <= times[1]);
      faster_than_halves += times[2] < times[1] ? 1 : 0;
    }
  }
  CHECK(divided > 0);
  CHECK(faster_than_halves > 0);
}

TEST_CASE("the same kernels give the same parts") {
  const Machine machine = LoadMachine("p100-power8-nvlink1");
  const Launch launch = Convolutions("alexnet", 32)[2];
  const CostModel one(machine), other(machine);
  const auto parts = [&](const CostModel& costs) {
    return FastestConfiguration(MicroKernelsOf(costs, launch, BatchPolicy::kAll, 8 * kMiB), 8 * kMiB)->parts;
  };
  CHECK(parts(one) == parts(other));
}

TEST_CASE("without algorithms by name nothing can be asked for") {
  // The unit machine knows laws alone.
  const Machine machine = LoadMachine("unit");
  const CostModel costs(machine);
  const MicroKernels kernels = MicroKernelsOf(costs, Convolutions("alexnet", 4)[0], BatchPolicy::kAll, 64 * kMiB);
  CHECK_FALSE(FastestConfiguration(kernels, 64 * kMiB));
  CHECK(ConfigurationFront(kernels, 64 * kMiB).empty());
}

}  // namespace spillway::ucudnn
