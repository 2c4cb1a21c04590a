// How fast a device computes now: profiles with a few measured launches, and devices that are slower by a known factor.
#include "calibrate/pace.h"

#include <catch2/catch.hpp>

#include "calibrate/bench/profile.h"
#include "model/launch_text.h"
#include "model/network.h"
#include "tests/paced_target.h"

namespace spillway {
namespace {

using Networks = std::vector<std::shared_ptr<const BenchNetwork>>;

Networks OneNetwork() {
  return {MakeBenchNetwork("net", BuildZooNetwork("cifar-resnet20", {.batch = 2}), StepOptions{})};
}

bool Any(const Launch& /*launch*/) { return true; }

// The unit machine with measured times of those launches of the network that are wanted: 10 us and its place in the
// step more, so that no two are alike.
Machine ProfileOf(const Networks& networks, const std::function<bool(const Launch&)>& wanted = Any) {
  Machine machine = LoadMachine("unit");
  for (const BenchItem& item : MakeBenchPlan(networks, {}, {.copies = {}, .host_calls = {}})) {
    if (item.group != BenchGroup::kNetworks || !wanted(item.launch)) continue;
    MeasuredOp op = MeasuredOpOf(item.launch);
    if (item.launch.kind == OpKind::kConvolution) op.algorithm = "direct";
    op.time = 10000 + item.op;
    machine.devices[0].measured.push_back(op);
  }
  return machine;
}

TEST_CASE("products and others have a factor each") {
  const Networks networks = OneNetwork();
  const Machine profile = ProfileOf(networks);
  PacedTarget target(profile, [](const Launch& launch) { return IsProduct(launch.kind) ? 1.25 : 0.8; });
  const MeasuredPace pace = MeasurePace(profile, networks, target);
  CHECK(pace.products.factor == Approx(1.25).epsilon(1e-9));
  CHECK(pace.others.factor == Approx(0.8).epsilon(1e-9));
  CHECK(pace.products.low == Approx(1.25));  // all ratios are the same
  CHECK(pace.products.high == Approx(1.25));
  CHECK(pace.products.launches == 16);
  CHECK(pace.others.launches == 16);
  CHECK(target.measured.size() == 32);
  CHECK(FactorsOf(pace) == KernelPace{pace.products.factor, pace.others.factor});
}

TEST_CASE("each launch is timed by the algorithm that the profile has a time of") {
  const Networks networks = OneNetwork();
  const Machine profile = ProfileOf(networks);
  PacedTarget target(profile, [](const Launch&) { return 1.0; });
  MeasurePace(profile, networks, target);
  for (const Launch& launch : target.measured) {
    if (launch.kind != OpKind::kConvolution) continue;
    CHECK(launch.algorithm == AlgorithmByName(launch.kind, launch.pass, "direct"));
  }
}

TEST_CASE("a few launches that were disturbed do not move the factor") {
  const Networks networks = OneNetwork();
  const Machine profile = ProfileOf(networks);
  int calls = 0;
  PacedTarget target(profile, [&calls](const Launch&) { return ++calls % 4 == 0 ? 3.0 : 1.1; });
  const MeasuredPace pace = MeasurePace(profile, networks, target);
  CHECK(pace.products.factor == Approx(1.1));
  CHECK(pace.others.factor == Approx(1.1));
}

TEST_CASE("too few launches of a kind: the other kind's factor stands for it") {
  const Networks networks = OneNetwork();
  int linear = 0;
  const Machine profile = ProfileOf(networks, [&linear](const Launch& launch) {
    if (launch.kind == OpKind::kConvolution) return false;
    return launch.kind != OpKind::kLinear || ++linear > 0;
  });
  PacedTarget target(profile, [](const Launch& launch) { return IsProduct(launch.kind) ? 2.0 : 0.9; });
  const MeasuredPace pace = MeasurePace(profile, networks, target);
  REQUIRE(linear > 0);
  CHECK(pace.products.launches == linear);
  CHECK(pace.products.of_other);
  CHECK_FALSE(pace.others.of_other);
  CHECK(pace.products.factor == Approx(0.9));
  CHECK(pace.others.factor == Approx(0.9));
}

TEST_CASE("nothing to compare with: factors are 1 and said to be unknown") {
  const Networks networks = OneNetwork();
  const Machine bare = LoadMachine("unit");
  PacedTarget target(bare, [](const Launch&) { return 2.0; });
  const MeasuredPace pace = MeasurePace(bare, networks, target);
  CHECK_FALSE(pace.Known());
  CHECK(FactorsOf(pace) == KernelPace{});
  CHECK(target.measured.empty());

  const Machine profile = ProfileOf(networks);
  PacedTarget refusing(profile, [](const Launch&) { return 0.0; });
  CHECK_FALSE(MeasurePace(profile, networks, refusing).Known());
  CHECK(refusing.measured.size() > 32);  // each refusal is made up for by the next launch
}

TEST_CASE("costs at another pace: kernels by their kind, copies as they are") {
  const Networks networks = OneNetwork();
  const Machine machine = LoadMachine("unit");
  const CostModel usual(machine), paced(machine, {.pace = {.products = 2, .others = 3}});
  bool product = false, other = false;
  for (const Op& op : networks[0]->step.ops) {
    const Launch launch = LaunchOf(op);
    const Nanos time = usual.Kernel(launch).time;
    (IsProduct(op.kind) ? product : other) = true;
    CHECK(paced.Kernel(launch).time == (IsProduct(op.kind) ? 2 : 3) * time);
  }
  CHECK((product && other));
  CHECK(paced.Copy(1000, Direction::kHostToDevice).time == usual.Copy(1000, Direction::kHostToDevice).time);
  // Idling after a kernel is in proportion to the kernel as it is now.
  const CostModel both(machine, {.compute_slowdown = 5, .pace = {.products = 2, .others = 3}});
  const Launch launch = LaunchOf(networks[0]->step.ops[0]);
  CHECK(both.Kernel(launch).time == 5 * paced.Kernel(launch).time);
}

TEST_CASE("a profile tells how its launches found their operands") {
  Machine machine = LoadMachine("unit");
  CHECK(ProtocolOf(machine) == BenchProtocol::kStep);
  for (const BenchProtocol protocol : {BenchProtocol::kStep, BenchProtocol::kCold, BenchProtocol::kWarm}) {
    Sample row;
    row.what = SampleKind::kKernel;
    row.kind = BenchProtocolName(protocol);
    row.launch = LaunchOf(OneNetwork()[0]->step.ops[2]);
    row.microseconds = 10;
    row.p10 = row.p90 = 10;
    row.repetitions = 10;
    row.contention = "none";
    BenchFacts facts;
    facts.device = "cpu0";
    facts.measured = "a processor";
    CHECK(ProtocolOf(MachineOfBench(std::vector<Sample>{row}, facts, 0)) == protocol);
  }
}

}  // namespace
}  // namespace spillway
