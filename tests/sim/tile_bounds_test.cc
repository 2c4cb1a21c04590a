// Bounds of ops with more sizes of tiles than are asked for: low, but above nothing and below every tile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "model/cost/op_tiles.h"
#include "model/profile/launch_text.h"
#include "model/step/launch.h"
#include "model/util/random.h"
#include "sim/bounds/bounds.h"

namespace spillway {
namespace {

Launch RandomConvolution(Random& random, std::int64_t most_side, std::int64_t most_channels) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.pass = static_cast<Pass>(random.Between(0, 2));
  const auto to = [&random](std::int64_t most) {
    return static_cast<std::int64_t>(random.Between(1, static_cast<std::int32_t>(most)));
  };
  const std::int64_t window = 2 * random.Between(0, 3) + 1, stride = random.Between(1, 2);
  const std::int64_t side = window + to(most_side);
  launch.shape.in = {.n = to(16), .c = to(most_channels), .h = side, .w = side};
  launch.shape.window = {1, window, window};
  launch.shape.stride = {1, stride, stride};
  launch.shape.pad = {0, window / 2, window / 2};
  const std::int64_t out = (side + 2 * (window / 2) - window) / stride + 1;
  launch.shape.out = {.n = launch.shape.in.n, .c = to(most_channels), .h = out, .w = out};
  return launch;
}

TileCounts RandomCounts(const Launch& launch, Random& random) {
  const TileCounts most = MostRanges(launch);
  const auto count = [&random](std::int64_t limit) {
    return static_cast<std::int64_t>(random.Between(1, static_cast<std::int32_t>(std::min<std::int64_t>(limit, 6))));
  };
  return {count(most.in_channels), count(most.out_channels), count(most.rows)};
}

std::vector<OpTile> RandomTilesOf(const Launch& launch, Random& random) {
  std::vector<std::int64_t> samples;
  for (std::int64_t left = launch.shape.in.n; left > 0; left -= samples.back()) {
    samples.push_back(random.Between(1, static_cast<std::int32_t>(left)));
  }
  return TilesOf(launch, samples, RandomCounts(launch, random));
}

}  // namespace

TEST_CASE("tiles of a convolution have the operations of the whole, or more") {
  Random random(11);
  int more = 0;
  for (int k = 0; k < 2000; ++k) {
    const Launch launch = RandomConvolution(random, 20, 6);
    const double whole = CountWork(launch).flops;
    for (const bool padded : {false, true}) {
      double tiles = 0;
      for (const OpTile& tile : RandomTilesOf(launch, random)) {
        tiles += CountWork(LaunchOfTile(launch, tile, padded)).flops;
      }
      REQUIRE(tiles >= whole * (1 - 1e-12));
      more += tiles > whole * (1 + 1e-12) ? 1 : 0;
    }
  }
  CHECK(more > 100);  // rows that two tiles of a gradient of data read
}

// Of every profile that is shipped. The limit itself changes no answer.
TEST_CASE("no kernel of a profile is faster than what is said of all") {
  Random random(12);
  double closest = std::numeric_limits<double>::infinity();
  for (const char* name : {"p100-x86-pcie3", "v100-x86-pcie3", "titanx-maxwell-x86-pcie3", "a100-pcie4", "unit"}) {
    const Machine machine = LoadMachine(name);
    const CostModel costs(machine), slow(machine, {.compute_slowdown = 3, .pace = {.products = 0.7}});
    for (int k = 0; k < 200; ++k) {
      Launch launch = RandomConvolution(random, 200, 512);
      launch.workspace = kMostWorkspace;
      INFO(name << " " << k);
      const double least = costs.LeastTime(launch), time = static_cast<double>(costs.Kernel(launch).time);
      CHECK(least > 0);
      CHECK(least <= time);
      closest = std::min(closest, time / least);
      CHECK(slow.LeastTime(launch) == Approx(3 * 0.7 * least));
      CHECK(slow.LeastTime(launch) <= static_cast<double>(slow.Kernel(launch).time));
    }
  }
  INFO("the closest takes " << closest << " times as long");
  CHECK(closest > 1.2);
}

TEST_CASE("of more sizes of tiles than are asked for there is a bound, and no tiles beat it") {
  const Machine machine = LoadMachine("p100-x86-pcie3");
  const CostModel costs(machine);
  Random random(13);
  int large = 0;
  for (int k = 0; k < 40; ++k) {
    const Launch launch = RandomConvolution(random, 200, 512);
    const TileCounts most = MostRanges(launch);
    const std::vector<PartRate> rates = TileRatesOf(launch, costs, most);
    REQUIRE(!rates.empty());
    if (rates.size() > 1) continue;
    ++large;
    const double bound = rates.front().nanos_per_sample * static_cast<double>(launch.shape.in.n);
    CHECK(bound > 0);
    double time = 0;
    for (const OpTile& tile : RandomTilesOf(launch, random)) {
      Launch part = LaunchOfTile(launch, tile, false);
      part.workspace = kMostWorkspace;
      time += static_cast<double>(costs.Kernel(part).time);
    }
    INFO(bound << " of " << time);
    CHECK(bound <= time);
  }
  CHECK(large > 30);
}

TEST_CASE("a measured convolution that is faster than five times the peak makes the bound lower") {
  Machine machine = LoadMachine("unit");
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.shape.in = launch.shape.out = {.n = 4, .c = 8, .h = 8, .w = 8};
  const double flops = CountWork(launch).flops;  // 2 x 4 x 64 x 64
  CHECK(CostModel(machine).LeastTime(launch) == Approx(flops / 5));
  MeasuredOp row = MeasuredOpOf(launch);
  row.time = 1004;
  machine.devices[0].measured = {row};
  const CostModel costs(machine);
  CHECK(costs.Kernel(launch).time == 1004);
  CHECK(costs.LeastTime(launch) == Approx(1000));
  Launch twice = launch;
  twice.shape.in.n = twice.shape.out.n = 8;
  CHECK(costs.LeastTime(twice) == Approx(2000));
  launch.type = DataType::kFp16;
  CHECK(costs.LeastTime(launch) == 0);

  // By a law that counts no operations anything may come for nothing.
  launch.type = DataType::kFp32;
  CostLaw law;
  law.op = OpKind::kConvolution;
  law.pass = Pass::kForward;
  law.flop_fraction = 0;
  law.bandwidth_fraction = 1;
  machine.devices[0].laws.push_back(law);
  CHECK(CostModel(machine).LeastTime(launch) == 0);
}

}  // namespace spillway
