// From the rows of a calibration to a profile.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "calibrate/measure/profile.h"
#include "model/cost/cost_model.h"
#include "model/kernels/kernel_form.h"
#include "tests/bench_samples.h"

namespace spillway {
namespace {

BenchFacts Facts() {
  BenchFacts facts;
  facts.name = "mine";
  facts.device = "cpu0";
  facts.description = "a machine";
  facts.software = "test 1";
  facts.measured = "made-up, test 1, 2020-01-01";
  facts.cores = 2;
  facts.memory = 8 * kGiB;
  facts.cache = 32 * kMiB;
  facts.link_rate = 2;
  return facts;
}

Machine Reloaded(const Machine& machine) { return ParseMachine(MachineToYaml(machine), "mine.yaml"); }

Sample ConvSample(const char* algorithm, double microseconds, Bytes workspace) {
  Sample sample = ReluSample(64, microseconds);
  sample.launch.kind = OpKind::kConvolution;
  sample.launch.shape.in = {.n = 8, .c = 64, .h = 16, .w = 16};
  sample.launch.shape.out = sample.launch.shape.in;
  sample.launch.shape.window = {1, 3, 3};
  sample.launch.shape.pad = {0, 1, 1};
  sample.algorithm = algorithm;
  sample.launch.algorithm = AlgorithmByName(OpKind::kConvolution, Pass::kForward, algorithm);
  sample.workspace = workspace;
  return sample;
}

Sample HostSample(const char* call, double microseconds) {
  Sample sample = MadeUpIdentity();
  sample.op = "overhead";
  sample.algorithm = call;
  sample.kind = "";
  sample.microseconds = microseconds;
  return sample;
}

// ReLUs from 4 KiB to 64 MiB at a byte per nanosecond and a microsecond each; 2/3 of the bytes are read... both count.
std::vector<Sample> Relus(double factor = 1, int round = 1) {
  std::vector<Sample> samples;
  for (std::int64_t channels = 1000; channels < 20'000'000; channels = channels * 3 / 2) {
    samples.push_back(ReluSample(channels, factor * (1 + 8e-3 * static_cast<double>(channels)), round));
  }
  return samples;
}

}  // namespace

TEST_CASE("a profile of nothing is valid and says that everything is assumed") {
  const Machine machine = MachineOfBench({}, Facts(), 0);
  CHECK(Reloaded(machine) == machine);
  CHECK(machine.name == "mine");
  CHECK(machine.devices[0].source.kind == Source::Kind::kAssumed);
  CHECK(machine.devices[0].host_costs.source.kind == Source::Kind::kAssumed);
  CHECK(machine.links[0].curves[0].source.kind == Source::Kind::kAssumed);
  CHECK(machine.links[0].duplex_source.kind == Source::Kind::kAssumed);
  CHECK(machine.devices[0].measured.empty());
  CHECK(machine.devices[0].UsableMemory() == 8 * kGiB);
  // The line of a link at 2 bytes per nanosecond, behind a microsecond.
  CHECK(machine.links[0].curves[0].Time(64 * kMiB) == 1000 + 32 * kMiB);
}

TEST_CASE("what may be pinned is all of the host's memory, or what the user states") {
  BenchFacts facts = Facts();
  facts.device_memory = 4 * kGiB;
  CHECK(MachineOfBench({}, facts, 0).hosts[0].pinned_limit == 8 * kGiB);
  facts.pinned_limit = 3 * kGiB;
  const Machine less = MachineOfBench({}, facts, 0);
  CHECK(Reloaded(less) == less);
  CHECK(less.hosts[0].memory == 8 * kGiB);
  CHECK(less.hosts[0].pinned_limit == 3 * kGiB);
  CHECK(less.hosts[0].source.kind == Source::Kind::kMeasured);
  // A machine that is given more when it needs it.
  facts.pinned_limit = 100 * kGiB;
  const Machine more = MachineOfBench({}, facts, 0);
  CHECK(Reloaded(more) == more);
  CHECK(more.hosts[0].memory == 100 * kGiB);
  CHECK(more.hosts[0].pinned_limit == 100 * kGiB);
  CHECK(more.hosts[0].source.kind == Source::Kind::kAssumed);
  CHECK_THAT(more.hosts[0].source.text, Catch::Contains("the system stated 8.59 GB"));
}

TEST_CASE("notes say how many rows come from which machine, and models are of both together") {
  const auto rows_of = [](double factor, const char* host, const char* driver) {
    std::vector<Sample> rows = Relus(factor);
    for (Sample& row : rows) {
      row.host = host;
      row.driver = driver;
    }
    return rows;
  };
  std::vector<Sample> rows = rows_of(1, "A", "driver 580.1");
  const std::size_t count = rows.size();
  const Machine alone = MachineOfBench(rows, Facts(), 0);
  for (std::size_t k = count / 2; k < count; ++k) {
    rows[k].host = "B";
    rows[k].driver = "driver 580.2";
  }
  const Machine both = MachineOfBench(rows, Facts(), 0);
  std::vector<std::string> notes = {
      fmt::format("{} of {} rows were measured on the host 'A', set-up 'driver 580.1'", count / 2, count),
      fmt::format("{} of {} rows were measured on the host 'B', set-up 'driver 580.2'", count - count / 2, count)};
  notes.insert(notes.end(), alone.notes.begin(), alone.notes.end());
  CHECK(both.notes == notes);
  CHECK(both.devices[0].stacks == alone.devices[0].stacks);
  REQUIRE(both.devices[0].models.size() == alone.devices[0].models.size());
  for (std::size_t k = 0; k < both.devices[0].models.size(); ++k) {
    CHECK(both.devices[0].models[k].parameters == alone.devices[0].models[k].parameters);
  }
}

TEST_CASE("a profile of any beginning of a journal is valid") {
  std::vector<Sample> rows = {
      CopySample(4096, "h2d", 3),      CopySample(4096, "d2h", 3),        CopySample(1 << 20, "h2d", 525),
      CopySample(1 << 20, "d2h", 525), HostSample("kernel_launch", 0.04), HostSample("copy_submit", 0.05),
      HostSample("event_record", 0),   HostSample("stream_wait", 0.03),   HostSample("sync", 8),
      ConvSample("direct", 500, 4096), ConvSample("winograd", 400, 8192), ConvSample("gemm", 900, 512)};
  for (const Sample& relu : Relus()) rows.push_back(relu);
  for (std::size_t count = 0; count <= rows.size(); ++count) {
    const Machine machine = MachineOfBench(std::span(rows).first(count), Facts(), count == rows.size() ? 5 : 0);
    INFO(count);
    CHECK(Reloaded(machine) == machine);
  }
}

// Some virtual machines do not state it. Laws that ask what fits into it once gave no number, and the fit no end.
TEST_CASE("a last cache that nobody knows: models with the usual one, of finite times") {
  BenchFacts facts = Facts();
  facts.cache = 0;
  std::vector<Sample> rows = {ConvSample("direct", 500, 4096), ConvSample("gemm", 900, 512)};
  for (const Sample& relu : Relus()) rows.push_back(relu);
  const Machine machine = MachineOfBench(rows, facts, 0);
  REQUIRE_FALSE(machine.devices[0].models.empty());
  Launch launch = rows[0].launch;
  launch.shape.in.n = launch.shape.out.n = 3;
  const CostModel costs(machine);
  CHECK(std::string(costs.Kernel(launch).how) != "measured");
  CHECK(costs.Kernel(launch).time > 0);
  CHECK(Reloaded(machine) == machine);
}

TEST_CASE("launches that were measured are answered exactly, within the workspace granted") {
  const std::vector<Sample> rows = {ConvSample("direct", 500, 4096), ConvSample("winograd", 400, 8192),
                                    ConvSample("gemm", 900, 512)};
  const Machine machine = MachineOfBench(rows, Facts(), 0);
  const CostModel costs(machine);
  Launch launch = rows[0].launch;
  launch.algorithm = 0;
  launch.workspace = 10000;
  CHECK(costs.Kernel(launch).time == 400'000);
  CHECK(std::string(costs.Kernel(launch).how) == "measured");
  CHECK(costs.Kernel(launch).algorithm == AlgorithmByName(OpKind::kConvolution, Pass::kForward, "winograd"));
  launch.workspace = 5000;
  CHECK(costs.Kernel(launch).time == 500'000);
  launch.workspace = 1000;
  CHECK(costs.Kernel(launch).time == 900'000);
}

TEST_CASE("links, both directions at once, host calls") {
  std::vector<Sample> rows;
  for (Bytes bytes = 4096; bytes <= 64 * kMiB; bytes *= 4) {
    const double time = 2 + static_cast<double>(bytes) / 2000;
    for (const char* direction : {"h2d", "d2h"}) {
      rows.push_back(CopySample(bytes, direction, time));
      rows.push_back(CopySample(bytes, direction, time / 0.8, std::string(direction) == "h2d" ? "d2h" : "h2d"));
    }
  }
  rows.push_back(HostSample("kernel_launch", 0.04));
  rows.push_back(HostSample("copy_submit", 0.05));
  rows.push_back(HostSample("event_record", 0.03));
  rows.push_back(HostSample("stream_wait", 0.02));
  rows.push_back(HostSample("sync", 8));
  rows.push_back(HostSample("event_wake", 50));
  const Machine machine = MachineOfBench(rows, Facts(), 0);
  CHECK(machine.links[0].curves[0].Time(16 * kMiB) == Approx(2000 + 8 * kMiB).epsilon(0.01));
  CHECK(machine.links[0].curves[1].source.kind == Source::Kind::kMeasured);
  CHECK(machine.links[0].duplex_factor[0] == Approx(0.8).epsilon(0.01));
  const HostCosts& costs = machine.devices[0].host_costs;
  CHECK(costs.kernel_launch == 40);
  CHECK(costs.copy_submit == 50);
  CHECK(costs.event_record == 30);
  CHECK(costs.stream_wait == 20);
  CHECK(costs.sync == 8000);
  CHECK(costs.source.kind == Source::Kind::kMeasured);
}

TEST_CASE("the chip's figures are the best rates found") {
  // 8 x 64 x 16 x 16 outputs x 64 x 9 multiply-adds = 151 Mflop in 500 us: 302 per ns. Winograd does not count.
  const std::vector<Sample> rows = {ConvSample("direct", 500, 0), ConvSample("winograd", 100, 0),
                                    ReluSample(8 << 20, 16000), ReluSample(1 << 20, 10)};
  const std::vector<BenchTime> times = MergeRounds(rows);
  const MeasuredChip chip = ChipOfSamples(times, 32 * kMiB);
  CHECK(chip.peak_flops == Approx(301.99).epsilon(1e-4));
  // 8 Mi floats read and written in 16 ms: 4.19 bytes per ns. The small one is in the cache.
  CHECK(chip.memory_bandwidth == Approx(4.194304));
}

TEST_CASE("rounds: the median of the good ones") {
  Sample noisy = ReluSample(100, 50);
  noisy.flags = {kNoisyNote};
  const std::vector<Sample> rows = {noisy, ReluSample(100, 10, 2), ReluSample(100, 12, 3), ReluSample(100, 11, 4)};
  const std::vector<BenchTime> times = MergeRounds(rows);
  REQUIRE(times.size() == 1);
  CHECK(times[0].sample.microseconds == 11);
  CHECK(times[0].rounds == 3);
  CHECK_FALSE(times[0].noisy);
  // ln(10/11) = -0.0953 and ln(12/11) = 0.0870: sqrt((0.00908 + 0.00757) / 2) = 0.0912.
  CHECK(times[0].error == Approx(0.0912).epsilon(0.01));
  const std::vector<BenchTime> alone = MergeRounds(std::span(rows).first(1));
  CHECK(alone[0].noisy);
  CHECK(alone[0].sample.microseconds == 50);
  CHECK(alone[0].error >= 0.1);
}

TEST_CASE("drift: what all operations of a round share") {
  std::vector<Sample> rows = Relus();
  CHECK(SharedDrift(rows) == 0);
  for (const Sample& row : Relus(1.1, 3)) rows.push_back(row);
  // Two rounds, 0 and ln 1.1 = 0.0953: a standard deviation of 0.0953 / sqrt(2).
  CHECK(SharedDrift(rows) == Approx(std::log(1.1) / std::sqrt(2.0)).epsilon(1e-6));
  CHECK(MachineOfBench(rows, Facts(), 0).devices[0].stack_error == Approx(0.0674).epsilon(0.01));
  // One operation that is slower the second time tells nothing of the others.
  std::vector<Sample> one = Relus();
  one.push_back(ReluSample(1000, 90, 3));
  CHECK(SharedDrift(one) == 0);
}

TEST_CASE("a busy machine is known no better than another one") {
  // Two cores and a process of ours: more than 2 is busy.
  for (const double load : {1.9, 2.1}) {
    std::vector<Sample> rows = Relus();
    for (const Sample& row : Relus(1.001, 3)) rows.push_back(row);
    for (Sample& row : rows) row.load = load;
    const Machine machine = MachineOfBench(rows, Facts(), 0);
    CHECK(MedianLoad(rows) == load);
    CHECK(machine.devices[0].stack_error == (load > 2 ? 0.15 : 0.01));
    const bool told = std::any_of(machine.notes.begin(), machine.notes.end(),
                                  [](const std::string& note) { return note.find("busy") != std::string::npos; });
    CHECK(told == (load > 2));
  }
}

TEST_CASE("kernels beside copies give the slowdown of models and measured launches") {
  std::vector<Sample> rows = Relus();
  Sample beside = rows.back();
  beside.contention = "h2d";
  beside.microseconds = beside.p10 = beside.p90 = 1.25 * beside.microseconds;
  rows.push_back(beside);
  const Machine machine = MachineOfBench(rows, Facts(), 0);
  for (const MeasuredOp& op : machine.devices[0].measured) CHECK(op.copy_slowdown == Approx(1.25).epsilon(1e-3));
  REQUIRE(machine.devices[0].models.size() == 1);
  CHECK(machine.devices[0].models[0].copy_slowdown == Approx(1.25).epsilon(1e-3));
  CHECK(machine.devices[0].measured.size() == rows.size() - 1);
}

}  // namespace spillway
