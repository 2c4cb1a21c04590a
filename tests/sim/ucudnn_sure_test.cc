// Divisions of convolutions that pay in 90 % of the common draws of the cost model's errors.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "model/cost/op_tiles.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/strategies/strategies.h"
#include "sim/strategies/ucudnn/configurations.h"
#include "sim/uncertainty/uncertainty.h"

namespace spillway {
namespace {

using ucudnn::Configuration;
using ucudnn::DrawnConfigurations;

constexpr double kShared = 0.1;

// A sample takes as long as its algorithm says; what an algorithm's answers share errs by a tenth, nothing else does.
class SharedErrors : public CostModel {
 public:
  explicit SharedErrors(const Machine& machine) : CostModel(machine) {}
  Cost Kernel(const Launch& launch, int /*device*/ = 0) const override {
    Cost cost;
    cost.algorithm = launch.algorithm;
    cost.error = cost.shared_error = kShared;
    cost.group = static_cast<std::uint64_t>(launch.algorithm);
    return cost;
  }
};

Launch Convolution(std::int64_t batch) {
  Launch launch;
  launch.kind = OpKind::kConvolution;
  launch.shape.in = launch.shape.out = {.n = batch, .c = 4, .h = 8, .w = 8};
  return launch;
}

Configuration InTwo(std::int32_t algorithm, Nanos each, Bytes workspace = 0) {
  const ucudnn::MicroKernel part{8, algorithm, workspace, each};
  return {.time = 2 * each, .workspace = workspace, .parts = {part, part}};
}
Configuration Whole(std::int32_t algorithm, Nanos time, Bytes workspace = 0) {
  return {.time = time, .workspace = workspace, .parts = {{16, algorithm, workspace, time}}};
}

struct Drawn {
  Machine machine = LoadMachine("unit");
  SharedErrors costs{machine};
  Launch launch = Convolution(16);
  DrawnConfigurations draws{costs, launch, 0, 0};
};

std::vector<OpDecision> DivisionsOf(const Plan& plan) {
  std::vector<OpDecision> divided;
  std::copy_if(plan.ops.begin(), plan.ops.end(), std::back_inserter(divided),
               [](const OpDecision& decision) { return decision.parts.size() > 1; });
  return divided;
}

}  // namespace

TEST_CASE("parts share the error of their algorithm: against it any gain is sure") {
  const Drawn d;
  CHECK(d.draws.PaysForSure(InTwo(1, 995'000), Whole(1, 2'000'000)));
  CHECK_FALSE(d.draws.PaysForSure(InTwo(1, 1'005'000), Whole(1, 2'000'000)));
  CHECK(d.draws.PaysForSure(Whole(1, 9), Whole(2, 1)));  // does not divide
}

// The logarithms of two algorithms' errors are apart by a normal deviate of 0.1 x sqrt(2): 90 % of it lie below 0.181.
TEST_CASE("against another algorithm a gain has to be larger than both err") {
  const Drawn d;
  int sure = 0;
  for (const double gain : {1.02, 1.05, 1.1, 1.15, 1.25, 1.3, 1.4}) {
    INFO(gain);
    const auto each = static_cast<Nanos>(1'000'000 / gain);
    const double share = ShareFaster(d.draws.Times(InTwo(2, each)), d.draws.Times(Whole(1, 2'000'000)));
    const double expected = 0.5 * std::erfc(-std::log(gain) / (kShared * 2));
    CHECK(share == Approx(expected).margin(0.08));  // 128 draws
    const bool pays = d.draws.PaysForSure(InTwo(2, each), Whole(1, 2'000'000));
    CHECK(pays == (gain > 1.2));
    sure += pays ? 1 : 0;
  }
  CHECK(sure == 3);
}

TEST_CASE("what a kernel costs beside its time is counted for each part, in every draw") {
  const Drawn d;
  const DrawnConfigurations waiting(d.costs, d.launch, 20'000, 0);
  CHECK_FALSE(waiting.PaysForSure(InTwo(1, 995'000), Whole(1, 2'000'000)));
  CHECK(waiting.PaysForSure(InTwo(1, 900'000), Whole(1, 2'000'000)));
}

TEST_CASE("of several divisions the fastest sure one is taken, else the whole") {
  const Drawn d;
  const std::vector<Configuration> whole = {Whole(1, 2'000'000, 10)};
  const Configuration same = InTwo(1, 980'000, 10), other = InTwo(2, 900'000, 20), far = InTwo(2, 700'000, 20);
  const auto taken = [&](const std::vector<Configuration>& front) { return FastestSure(front, whole, d.draws)->time; };
  CHECK(taken({same, other}) == same.time);
  CHECK(taken({same, far}) == far.time);
  CHECK(taken({whole[0], other}) == whole[0].time);
  CHECK(FastestSure({other}, {}, d.draws)->time == other.time);  // does not run whole
  CHECK_FALSE(FastestSure({}, {}, d.draws).has_value());

  const auto front = SureFront({InTwo(2, 1'100'000, 5), same, other}, whole, d.draws);
  REQUIRE(front.size() == 2);  // in less than 10 nothing runs whole
  CHECK(front[0].workspace == 5);
  CHECK(front[1].time == same.time);
  CHECK(SureFront({far}, whole, d.draws).size() == 2);
}

// The same asked of whole steps: the undivided plan with one convolution divided, both in the draws that intervals of
// results are made of. Nothing waits for the host, so that the step is the sum of its kernels.
TEST_CASE("a convolution is divided where that makes the step faster in 90 % of its draws, and nowhere else") {
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("alexnet", {.batch = 256}), StepOptionsByName("torch"));
  const Machine machine = LoadMachine("p100-power8-nvlink1");
  const CostModel costs(machine);
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = machine.devices[0].UsableMemory();
  problem.use_runtime = true;
  const auto planned = [&](std::int64_t policy, bool sure) {
    Problem told = problem;
    told.parameters.Set("policy", policy);
    told.parameters.Set("sure", sure);
    return StrategyByName("ucudnn-wr").plan(told).plan;
  };
  const Plan whole = planned(0, false);
  const auto times = [&](const Plan& plan) {
    return DrawStep(Evaluate(plan, problem), plan, *problem.costs, problem.capacity).times;
  };
  const std::vector<Nanos> of_whole = times(whole);
  const auto surely_faster = [&](const OpDecision& divided) {
    Plan plan = whole;
    const auto op = std::find_if(plan.ops.begin(), plan.ops.end(),
                                 [&divided](const OpDecision& decision) { return decision.op == divided.op; });
    if (op == plan.ops.end()) return true;  // does not run whole
    *op = divided;
    return SurelyFaster(times(plan), of_whole);
  };

  const std::vector<OpDecision> published = DivisionsOf(planned(1, false)), sure = DivisionsOf(planned(1, true));
  for (const OpDecision& decision : sure) CHECK(surely_faster(decision));
  int left = 0;
  for (const OpDecision& decision : published) {
    const bool stays =
        std::any_of(sure.begin(), sure.end(), [&decision](const OpDecision& other) { return other.op == decision.op; });
    if (stays) continue;
    CHECK_FALSE(surely_faster(decision));
    ++left;
  }
  CHECK(left > 0);
  CHECK(!sure.empty());
}

}  // namespace spillway
