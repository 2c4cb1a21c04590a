// What issuing each kind of op costs, from rows whose host times are known.
#include <catch2/catch.hpp>

#include "calibrate/measure/profile.h"
#include "tests/bench_samples.h"

namespace spillway {
namespace {

Sample WithHost(Sample sample, double host_microseconds) {
  sample.host_microseconds = host_microseconds;
  return sample;
}

Sample Convolution(std::int64_t batch, const char* algorithm, double microseconds, double host_microseconds) {
  Sample sample = ReluSample(64, microseconds);
  sample.launch.kind = OpKind::kConvolution;
  sample.launch.shape.in = sample.launch.shape.out = {.n = batch, .c = 64, .h = 16, .w = 16};
  sample.algorithm = algorithm;
  sample.launch.algorithm = AlgorithmByName(OpKind::kConvolution, Pass::kForward, algorithm);
  return WithHost(sample, host_microseconds);
}

Sample Backward(Sample sample) {
  sample.launch.pass = Pass::kBackward;
  return sample;
}

BenchLaunches LaunchesOfRows(const std::vector<Sample>& rows) { return LaunchesOf(MergeRounds(rows)); }

}  // namespace

TEST_CASE("launch costs are medians over the launches of an op and pass") {
  const BenchLaunches found =
      LaunchesOfRows({WithHost(ReluSample(1, 10), 4), WithHost(ReluSample(2, 20), 3), WithHost(ReluSample(3, 30), 8),
                      Backward(WithHost(ReluSample(1, 10), 6.5)), Backward(WithHost(ReluSample(2, 10), 7.5))});
  REQUIRE(found.costs.size() == 2);
  CHECK(found.costs[0] == LaunchCost{.op = OpKind::kRelu, .pass = Pass::kForward, .time = 4000});
  CHECK(found.costs[1] == LaunchCost{.op = OpKind::kRelu, .pass = Pass::kBackward, .time = 7000});
  CHECK(found.launches == 5);
}

TEST_CASE("of a launch with several algorithms the fastest one counts") {
  // The fastest of batch 8 costs 9, that of batch 16 costs 12: 10.5. By rows it would be 12, and by what is cheapest 5.
  const BenchLaunches found = LaunchesOfRows({Convolution(8, "gemm", 500, 20), Convolution(8, "winograd", 400, 9),
                                              Convolution(8, "fft", 900, 30), Convolution(16, "gemm", 700, 12),
                                              Convolution(16, "winograd", 800, 5)});
  REQUIRE(found.costs.size() == 1);
  CHECK(found.costs[0] == LaunchCost{.op = OpKind::kConvolution, .pass = Pass::kForward, .time = 10'500});
  CHECK(found.launches == 2);
}

TEST_CASE("rows that tell nothing of the host, and copies beside, do not count") {
  Sample beside = WithHost(ReluSample(1, 10), 50);
  beside.contention = "h2d";
  CHECK(LaunchesOfRows({ReluSample(1, 10), beside, WithHost(CopySample(4096, "h2d", 3), 9)}).costs.empty());
  // The fastest algorithm could not be held, so nothing is known of it: the next one.
  const BenchLaunches found = LaunchesOfRows({Convolution(8, "gemm", 500, 20), Convolution(8, "winograd", 400, 0)});
  REQUIRE(found.costs.size() == 1);
  CHECK(found.costs[0].time == 20'000);
  // Steps compute on fp32.
  Sample half = Convolution(8, "gemm", 100, 90);
  half.launch.type = DataType::kFp16;
  CHECK(LaunchesOfRows({Convolution(8, "gemm", 500, 20), half}).costs == found.costs);
}

TEST_CASE("rounds of one launch are one launch, with their median") {
  const BenchLaunches found =
      LaunchesOfRows({WithHost(ReluSample(1, 10, 1), 9), ReluSample(1, 10, 2), WithHost(ReluSample(1, 10, 3), 5),
                      WithHost(ReluSample(1, 10, 4), 6), WithHost(ReluSample(2, 10), 100)});
  REQUIRE(found.costs.size() == 1);
  CHECK(found.costs[0].time == (6'000 + 100'000) / 2);
  CHECK(found.launches == 2);
}

TEST_CASE("a profile has launch costs where its rows tell them, and says how many launches") {
  BenchFacts facts;
  facts.name = "mine";
  facts.device = "cuda0";
  facts.description = facts.software = "test";
  facts.measured = "made-up, 2020-01-01";
  facts.memory = 8 * kGiB;
  const Machine machine = MachineOfBench(std::vector{WithHost(ReluSample(1, 10), 4)}, facts, 0);
  const HostCosts& costs = machine.devices[0].host_costs;
  REQUIRE(costs.launches.size() == 1);
  CHECK(costs.launches_source.kind == Source::Kind::kMeasured);
  CHECK_THAT(costs.launches_source.text, Catch::Contains("made-up, 2020-01-01") && Catch::Contains("1 launches"));
  CHECK(ParseMachine(MachineToYaml(machine), "mine.yaml") == machine);
  // The rows of the CPU device: what it costs to hand a kernel over does not depend on the kernel.
  CHECK(MachineOfBench(std::vector{ReluSample(1, 10)}, facts, 0).devices[0].host_costs.launches.empty());
}

}  // namespace spillway
