// How fast a device computes now: profiles with a few measured launches, and devices that are slower by a known factor.
#include "calibrate/validate/pace.h"

#include <catch2/catch.hpp>
#include <set>

#include "calibrate/measure/profile.h"
#include "model/kernels/kernel_form.h"
#include "model/network/network.h"
#include "model/profile/launch_text.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
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
Machine ProfileOf(const Networks& networks, const std::function<bool(const Launch&)>& wanted = Any,
                  const std::vector<MathMode>& maths = {MathMode::kFp32}) {
  Machine machine = LoadMachine("unit");
  for (const BenchItem& item : MakeBenchPlan(networks, {}, {.copies = {}, .host_calls = {}, .maths = maths})) {
    if (item.group != BenchGroup::kNetworks || !wanted(item.launch)) continue;
    MeasuredOp op = MeasuredOpOf(item.launch);
    if (item.launch.kind == OpKind::kConvolution) op.algorithm = "direct";
    op.time = 10000 + item.op;
    machine.devices[0].measured.push_back(op);
  }
  return machine;
}

// Each convolution by another algorithm too, in half the time.
void AddGemm(Bytes workspace, Machine* profile) {
  const std::vector<MeasuredOp> slower = profile->devices[0].measured;
  for (MeasuredOp op : slower) {
    if (op.op != OpKind::kConvolution) continue;
    op.algorithm = "gemm";
    op.time /= 2;
    op.workspace = workspace;
    profile->devices[0].measured.push_back(op);
  }
}

TEST_CASE("products and others have a factor each") {
  const Networks networks = OneNetwork();
  const Machine profile = ProfileOf(networks);
  PacedTarget target(profile, [](const Launch& launch) { return IsProduct(launch.kind) ? 1.25 : 0.8; });
  const MeasuredPace pace = MeasurePace(profile, networks, {}, target);
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
  MeasurePace(profile, networks, {}, target);
  for (const Launch& launch : target.measured) {
    if (launch.kind != OpKind::kConvolution) continue;
    CHECK(launch.algorithm == AlgorithmByName(launch.kind, launch.pass, "direct"));
  }
}

TEST_CASE("by the algorithm that plans take: the fastest within the workspace, else the one that wants least") {
  const Networks networks = OneNetwork();
  Machine profile = ProfileOf(networks);
  AddGemm(kMiB, &profile);
  const auto algorithms = [&](Bytes workspace) {
    PacedTarget target(profile, [](const Launch&) { return 1.0; });
    MeasurePace(profile, networks, {}, target, {.workspace = workspace});
    std::set<std::string> names;
    for (const Launch& launch : target.measured) {
      if (launch.kind != OpKind::kConvolution) continue;
      names.insert(AlgorithmNames(launch.kind, launch.pass)[static_cast<std::size_t>(launch.algorithm) - 1]);
    }
    return names;
  };
  CHECK(algorithms(kMiB) == std::set<std::string>{"gemm"});
  CHECK(algorithms(kMiB - 1) == std::set<std::string>{"direct"});
  for (MeasuredOp& op : profile.devices[0].measured) op.workspace += kMiB;
  CHECK(algorithms(kMiB - 1) == std::set<std::string>{"direct"});
}

TEST_CASE("by the algorithm that it is told, against the profile's time of that one") {
  const Networks networks = OneNetwork();
  Machine profile = ProfileOf(networks);
  AddGemm(0, &profile);
  const auto pace_by = [&](const std::string& told) {
    const auto number = [&told](const Launch& launch) {
      return launch.kind == OpKind::kConvolution ? AlgorithmByName(launch.kind, launch.pass, told) : 0;
    };
    PaceOptions options;
    options.algorithm = [&](const Launch& launch) {
      CHECK(launch.workspace == options.workspace);
      return number(launch);
    };
    PacedTarget target(profile, [](const Launch&) { return 1.25; });
    const MeasuredPace pace = MeasurePace(profile, networks, {}, target, options);
    for (const Launch& launch : target.measured) CHECK(launch.algorithm == number(launch));
    return pace.products;
  };
  for (const std::string told : {"direct", "gemm"}) {
    CHECK(pace_by(told).factor == Approx(1.25));
    CHECK(pace_by(told).launches == 16);
  }
  CHECK(pace_by("winograd").launches < 6);  // which the profile has no time of: linear ops alone
}

TEST_CASE("launches of the steps come first; those of others make up for what the profile lacks") {
  const Networks steps = OneNetwork();
  const Networks others = {MakeBenchNetwork("other", BuildZooNetwork("cifar-resnet20", {.batch = 64}), StepOptions{})};
  const auto of_steps = [](const Launch& launch) { return launch.shape.in.n == 2; };
  const auto is_product = [](const Launch& launch) { return IsProduct(launch.kind); };
  const Machine profile = ProfileOf({steps[0], others[0]}, [&](const Launch& launch) {
    return !of_steps(launch) || is_product(launch);  // of the steps products alone
  });
  PacedTarget target(profile, [](const Launch&) { return 1.0; });
  MeasurePace(profile, steps, others, target);
  int own = 0, foreign = 0;
  for (const Launch& launch : target.measured) (of_steps(launch) ? own : foreign) += 1;
  CHECK(own == 16);
  CHECK(foreign == 16);
  for (const Launch& launch : target.measured) CHECK(of_steps(launch) == is_product(launch));
}

TEST_CASE("products are timed in the math of the steps, in fp32 where the profile holds too few of those") {
  Network network = BuildZooNetwork("cifar-resnet20", {.batch = 2});
  network.math = MathMode::kTf32;
  const Networks networks = {MakeBenchNetwork("net", std::move(network), StepOptions{})};
  int tf32 = 0;
  const auto factors = [](const Launch& launch) {
    return !IsProduct(launch.kind) ? 0.9 : launch.math == MathMode::kTf32 ? 1.5 : 1.1;
  };
  const auto pace_of = [&](int most) {
    const auto wanted = [&](const Launch& launch) { return launch.math != MathMode::kTf32 || ++tf32 <= most; };
    tf32 = 0;
    const Machine profile = ProfileOf(OneNetwork(), wanted, {MathMode::kFp32, MathMode::kTf32});
    PacedTarget target(profile, factors);
    return MeasurePace(profile, networks, OneNetwork(), target);
  };
  CHECK(pace_of(6).products.factor == Approx(1.5));
  CHECK(pace_of(6).products.launches == 6);
  CHECK(pace_of(5).products.factor == Approx(1.1));
  CHECK(pace_of(5).others.factor == Approx(0.9));
  CHECK(pace_of(5).others.launches == 16);
}

TEST_CASE("a few launches that were disturbed do not move the factor") {
  const Networks networks = OneNetwork();
  const Machine profile = ProfileOf(networks);
  int calls = 0;
  PacedTarget target(profile, [&calls](const Launch&) { return ++calls % 4 == 0 ? 3.0 : 1.1; });
  const MeasuredPace pace = MeasurePace(profile, networks, {}, target);
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
  const MeasuredPace pace = MeasurePace(profile, networks, {}, target);
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
  const MeasuredPace pace = MeasurePace(bare, networks, {}, target);
  CHECK_FALSE(pace.Known());
  CHECK(FactorsOf(pace) == KernelPace{});
  CHECK(target.measured.empty());

  const Machine profile = ProfileOf(networks);
  PacedTarget refusing(profile, [](const Launch&) { return 0.0; });
  CHECK_FALSE(MeasurePace(profile, networks, {}, refusing).Known());
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
  CHECK(machine.devices[0].measured_with.operands == BenchProtocol::kStep);
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
    facts.driver = "550.54", facts.cuda = "12.4", facts.cudnn = "9.1.0";
    const MeasuredWith with = MachineOfBench(std::vector<Sample>{row}, facts, 0).devices[0].measured_with;
    CHECK(with == MeasuredWith{protocol, "550.54", "12.4", "9.1.0"});
  }
}

}  // namespace
}  // namespace spillway
