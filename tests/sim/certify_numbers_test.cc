// What certificates could be made to prove by numbers alone: a library's tie, multipliers out of all proportion, roundings
// of an engine that add up.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <tuple>

#include "model/recorded/recorded_step.h"
#include "model/util/random.h"
#include "sim/certify/find_certificate.h"
#include "sim/evaluate/oracle.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

Plan PlanFor(const TrainingStep& step) {
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  return plan;
}

TEST_CASE("of two ways in as much workspace, more than the usual grant, the one that is called counts") {
  const char* const text = R"({"graph": "tie", "source": {"measured": "by hand"}, "error": 0,
    "values": [{"id": "w", "bytes": 4096}],
    "nodes": [
      {"id": "a", "op": "x", "deps": ["w"], "results": [{"id": "a.y", "bytes": 4096}],
       "ways": [{"algorithm": "slow", "ns": 100000000, "workspace": 20000000},
                {"algorithm": "fast", "ns": 50000000, "workspace": 20000000}]},
      {"id": "loss", "op": "mean", "ns": 50, "deps": ["a.y"], "results": [{"id": "l", "bytes": 4}]},
      {"id": "b", "op": "back", "pass": "backward", "ns": 1000, "deps": ["a.y", "l"]}]})";
  const auto recorded = ReadRecordedStep(ParseDocument(text, "tie"));
  const Machine machine = LoadMachine("unit");
  const RecordedCosts costs(machine, {.workspace_limit = kMiB}, recorded);
  const TrainingStep& step = recorded->step;
  const auto facts = std::make_shared<const StepFacts>(step, costs);
  const Evaluation e = Oracle(facts, kGB).Evaluate(PlanFor(step), {.timeline = false});
  REQUIRE(e.feasible);
  CHECK(e.step_time < 51'000'000);
  CHECK(e.bounds.Best() <= e.step_time);
  for (const AlgorithmScope algorithms : {AlgorithmScope::kUsual, AlgorithmScope::kLibrary, AlgorithmScope::kAny}) {
    const auto found = FindCertificate(*facts, kGB, {.algorithms = algorithms, .workspace = kGB});
    REQUIRE(found);
    CHECK(found->bound <= e.step_time);
    CHECK(ProvenBound(step, costs, *found) <= e.step_time);
  }
}

// A price of 1e12 makes 1e22 ns of a gradient of 10 GB, which doubles tell apart by the millisecond.
TEST_CASE("a price proves nothing that double precision has made") {
  constexpr Bytes kBytes = Bytes{19'531'248} * kAllocationUnit;
  HandStep b;
  const TensorId big = b.Tensor("big", TensorClass::kGradient, kBytes);
  const TensorId small = b.Tensor("small", TensorClass::kGradient, kAllocationUnit);
  b.Op("a", Pass::kBackward, 550'000, {}, {big});
  const OpId between = b.Op("c", Pass::kBackward, 10, {}, {small});
  b.Op("e", Pass::kBackward, 550'000, {big}, {});
  const TrainingStep step = b.Take();
  const Machine machine = HandMachine();
  const CostModel costs(machine);
  const auto facts = std::make_shared<const StepFacts>(step, costs);
  const Bytes capacity = kBytes + kAllocationUnit;
  const Evaluation e = Oracle(facts, capacity).Evaluate(PlanFor(step), {.timeline = false});
  REQUIRE(e.feasible);
  for (double price = 1; price < 1e15; price *= 10) {
    const BoundCertificate any{.scope = {.copy_streams = 0}, .capacity = capacity, .op = between, .price = price};
    INFO(price);
    CHECK(ProvenBound(step, costs, any) <= e.step_time);
  }
}

TEST_CASE("no plan without copies takes less than what any price proves") {
  int proved = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO(seed);
    const auto recorded = ReadRecordedStep(ParseDocument(RecordedText(seed).Draw(), "drawn"));
    const Machine machine = LoadMachine("unit");
    const RecordedCosts costs(machine, {.workspace_limit = kMostWorkspace}, recorded);
    const TrainingStep& step = recorded->step;
    Random random(seed);
    Plan plan = RandomPlan(step, {.copy_streams = 2}, 70, random);
    std::erase_if(plan.gaps, [](const GapDecision& gap) { return gap.action == GapAction::kSwap; });
    const auto facts = std::make_shared<const StepFacts>(step, costs);
    const Evaluation e = Oracle(facts, kGB).Evaluate(plan, {.timeline = false});
    if (!e.feasible) continue;
    for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
      double price = 0.01;
      for (int k = 0; k < 15; ++k, price *= 10) {
        const BoundCertificate any{
            .scope = {.copy_streams = 0}, .capacity = e.peak_bytes, .op = op, .price = price * (1 + random.Below(9))};
        const Nanos proven = ProvenBound(step, costs, any);
        proved += proven > 0 ? 1 : 0;
        CHECK(proven <= e.step_time);
      }
    }
  }
  CHECK(proved > 1000);
}

// Every kernel beside copies takes this much longer.
struct SlowedCosts : CostModel {
  SlowedCosts(const Machine& machine, double by) : CostModel(machine), slowdown(by) {}
  Cost Kernel(const Launch& launch, int device = 0) const override {
    Cost cost = CostModel::Kernel(launch, device);
    cost.copy_slowdown = slowdown;
    return cost;
  }
  double slowdown;
};

// A tensor of 51,198 bytes is on its way out and back beside thousands of kernels of a nanosecond or two.
TEST_CASE("what an engine rounds off of each kernel beside copies is not proved") {
  for (const auto& [kernels, time, slowdown] :
       {std::tuple{17'066, Nanos{2}, 1.5000005}, std::tuple{20'000, Nanos{1}, 1.000001}}) {
    HandStep b;
    const TensorId moved = b.Tensor("moved", TensorClass::kGradient, 51'198);
    const TensorId big = b.Tensor("big", TensorClass::kGradient, 100 * kAllocationUnit);
    const TensorId last = b.Tensor("last", TensorClass::kGradient, kAllocationUnit);
    const OpId first = b.Op("f", Pass::kBackward, 1, {}, {moved});
    for (int k = 0; k < kernels; ++k) b.Op("k" + std::to_string(k), Pass::kBackward, time, {}, {});
    b.Op("g", Pass::kBackward, 1, {}, {big});
    const OpId instant = b.Op("h", Pass::kBackward, 0, {big}, {last});
    const OpId end = b.Op("e", Pass::kBackward, 1, {moved, last}, {});
    const TrainingStep step = b.Take();
    const Machine machine = HandMachine();
    const SlowedCosts costs(machine, slowdown);
    Plan plan = PlanFor(step);
    plan.gaps.push_back(
        {.tensor = moved, .after = first, .before = end, .out_after = first, .in_at = end, .reason = ""});
    const auto facts = std::make_shared<const StepFacts>(step, costs);
    const Bytes capacity = 101 * kAllocationUnit;
    const Evaluation e = Oracle(facts, capacity).Evaluate(plan, {.timeline = false});
    REQUIRE(e.feasible);
    CHECK(e.bounds.Best() <= e.step_time);
    for (const double before : {0.0, 1 / slowdown, 1.0}) {
      for (const double after : {0.0, 1 / slowdown}) {
        const BoundCertificate any{
            .scope = e.scope, .capacity = capacity, .op = instant, .before = before, .after = after, .price = 10};
        CHECK(ProvenBound(step, costs, any) <= e.step_time);
      }
    }
  }
}

}  // namespace
}  // namespace spillway
