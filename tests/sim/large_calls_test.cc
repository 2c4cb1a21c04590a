// Convolutions with a tensor beyond the library's indices: refused whole, divided by a framework, or run in parts of a
// plan (model/cost/library_limits.h).
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "model/cost/library_limits.h"
#include "model/cost/op_tiles.h"
#include "model/unroll/unroll.h"
#include "model/zoo/network_builder.h"
#include "model/zoo/zoo.h"
#include "sim/certify/certificate.h"
#include "sim/certify/find_certificate.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

// 16 x 1024 x 1024 = 2^24 elements a sample: 127 samples are below 2^31, 128 are not.
constexpr std::int64_t kFits = 127, kTooMany = 128;

Network Wide(std::int64_t batch) {
  NetworkBuilder b("wide", {.n = batch, .c = 3, .h = 1024, .w = 1024});
  const LayerId first = b.ConvolutionRelu("c1", kNetworkInput, Square(16, 3, 1, 1));
  const LayerId second = b.ConvolutionRelu("c2", first, Square(8, 3, 4, 1));
  return b.Loss(b.Linear("fc", second, 10));
}

struct Case {
  explicit Case(std::int64_t batch, LargeCalls large = LargeCalls::kRefused, const char* on = "h100-sxm")
      : machine(LoadMachine(on)),
        costs(machine, {.workspace_limit = 64 * kMiB, .large_calls = large}),
        step(BuildTrainingStep(Wide(batch), StepOptionsByName("torch"))) {}
  Problem In(Bytes capacity) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.simulation_cap = 200;
    return problem;
  }
  Evaluation Judged(const char* strategy, Bytes capacity) const {
    const Problem problem = In(capacity);
    const Planned planned = PlanWithHeadroom(StrategyByName(strategy), problem);
    if (!planned.feasible) {
      Evaluation none;
      none.reason = planned.reason;
      return none;
    }
    return Evaluate(planned.plan, problem, {.scope = planned.scope});
  }
  Machine machine;
  CostModel costs;
  TrainingStep step;
};

constexpr Bytes kMuch = 75 * kGB;

}  // namespace

TEST_CASE("a step below the limit runs whole, one beyond it says which op the library refuses") {
  const Case below(kFits);
  CHECK(below.Judged("in-core", kMuch).feasible);
  const Case beyond(kTooMany);
  for (const char* strategy : {"in-core", "swap-all", "recompute-all", "pooch"}) {
    INFO(strategy);
    const Evaluation judged = beyond.Judged(strategy, kMuch);
    CHECK_FALSE(judged.feasible);
    CHECK_THAT(judged.reason,
               Catch::Contains("library_limit: c1:forward has a tensor of 2147483648 elements; cuDNN before 9.3 takes "
                               "convolutions of up to 2147483647: 127 of 128 samples in one call (no version is named: "
                               "one before 9.3 is assumed)"));
  }
}

TEST_CASE("a framework that divides such calls runs the step, and the op takes the time of its parts") {
  const Case c(kTooMany, LargeCalls::kDivided);
  const Evaluation judged = c.Judged("in-core", kMuch);
  INFO(judged.reason);
  REQUIRE(judged.feasible);
  CHECK(judged.bounds.Best() <= judged.step_time);
  int divided = 0;
  for (const Op& op : c.step.ops) {
    const Launch launch = LaunchOf(op);
    const Cost cost = c.costs.Kernel(launch);
    if (!IsLarge(launch)) {
      CHECK(cost.calls == 1);
      continue;
    }
    ++divided;
    // 2^24 elements a sample: parts of 16 samples forward, 8 and 32 of the gradients.
    const std::int64_t samples = op.pass == Pass::kForward ? 16 : op.pass == Pass::kBackwardData ? 8 : 32;
    CHECK(SamplesOfDividedCall(launch) == samples);
    CHECK(cost.calls == kTooMany / samples);
    CHECK(cost.time == cost.calls * c.costs.Kernel(PartOf(launch, samples, true)).time);
  }
  CHECK(divided >= 4);  // both convolutions forward, and their gradients
}

TEST_CASE("planners that divide run what the library refuses whole, above their bounds, with certificates") {
  const Case c(kTooMany);
  for (const char* strategy : {"best", "ucudnn-wr", "swap-all-parts"}) {
    for (const Bytes capacity : {kMuch, 25 * kGB}) {
      const Problem problem = c.In(capacity);
      const Planned planned = PlanWithHeadroom(StrategyByName(strategy), problem);
      INFO(strategy << " in " << FormatBytes(capacity) << ": " << planned.reason);
      const bool moves = strategy != std::string("ucudnn-wr");
      if (!planned.feasible && !moves && capacity != kMuch) continue;
      REQUIRE(planned.feasible);
      const Evaluation judged = Evaluate(planned.plan, problem, {.scope = planned.scope});
      if (!judged.feasible && !moves && capacity != kMuch) continue;
      INFO(judged.reason);
      REQUIRE(judged.feasible);
      CHECK(judged.bounds.Best() <= judged.step_time);
      CHECK(judged.widest.Best() <= judged.step_time);
      for (const OpDecision& decision : planned.plan.ops) {
        for (const OpPart& part : decision.parts) {
          if (IsLarge(LaunchOf(c.step.ops[Index(decision.op)]))) CHECK(part.samples <= kFits);
        }
      }
      const StepFacts facts(c.step, c.costs);
      const auto found = FindCertificate(facts, capacity, judged.scope);
      if (!found) continue;
      CHECK(ProvenBound(c.step, c.costs, *found) >= found->bound);
      CHECK(found->bound <= judged.step_time);
    }
  }
}

TEST_CASE("what a profile says of the version decides, and launches that were timed were taken") {
  Machine machine = LoadMachine("h100-sxm");
  machine.devices[0].cudnn = "9.5";
  const Launch large = LaunchOf(BuildTrainingStep(Wide(kTooMany)).ops[0]);
  REQUIRE(IsLarge(large));
  CHECK(CostModel(machine).Kernel(large).calls == 1);
  machine.devices[0].cudnn = "8.9.2";
  CHECK(CostModel(machine).Kernel(large).calls == 0);
  CHECK(CostModel(machine).Menu(large).empty());
  CHECK(CostModel(machine, {.large_calls = LargeCalls::kTaken}).Kernel(large).calls == 1);
  CHECK(CostModel(machine, {.large_calls = LargeCalls::kTaken}).Kernel(large).time ==
        CostModel(machine).Kernel(large).time);
  machine.devices[0].cudnn = "";
  machine.devices[0].measured_with.cudnn = "9.10.2";
  CHECK(CostModel(machine).Kernel(large).calls == 1);
}

TEST_CASE("a sample that is too large by itself is refused in every framework") {
  const Machine machine = LoadMachine("h100-sxm");
  NetworkBuilder b("huge", {.n = 2, .c = 3, .h = 8192, .w = 8192});
  const TrainingStep step =
      BuildTrainingStep(b.Loss(b.Linear("fc", b.ConvolutionRelu("c1", kNetworkInput, Square(32, 3, 1, 1)), 10)));
  const Launch launch = LaunchOf(step.ops[0]);
  CHECK(SamplesOfDividedCall(launch) == 0);
  CHECK(CostModel(machine, {.large_calls = LargeCalls::kDivided}).Kernel(launch).calls == 0);
}

}  // namespace spillway
