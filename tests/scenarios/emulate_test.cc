// `emulate:` of a scenario: another machine's balance of computing and copying.
#include <catch2/catch.hpp>

#include "scenarios/run/prepare.h"
#include "tests/command_line.h"
#include "tests/temporary_folder.h"

namespace spillway {
namespace {

const std::string kHead = "name: demo\nnetwork: {zoo: cifar-resnet20, batch: 4}\nmachines: unit\nstrategies: in-core\n";

Scenario Parse(const std::string& text) { return ReadScenario(ParseDocument(kHead + text, "s.yaml")); }

std::string ErrorsOf(const std::string& text) {
  try {
    PreparedRun run;
    Prepare(Parse(text), {}, run);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

Launch Product() {
  Launch launch;
  launch.kind = OpKind::kLinear;
  launch.shape.in = {.n = 10, .c = 100};
  launch.shape.out = {.n = 10, .c = 20};
  return launch;
}

TEST_CASE("what is emulated is read, in the order given") {
  CHECK(Parse("").emulate.size() == 1);
  CHECK_FALSE(Parse("").emulate[0].Any());
  const Scenario s = Parse("emulate: [as-is, {compute_slowdown: 5}, {compute_slowdown: 5, link_rate: 500 MB/s}]\n");
  REQUIRE(s.emulate.size() == 3);
  CHECK(s.emulate[0].Label().empty());
  CHECK(s.emulate[1].Label() == "5x");
  CHECK(s.emulate[1].compute_slowdown == 5);
  CHECK(s.emulate[2].Label() == "5x,0.5GB/s");
  CHECK(s.emulate[2].link_rate == 0.5);
  CHECK(Parse("emulate: {link_rate: 0.25 GB/s}\n").emulate[0].Label() == "0.25GB/s");
}

TEST_CASE("mistakes are told in their place") {
  CHECK_THAT(ErrorsOf("emulate: {compute_slowdown: 0.5}\n"), Catch::Contains("s.yaml:5:29"));
  CHECK_THAT(ErrorsOf("emulate: {link_rate: 5}\n"), Catch::Contains("s.yaml:5:22"));
  CHECK_THAT(ErrorsOf("emulate: {link_rate: 0 GB/s}\n"), Catch::Contains("must be more than zero"));
  CHECK_THAT(ErrorsOf("emulate: {compute_slow: 5}\n"), Catch::Contains("did you mean 'compute_slowdown'"));
  CHECK_THAT(ErrorsOf("emulate: {}\n"), Catch::Contains("give compute_slowdown, link_rate or both"));
  CHECK_THAT(ErrorsOf("emulate: [as-is, {compute_slowdown: 1}]\n"), Catch::Contains("listed twice"));
  CHECK_THAT(ErrorsOf("link: 0.5 GB/s\nemulate: {link_rate: 0.5 GB/s}\n"), Catch::Contains("give one of them"));
  // The unit machine's link moves a byte per nanosecond.
  CHECK_THAT(
      ErrorsOf("emulate: {link_rate: 2 GB/s}\n"),
      Catch::Contains("s.yaml:5:10: error: emulate: link_rate: 2GB/s is more than the 1GB/s of unit's own link"));
}

TEST_CASE("kernels take so many times as long, copies what the pace leaves") {
  PreparedRun run;
  Prepare(Parse("emulate: [as-is, {compute_slowdown: 5, link_rate: 0.5 GB/s}]\n"), {}, run);
  REQUIRE(run.machines.size() == 2);
  CHECK(run.machines[0]->label == "unit");
  CHECK(run.machines[1]->label == "unit+emulate=5x,0.5GB/s");
  const CostModel &plain = *run.machines[0]->costs, &slow = *run.machines[1]->costs;
  CHECK(plain.Kernel(Product()).time == 2 * 10 * 100 * 20);  // a flop per nanosecond
  CHECK(slow.Kernel(Product()).time == 5 * plain.Kernel(Product()).time);
  const Nanos latency = run.machines[0]->machine.LinkOf(0).curves[0].points.front().time;
  for (const Direction direction : {Direction::kHostToDevice, Direction::kDeviceToHost}) {
    CHECK(plain.Copy(kMB, direction).time == Approx(1'000'000).margin(static_cast<double>(latency)));
    CHECK(slow.Copy(kMB, direction).time == Approx(2'000'000).margin(static_cast<double>(latency)));
    CHECK(slow.Copy(10 * kGB, direction).time == Approx(20e9).epsilon(1e-6));  // beyond the curve's end too
  }
}

TEST_CASE("copies slow a kernel down by as many nanoseconds as without idling") {
  Machine machine = LoadMachine("unit");
  CostLaw law;
  law.op = OpKind::kLinear;
  law.pass = Pass::kForward;
  law.flop_fraction = 1;
  law.copy_slowdown = 1.5;
  machine.devices[0].laws.push_back(law);
  const CostModel plain(machine), slow(machine, {.compute_slowdown = 4});
  const Cost a = plain.Kernel(Product()), b = slow.Kernel(Product());
  CHECK(a.copy_slowdown == 1.5);
  CHECK(b.time == 4 * a.time);
  CHECK(static_cast<double>(b.time) * (b.copy_slowdown - 1) ==
        Approx(static_cast<double>(a.time) * (a.copy_slowdown - 1)));
  CHECK(a.workspace == b.workspace);
}

TEST_CASE("a step on an emulated machine takes five times as long where nothing is copied beside it") {
  PreparedRun run;
  Prepare(Parse("emulate: [as-is, {compute_slowdown: 5}]\n"), {}, run);
  Nanos sum[2] = {};
  for (const int machine : {0, 1}) {
    for (const Op& op : run.steps[0]->step.ops) {
      sum[machine] += run.machines[static_cast<std::size_t>(machine)]->costs->Kernel(LaunchOf(op)).time;
    }
  }
  CHECK(sum[1] == 5 * sum[0]);
}

#ifdef SPILLWAY_HAS_CPU_DEVICE
TEST_CASE("a device that cannot slow its kernels down refuses, with the place") {
  const TemporaryFolder folder("emulate");
  Machine machine = LoadMachine("unit");
  machine.name = "tiny";
  machine.devices[0].name = "cpu0";
  folder.Write("tiny.yaml", MachineToYaml(machine));
  const std::string scenario = folder.Write(
      "s.yaml",
      "name: demo\nnetwork: {zoo: cifar-resnet20, batch: 2}\nmachines: tiny.yaml\nstrategies: swap-all\nmemory: 5 MB\n"
      "emulate: {compute_slowdown: 3}\n");
  const Outcome outcome = Spillway({"validate", scenario, "--device", "cpu"});
  CHECK(outcome.status == kExitWrongInput);
  CHECK_THAT(outcome.err,
             Catch::Contains("s.yaml:6:10: error: emulate: compute_slowdown: the device of tiny+emulate=3x"));
}
#endif

}  // namespace
}  // namespace spillway
