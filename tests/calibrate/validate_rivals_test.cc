// Models of a step's time, on a chain that can be drawn.
#include <catch2/catch.hpp>
#include <map>

#include "calibrate/validate/falsify.h"
#include "sim/strategies/pooch/pooch_model.h"
#include "tests/lower_case.h"

namespace spillway {
namespace {

// By model, for a chain of three layers in which m1 is swapped: forward ops take 4 ns, backward ops 4, copies of 512
// bytes 512 + latency.
std::map<std::string, Nanos> TimesOf(const LowerCase& c, const Plan& plan) {
  Problem problem;
  problem.step = &c.step;
  problem.costs = &c.costs;
  problem.capacity = kMB;
  const Evaluation evaluation = Evaluate(plan, problem);
  REQUIRE(evaluation.feasible);
  std::map<std::string, Nanos> times;
  for (const StepModel& model : StepModels()) times[model.name] = model.predict(evaluation, plan, problem);
  return times;
}

// 1 ns a byte after 100 ns; copies and kernels in each other's way; calls cost the host 7 ns.
Machine FullMachine() {
  Machine machine = HandMachine(1, 100);
  machine.links[0].duplex_factor = {0.5, 0.5};
  machine.devices[0].host_costs.kernel_launch = 7;
  machine.devices[0].host_costs.copy_submit = 7;
  CostLaw law;
  law.op = OpKind::kLinear;
  law.pass = Pass::kForward;
  law.flop_fraction = 1;
  law.copy_slowdown = 2;
  machine.devices[0].laws.push_back(law);
  return machine;
}

TEST_CASE("without a feature, its cost is gone; where nothing of the kind happens, nothing changes") {
  const LowerCase c(MakeChain({.forward = 1000, .backward = 1000}), FullMachine());
  const std::map<std::string, Nanos> in_core = TimesOf(c, c.Of({}));
  CHECK(in_core.at("sum of ops") == 6000);
  CHECK(in_core.at("no contention") == in_core.at("full"));  // nothing can run beside the upload
  CHECK(in_core.at("no duplex loss") == in_core.at("full"));
  CHECK(in_core.at("no host cost") < in_core.at("full"));

  const std::map<std::string, Nanos> swapped =
      TimesOf(c, c.Of({c.Swap("m1", "f2:forward", "b1:backward"), c.Swap("m2", "f3:forward", "b2:backward")}));
  for (const char* name : {"no latency", "no contention", "no host cost"}) {
    INFO(name);
    CHECK(swapped.at(name) < swapped.at("full"));
  }
  CHECK(swapped.at("sum of ops") == 6000);
  CHECK(swapped.at("max(compute, transfer)") == 6000);
}

TEST_CASE("sums, on the bare machine") {
  const LowerCase c(MakeChain({.forward = 4, .backward = 4}));
  const Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward")});
  const std::map<std::string, Nanos> times = TimesOf(c, plan);
  CHECK(times.at("sum of ops") == 24);
  // In: the data twice? no, once (10), and m1 (10): 20 beside 24 of compute.
  CHECK(times.at("max(compute, transfer)") == 24);
  CHECK(times.at("no latency") <= times.at("full"));
  CHECK(times.at("no contention") == times.at("full"));
  CHECK(times.at("no host cost") == times.at("full"));
}

TEST_CASE("the busier direction counts where there are two streams, their sum where there is one") {
  const LowerCase c(MakeChain({.data = 0, .map = 100, .forward = 4, .backward = 4}));
  Plan plan = c.Of({c.Swap("m1", "f2:forward", "b1:backward"), c.Swap("m2", "f3:forward", "b2:backward")});
  CHECK(TimesOf(c, plan).at("max(compute, transfer)") == 200);
  plan.runtime.copy_streams = 1;
  CHECK(TimesOf(c, plan).at("max(compute, transfer)") == 400);
}

TEST_CASE("two clocks is PoocH's simulation of the plan's classes") {
  const LowerCase c(MakeChain({.data = 0, .map = 100, .forward = 4, .backward = 4}));
  const PoochModel model(ProfileStep(c.step, c.costs, kMB));
  SimulationScratch scratch = model.MakeScratch();
  const Nanos kept = model.Simulate(Classes(3, MapClass::kKeep), {}, scratch).total;
  const Nanos one = model.Simulate(Classes{MapClass::kSwap, MapClass::kKeep, MapClass::kKeep}, {}, scratch).total;
  REQUIRE(one != kept);
  CHECK(TimesOf(c, c.Of({})).at("two clocks") == kept);
  CHECK(TimesOf(c, c.Of({c.Swap("m1", "f2:forward", "b1:backward")})).at("two clocks") == one);
}

}  // namespace
}  // namespace spillway
