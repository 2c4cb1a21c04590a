// The pace followed while steps are measured: factors at moments that can be worked out by hand.
#include <algorithm>
#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "calibrate/validate/track.h"
#include "model/network/network.h"
#include "model/profile/launch_text.h"
#include "model/stats/quantile.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "tests/paced_target.h"
#include "tests/small_programs.h"

namespace spillway {
namespace {

// A product and another launch that took 100 and 50 ns by the profile, and `product` and `other` times that at `at`.
PaceProbe At(Nanos at, double product, double other) {
  return {.at = at,
          .launches = {{.index = 0, .product = true, .then = 100, .now = 100, .passed = 100 * product},
                       {.index = 1, .product = false, .then = 50, .now = 50, .passed = 50 * other}}};
}

TEST_CASE("between probes a line, beyond them the last one, without any 1") {
  const std::vector<PaceProbe> probes = {At(100, 1, 2), At(200, 3, 4)};
  CHECK(PaceAt(probes, 50) == KernelPace{1, 2});
  CHECK(PaceAt(probes, 125) == KernelPace{1.5, 2.5});
  CHECK(PaceAt(probes, 200) == KernelPace{3, 4});
  CHECK(PaceAt(probes, 900) == KernelPace{3, 4});
  CHECK(PaceAt({}, 100) == KernelPace{});
}

TEST_CASE("one probe that was disturbed alone is as its neighbours are") {
  const std::vector<PaceProbe> probes = {At(0, 1, 1), At(100, 1.1, 1), At(200, 9, 1), At(300, 1.2, 1), At(400, 1.3, 9)};
  CHECK(PaceAt(probes, 200).products == Approx(1.2));  // of 1.1, 9 and 1.2
  CHECK(PaceAt(probes, 100).products == Approx(1.1));
  CHECK(PaceAt(probes, 0).products == Approx(1.1));  // the first three
  CHECK(PaceAt(probes, 400).others == Approx(1));    // the last three
}

TEST_CASE("sums count: a long launch for more than a short one") {
  PaceProbe probe = At(0, 1, 1);
  probe.launches.push_back({.index = 2, .product = true, .then = 900, .now = 900, .passed = 1800});
  CHECK(PaceAt(std::vector{probe}, 0).products == Approx(1.9));
  CHECK(PaceAt(std::vector{probe}, 0).others == Approx(1));
}

TEST_CASE("a group of which nothing was timed goes as the other one") {
  PaceProbe probe = At(0, 1.5, 1);
  probe.launches.pop_back();
  CHECK(PaceAt(std::vector{probe}, 0) == KernelPace{1.5, 1.5});
}

TEST_CASE("what a thread that computes on waits is laid on what launches had of their core") {
  PaceProbe probe = At(0, 1.5, 9);  // between two waits, and holding one
  for (LaunchAgain& launch : probe.launches) launch.computed = 1.2 * launch.then;
  CHECK(PaceAt(std::vector{probe}, 0) == KernelPace{1.5, 9});  // nobody told
  probe.waiting = 5;
  CHECK(PaceAt(std::vector{probe}, 0).products == Approx(6));
  CHECK(PaceAt(std::vector{probe}, 0).others == Approx(6));
}

TEST_CASE("who waits is looked at more often than launches are timed: each look counts as it is, linear between two") {
  const auto waits = [](Nanos at, double waiting) { return PaceProbe{.at = at, .launches = {}, .waiting = waiting}; };
  std::vector<PaceProbe> probes = {At(0, 1, 2), waits(100, 3), waits(200, 5), waits(300, 1), At(400, 1, 2)};
  for (PaceProbe& probe : probes) {
    for (LaunchAgain& launch : probe.launches) launch.computed = launch.passed;
  }
  probes.front().waiting = probes.back().waiting = 1;
  CHECK(PaceAt(probes, 0) == KernelPace{1, 2});
  CHECK(PaceAt(probes, 50) == KernelPace{2, 4});
  CHECK(PaceAt(probes, 150) == KernelPace{4, 8});
  CHECK(PaceAt(probes, 200) == KernelPace{5, 10});
  CHECK(PaceAt(probes, 350) == KernelPace{1, 2});
  CHECK(LaunchesDiffer(probes) == 0);
  MeasuredPace pace;
  pace.products = pace.others = PaceGroupOf(std::vector(6, 1.5));
  CheckPace(probes, pace);  // two launches are too few, five looks or not
  CHECK(pace.products.meanwhile == 0);
  // A launch that was off its core for long is not to count for each of these.
  probes.front().launches[0].passed = 900;
  CHECK(PaceAt(probes, 150) == KernelPace{4, 8});
}

using Networks = std::vector<std::shared_ptr<const BenchNetwork>>;

Networks OneNetwork() {
  return {MakeBenchNetwork("net", BuildZooNetwork("cifar-resnet20", {.batch = 2}), StepOptions{})};
}

Machine ProfileOf(const Networks& networks) {
  Machine machine = LoadMachine("unit");
  for (const BenchItem& item : MakeBenchPlan(networks, {}, {.copies = {}, .host_calls = {}})) {
    if (item.group != BenchGroup::kNetworks) continue;
    MeasuredOp op = MeasuredOpOf(item.launch);
    if (item.launch.kind == OpKind::kConvolution) op.algorithm = "direct";
    op.time = 10000 + item.op;
    machine.devices[0].measured.push_back(op);
  }
  return machine;
}

TEST_CASE("of the launches timed before, some of each group are timed again, against the profile") {
  const Networks networks = OneNetwork();
  const Machine profile = ProfileOf(networks);
  PacedTarget before(profile, [](const Launch&) { return 1.25; });
  std::vector<PacedLaunch> timed;
  MeasurePace(profile, networks, {}, before, {}, &timed);
  CHECK(timed.size() == 32);
  const std::vector<PacedLaunch> tracked = TrackedLaunches(timed);
  CHECK(tracked.size() == 2 * kTrackedLaunches);
  CHECK(tracked.front().item.launch == timed.front().item.launch);
  int refused = 0;
  PacedTarget now(profile, [&](const Launch& l) { return ++refused == 3 ? 0 : IsProduct(l.kind) ? 1.5 : 2; });
  now.waits = [] { return 3.0; };
  PaceProbe probe = ProbePace(tracked, now, 77);
  CHECK(probe.at == 77);
  CHECK(probe.launches.size() == tracked.size() - 1);
  CHECK(probe.launches[1].index == 1);
  CHECK(probe.launches[2].index == 3);  // the third was refused
  CHECK(PaceAt(std::vector{probe}, 0).products == Approx(4.5));
  probe.waiting = 0;
  CHECK(PaceAt(std::vector{probe}, 0).products == Approx(1.5));
  CHECK(PaceAt(std::vector{probe}, 0).others == Approx(2));
  for (const Launch& launch : now.measured) CHECK((launch.kind != OpKind::kConvolution || launch.algorithm != 0));
}

// Six launches of each group, by themselves `now` times the profile.
PaceProbe Twelve(double now) {
  PaceProbe probe;
  for (std::size_t k = 0; k < 12; ++k) {
    probe.launches.push_back({.index = k, .product = k < 6, .then = 100, .now = 100 * now, .passed = 900});
  }
  return probe;
}

TEST_CASE("a factor is left applied where launches between the steps lie on its side of 1") {
  const auto judged = [](double before, const std::vector<double>& meanwhile) {
    MeasuredPace pace;
    pace.products = pace.others = PaceGroupOf(std::vector(6, before));
    CHECK(pace.products.applied == (before != 1));
    std::vector<PaceProbe> probes;
    for (const double now : meanwhile) probes.push_back(Twelve(now));
    CheckPace(probes, pace);
    CHECK(pace.products.applied == pace.others.applied);
    if (!meanwhile.empty()) CHECK(pace.products.meanwhile == Approx(Median(meanwhile)));
    CHECK(pace.products.factor == before);
    return pace.products.applied;
  };
  CHECK(judged(0.8, {0.88, 0.85, 3}));  // the median of the probes, so that one does not decide
  CHECK_FALSE(judged(0.8, {1, 1, 1}));
  CHECK_FALSE(judged(0.8, {1.1, 1.2, 1.1}));
  CHECK(judged(1.2, {1.1}));
  CHECK_FALSE(judged(1.2, {0.9}));
  CHECK(judged(1.2, {}));  // nobody looked
  CHECK_FALSE(judged(1, {1.3}));
  // On the right side of 1, and nearer to 1 than to the factor: it would do harm.
  CHECK_FALSE(judged(0.65, {0.98}));
  CHECK_FALSE(judged(1.5, {1.2}));
  CHECK(judged(1.5, {1.3}));
}

TEST_CASE("a launch that was refused now and then is compared with itself, not with its neighbour") {
  // Launch k takes k + 1 times as long as by the profile, always.
  const auto probe = [](const std::vector<std::size_t>& refused) {
    PaceProbe all = Twelve(1);
    for (LaunchAgain& launch : all.launches) {
      launch.now *= static_cast<double>(launch.index + 1);
      launch.passed = launch.now;
    }
    std::erase_if(all.launches, [&](const LaunchAgain& launch) {
      return std::find(refused.begin(), refused.end(), launch.index) != refused.end();
    });
    return all;
  };
  MeasuredPace pace;
  pace.products = PaceGroupOf(std::vector(6, 3.0));
  pace.others = PaceGroupOf(std::vector(6, 9.0));
  // Two that refused others: as many launches, not the same ones.
  const std::vector<PaceProbe> unlike = {probe({0}), probe({11}), probe({11})};
  CHECK(LaunchesDiffer(unlike) == 0);
  CheckPace(unlike, pace);
  CHECK(pace.products.meanwhile == Approx(3.5));  // of 1 to 6
  CHECK(pace.others.meanwhile == Approx(9.5));    // of 7 to 12
  // The first one lacks a launch; the others count all the same.
  std::vector<PaceProbe> first = {probe({0}), probe({}), probe({})};
  for (PaceProbe& later : std::span(first).subspan(1)) {
    for (LaunchAgain& launch : later.launches) launch.passed *= 2;
  }
  CHECK(LaunchesDiffer(first) > 0.4);
}

TEST_CASE("an interval that holds 1 applies nothing") {
  CHECK_FALSE(PaceGroupOf({0.66, 0.7, 0.8, 0.86, 0.9, 1.0}).applied);
  CHECK(PaceGroupOf({0.66, 0.7, 0.72, 0.73, 0.74, 0.75}).applied);
  CHECK(PaceGroupOf({1.1, 1.1, 1.1, 1.12, 1.15, 1.15}).applied);
  CHECK_FALSE(PaceGroupOf({0.5, 0.5, 0.5}).applied);  // too few
  MeasuredPace pace;
  pace.products = {.factor = 0.83, .low = 0.66, .high = 1.0, .launches = 6};
  pace.others = {.factor = 0.8, .low = 0.7, .high = 0.9, .launches = 6, .applied = true};
  CHECK(FactorsOf(pace) == KernelPace{1, 0.8});
}

TEST_CASE("steps are predicted at the pace of their rounds") {
  ProgramBuilder p;
  const BufferId x = p.Device(100);
  p.Alloc(kCompute, x);
  p.Kernel({Wr(x)});
  p.Free(kCompute, x);
  Program program = p.Build();
  program.launches[0].kind = OpKind::kRelu;
  program.launches[0].shape.in = program.launches[0].shape.out = Shape{1, 1000, 1, 1, 1};
  const Machine machine = LoadMachine("unit");
  const CostModel costs(machine);
  const Nanos usual = costs.Kernel(program.launches[0]).time;
  CHECK(StepTimeAt(program, costs, {}, {}, kMB) == usual);
  CHECK(StepTimeAt(program, costs, {.products = 5, .others = 2}, {}, kMB) == 2 * usual);  // no product
  const auto step = static_cast<double>(usual);
  ValidationRow row;
  row.step_times = {{step, 1.1 * step}, {3 * step}, {3 * step, 3 * step}};
  row.moments = {100, 200, 300};
  const std::vector<PaceProbe> probes = {At(100, 9, 1), At(150, 9, 3)};
  PredictTracked(program, costs, {}, kMB, probes, row);
  CHECK(row.tracked == 3 * usual);
  CHECK(row.tracked_error == Approx(0).margin(1e-9));
  ValidationRow nobody_looked = row;
  nobody_looked.tracked = 0;
  PredictTracked(program, costs, {}, kMB, {}, nobody_looked);
  CHECK(nobody_looked.tracked == 0);
}

TEST_CASE("how far rounds of a plan, and launches between them, differ") {
  ValidationRow calm, restless, failed;
  calm.step_times = {{100, 100}, {100, 104}, {100, 300, 100}};  // medians 100, 102, 100
  restless.step_times = {{100}, {120}, {150}};
  calm.measured = restless.measured = 100;
  CHECK(RoundsDiffer(std::vector{calm}) == Approx(0.02));
  CHECK(RoundsDiffer(std::vector{restless}) == Approx(50.0 / 120));
  CHECK(RoundsDiffer(std::vector{calm, restless, failed}) == Approx((0.02 + 50.0 / 120) / 2));
  CHECK(RoundsDiffer(std::vector{failed}) == -1);
  CHECK(LaunchesDiffer(std::vector{At(0, 1, 1)}) == -1);
  CHECK(LaunchesDiffer(std::vector{At(0, 1, 1), At(1, 1.5, 1), At(2, 2, 1)}) == Approx(1.0 / 1.5 / 2));
}

TEST_CASE("a machine is crowded where somebody waits, unsteady where rounds differ by more than a tenth") {
  const MachineNoise quiet{.load = 1.9, .room = 2, .rounds = 0.05};
  CHECK(quiet.Trusted());
  CHECK_FALSE(MachineNoise{}.Judged());  // nobody looked
  CHECK_FALSE(MachineNoise{}.Trusted());
  CHECK_FALSE(MachineNoise{.load = 1}.Judged());  // of how many?
  CHECK(MachineNoise{.load = 1, .room = 2}.Trusted());
  CHECK(MachineNoise{.rounds = 0.05}.Trusted());
  MachineNoise worst = quiet;
  worst.Add({.load = 0.5, .room = 2, .rounds = 0.2, .launches = 0.5});
  CHECK(worst.Unsteady());
  CHECK_FALSE(worst.Crowded());
  CHECK(worst.launches == 0.5);
  worst.Add({.load = 2.5});
  CHECK(worst.Crowded());
  CHECK_FALSE(MachineNoise{.load = 30, .room = 64}.Crowded());
}

}  // namespace
}  // namespace spillway
