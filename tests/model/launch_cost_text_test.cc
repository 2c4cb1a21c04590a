// The costs of launches by op and pass in a profile: read, printed, refused.
#include <catch2/catch.hpp>

#include "model/profile/profile_text.h"
#include "tests/profile_text.h"
#include "tests/user_errors.h"

namespace spillway {
namespace {

// From line 12 on.
const std::string kLaunches = R"(
      launches: {source: {measured: "driver 1"}, ops: [
      {op: convolution, pass: forward, time: 9200 ns},
      {op: relu, pass: backward, time: 3 us}]}})";

std::string Profile(const std::string& launches = kLaunches) {
  std::string text = ProfileText("");
  const std::string end = "sync: 10 us, source: {assumed: test}}";
  return text.replace(text.find(end), end.size(), end.substr(0, end.size() - 1) + "," + launches);
}

std::string With(const std::string& from, const std::string& to) {
  std::string launches = kLaunches;
  const std::size_t at = launches.find(from);
  REQUIRE(at != std::string::npos);
  return Profile(launches.replace(at, from.size(), to));
}

std::string ErrorOfProfile(const std::string& text) {
  return ErrorOf([&text] { ParseMachine(text, "m.yaml"); });
}

}  // namespace

TEST_CASE("launch costs are read") {
  const HostCosts costs = ParseMachine(Profile(), "m.yaml").devices[0].host_costs;
  CHECK(costs.kernel_launch == 5000);
  CHECK(costs.launches_source == Source{Source::Kind::kMeasured, "driver 1"});
  REQUIRE(costs.launches.size() == 2);
  CHECK(costs.launches[0] == LaunchCost{.op = OpKind::kConvolution, .pass = Pass::kForward, .time = 9200});
  CHECK(costs.launches[1] == LaunchCost{.op = OpKind::kRelu, .pass = Pass::kBackward, .time = 3000});
}

TEST_CASE("a profile without launch costs says nothing of them") {
  const Machine machine = ParseMachine(ProfileText(""), "m.yaml");
  CHECK(machine.devices[0].host_costs.launches.empty());
  CHECK(LaunchCostsText(machine.devices[0].host_costs).empty());
  CHECK_THAT(MachineToYaml(machine), !Catch::Contains("launches"));
}

TEST_CASE("a printed profile with launch costs loads as the same one") {
  Machine machine = ParseMachine(Profile(), "m.yaml");
  HostCosts& costs = machine.devices[0].host_costs;
  costs.launches.push_back({.op = OpKind::kBatchNorm, .pass = Pass::kBackward, .time = 12'345});
  costs.launches_source.text = "a \"quoted\": text";
  const Machine again = Reread(machine);
  CHECK_THAT(MachineToYaml(machine),
             Catch::Contains("          - {op: \"convolution\", pass: \"forward\", time: 9200 ns}\n"));
  costs.launches[0].time = 1;
  CHECK_FALSE(again == machine);
}

TEST_CASE("what is wrong with a launch cost is told at its place") {
  struct Bad {
    const char *from, *to, *message;
  };
  const Bad cases[] = {
      {"op: relu", "opp: relu",
       "m.yaml:14:8: error: unknown key 'opp' in launches of device 'gpu'; did you mean 'op'?"},
      {"op: relu", "opp: relu", "missing key 'op' in launches of device 'gpu'"},
      {"pass: backward, ", "", "missing key 'pass' in launches of device 'gpu'"},
      {", time: 3 us", "", "missing key 'time' in launches of device 'gpu'"},
      {"time: 3 us", "time: 3", "m.yaml:14:40: error: time: "},
      {"relu, pass: backward", "convolution, pass: forward",
       "m.yaml:14:7: error: a second launch cost of convolution forward"},
      {"op: relu", "op: rely",
       "m.yaml:14:12: error: machine 'small', device 'gpu': launches: unknown op 'rely'; did you mean 'relu'?"},
      {"pass: backward", "pass: backwards",
       "m.yaml:14:24: error: machine 'small', device 'gpu': launches: unknown pass 'backwards'; did you mean "
       "'backward'?"},
      {"source: {measured: \"driver 1\"}, ", "", "missing key 'source' in launches of device 'gpu'"},
      {"source: {measured: \"driver 1\"}", "source: {guessed: x}", "unknown key 'guessed' in source"},
      {"ops: [", "op: [", "unknown key 'op' in launches of device 'gpu'; did you mean 'ops'?"},
  };
  for (const Bad& bad : cases) {
    INFO(bad.from << " -> " << bad.to);
    CHECK_THAT(ErrorOfProfile(With(bad.from, bad.to)), Catch::Contains(bad.message));
  }
  CHECK_THAT(ErrorOfProfile(Profile(" launches: {source: {assumed: x}, ops: []}}")),
             Catch::Contains("expected at least 1 launch cost"));
  CHECK_THAT(ErrorOfProfile(Profile(" launches: 5 us}")), Catch::Contains("launches of device 'gpu'"));
}

}  // namespace spillway
