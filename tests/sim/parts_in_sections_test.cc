// Bounds where ops run in parts and find their operands section by section: an op then begins before all that it reads is
// there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/cost/menu.h"
#include "model/unroll/unroll.h"
#include "sim/certify/find_certificate.h"
#include "sim/evaluate/oracle.h"
#include "sim/program/lower/lower.h"
#include "tests/random_sections.h"
#include "tests/sim/parts_place.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

// A convolution takes so much a sample, by its channels in and out; everything else a nanosecond.
class FlatCosts : public CostModel {
 public:
  using Channels = std::pair<std::int64_t, std::int64_t>;
  explicit FlatCosts(const Machine& machine) : CostModel(machine) {}
  std::map<Channels, Nanos> per_sample, of_filters;  // the latter for gradients of filters, where they differ

  Cost Kernel(const Launch& launch, int /*device*/ = 0) const override {
    Cost cost{.time = 1, .how = "model"};
    if (launch.kind != OpKind::kConvolution) return cost;
    const Channels channels{launch.shape.in.c, launch.shape.out.c};
    const auto filters = launch.pass == Pass::kBackwardFilter ? of_filters.find(channels) : of_filters.end();
    const auto any = per_sample.find(channels);
    const Nanos usual = any == per_sample.end() ? 100 : any->second;
    cost.time = launch.shape.in.n * (filters == of_filters.end() ? usual : filters->second);
    cost.algorithm = std::max<std::int32_t>(launch.algorithm, 1);
    return cost;
  }
  std::vector<MenuEntry> Menu(const Launch& launch, int /*device*/ = 0) const override {
    std::vector<std::int32_t> algorithms;
    if (launch.kind == OpKind::kConvolution) algorithms.push_back(1);
    return MenuOf(launch, algorithms, [this](const Launch& asked) { return Kernel(asked); });
  }
  double LeastTime(const Launch& /*launch*/, int /*device*/ = 0) const override { return 0; }
};

// It runs, and nothing that is said of its scope or of a wider one is above it. The step's time.
Nanos TimeAboveBounds(const TrainingStep& step, const CostModel& costs, const Plan& plan, Bytes capacity) {
  INFO(PlanToYaml(plan, step));
  REQUIRE(CheckPlan(plan, step).empty());
  const auto facts = std::make_shared<const StepFacts>(step, costs);
  const Evaluation e = Oracle(facts, capacity).Evaluate(plan, {.timeline = false});
  INFO(e.reason);
  REQUIRE(e.feasible);
  CHECK(e.bounds.compute <= e.step_time);
  CHECK(e.bounds.transfer <= e.step_time);
  CHECK(e.bounds.memory <= e.step_time);
  CHECK(e.bounds.instant <= e.step_time);
  CHECK(e.widest.Best() <= e.step_time);
  const auto certificate = FindCertificate(*facts, capacity, e.scope);
  REQUIRE(certificate);
  CHECK(certificate->bound <= e.step_time);
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    BoundCertificate any = *certificate;
    any.op = op;
    CHECK(ProvenBound(step, costs, any) <= e.step_time);
  }
  return e.step_time;
}

Plan PlanFor(const TrainingStep& step) {
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  return plan;
}

void SwapSection(const Uses& uses, TensorId tensor, OpId before, const SampleRange& samples, Plan& plan) {
  const OpId after = uses.Previous(tensor, before);
  plan.gaps.push_back({.tensor = tensor,
                       .after = after,
                       .before = before,
                       .out_after = after,
                       .in_at = before,
                       .reason = "",
                       .samples = samples});
}

TensorId InputOf(const TrainingStep& step) {
  const auto on_host = [](const Tensor& tensor) { return tensor.Traits().on_host; };
  return static_cast<TensorId>(std::find_if(step.tensors.begin(), step.tensors.end(), on_host) - step.tensors.begin());
}

TEST_CASE("the first op begins with the first section of its input") {
  NetworkBuilder b("first", {.n = 16, .c = 16, .h = 16, .w = 16});
  const LayerId x = b.Convolution("conv", kNetworkInput, Square(16, 3, 1, 1));
  const Network network = b.Loss(b.Linear("fc", b.AveragePool("avg", x, Square(0, 16, 16)), 4));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("plain"));
  const Machine machine = LoadMachine("unit");
  FlatCosts costs(machine);
  costs.per_sample[{16, 16}] = 20'000;
  const Uses uses(step);
  Plan plan = PlanFor(step);
  for (const SampleRange& half : {SampleRange{0, 8}, SampleRange{8, 16}}) {
    SwapSection(uses, InputOf(step), 0, half, plan);
  }
  const Nanos whole = TimeAboveBounds(step, costs, plan, kGB);
  plan.ops.push_back({.op = 0, .parts = {{8, 0, 0}, {8, 0, 0}}});
  CHECK(TimeAboveBounds(step, costs, plan, kGB) < whole);
}

// x:gradient's first half lies where x's second half comes to when that is copied out, beside the first part of what reads x.
TEST_CASE("at an op in parts only what the first part reads has to be there") {
  NetworkBuilder b("instant", {.n = 16, .c = 1, .h = 32, .w = 32});
  const LayerId x = b.Convolution("x", kNetworkInput, Square(8, 1));
  const LayerId r = b.Convolution("r", kNetworkInput, Square(1, 1));
  const LayerId p = b.AveragePool("p2", b.Convolution("p", x, Square(2, 1)), Square(0, 32, 32));
  const LayerId q = b.AveragePool("q", x, Square(0, 32, 32));
  const LayerId r2 = b.AveragePool("r2", r, Square(0, 32, 32));
  const Network network = b.Loss(b.Linear("fc", b.Concat("cat", {p, q, r2}), 4));
  StepOptions options = StepOptionsByName("plain");
  options.data_first = true;
  const TrainingStep step = BuildTrainingStep(network, options);
  const Machine machine = LoadMachine("unit");
  FlatCosts costs(machine);
  costs.per_sample = {{{1, 1}, 40'000}, {{8, 2}, 80'000}};
  costs.of_filters = {{{1, 8}, 100}, {{1, 1}, 40'000}};
  const Uses uses(step);
  Plan plan = PlanFor(step);
  const OpId reads_x = OpNamed(step, "p:backward_filter");
  const TensorId gradient = step.ops[Index(OpNamed(step, "p:backward_data"))].writes.front();
  SwapSection(uses, step.ops[Index(OpNamed(step, "x:forward"))].writes.front(), reads_x, {8, 16}, plan);
  plan.gaps.back().out_after = 0;
  SwapSection(uses, gradient, uses.Next(gradient, reads_x), {0, 8}, plan);
  const StepTables tables(step, costs);
  const Bytes least = LowerItems(plan, tables, 1).list_peak;
  plan.ops.push_back({.op = reads_x, .parts = {{8, 0, 0}, {8, 0, 0}}});
  for (const Bytes more : {0, 4096}) TimeAboveBounds(step, costs, plan, least + more);
}

TEST_CASE("each section that is cut in pieces has a short one that may be rounded down") {
  Machine machine = LoadMachine("unit");
  for (TransferCurve& curve : machine.links[0].curves) curve.points = {{0, 0}, {65'536'000, 43'690'490}};
  NetworkBuilder b("pieces", {.n = 2580, .c = 128, .h = 1, .w = 1});
  const Network network = b.Loss(b.Linear("fc", b.Convolution("conv", kNetworkInput, Square(8, 1)), 4));
  const TrainingStep step = BuildTrainingStep(network, StepOptionsByName("inference"));
  const FlatCosts costs(machine);
  Plan plan = PlanFor(step);
  plan.runtime.copy_chunk = kLeastCopyChunk;
  const Uses uses(step);
  for (std::int64_t k = 0; k < 20; ++k) SwapSection(uses, InputOf(step), 0, {129 * k, 129 * k + 129}, plan);
  TimeAboveBounds(step, costs, plan, kGB);
}

// Inputs lie in sections, too.
void DivideInputs(const TrainingStep& step, const StepTables& tables, Random& random, Plan& plan) {
  for (const TensorId input : tables.inputs) {
    const bool swapped =
        std::any_of(plan.gaps.begin(), plan.gaps.end(), [input](const auto& gap) { return gap.tensor == input; });
    if (swapped || tables.uses.of[Index(input)].empty()) continue;
    for (const SampleRange& range : RandomRanges(step.tensors[Index(input)], random)) {
      SwapSection(tables.uses, input, tables.uses.of[Index(input)].front(), range, plan);
    }
  }
}

Network Wide() {
  NetworkBuilder b("wide", {.n = 16, .c = 16, .h = 16, .w = 16});
  LayerId x = kNetworkInput;
  for (int k = 0; k < 5; ++k) x = b.ConvolutionRelu("c" + std::to_string(k), x, Square(16, 3, 1, 1));
  x = b.AddUp("sum", {x, b.Convolution("skip", kNetworkInput, Square(16, 1))});
  return b.Loss(b.Linear("fc", b.AveragePool("p", x, Square(0, 16, 16)), 4));
}

TEST_CASE("no plan in parts whose tensors lie in sections is faster than the bounds") {
  Random random(7);
  int cases = 0, close = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const PartsPlace p(seed % 3 == 0 ? Vgg() : Wide());
    Machine machine = p.machine;
    const Nanos slower = random.Between(1, 60);
    for (TransferCurve& curve : machine.links[0].curves) curve.points = {{0, 0}, {1'000'000, slower * 1'000'003}};
    const DiceCosts costs(machine, seed);
    const auto facts = std::make_shared<const StepFacts>(p.step, costs);
    for (int k = 0; k < 16; ++k) {
      Runtime runtime;
      runtime.copy_streams = random.Between(1, 2);
      Plan plan = RandomPlan(p.step, runtime, 10 * random.Below(10), random);
      AddRandomParts(p.step, 50, random, plan);
      LibraryParts(plan);
      AddRandomSections(p.step, 60, random, plan);
      if (k % 2 == 0) DivideInputs(p.step, facts->tables(), random, plan);
      if (!CheckPlan(plan, p.step).empty()) continue;
      const Lowered lowered = LowerItems(plan, facts->tables(), 1);
      if (lowered.Endless()) continue;
      const Bytes room = lowered.list_peak / (random.Below(2) == 0 ? 64 : 8);
      const Evaluation ran =
          Oracle(facts, lowered.list_peak + room).Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
      if (!ran.feasible) continue;
      const Oracle least(facts, ran.peak_bytes);
      const Nanos bound = least.BoundsIn(ScopeOf(plan)).Best();
      INFO("seed " << seed << " plan " << k << "\n" << PlanToYaml(plan, p.step));
      REQUIRE(bound <= ran.step_time);
      REQUIRE(least.BoundsIn(WidestScope(PartScope::kBatch)).Best() <= ran.step_time);
      ++cases;
      close += bound * 10 > ran.step_time * 6 ? 1 : 0;
    }
  }
  INFO(cases << " plans, " << close << " within 1.7 times their bound");
  CHECK(cases > 300);
  CHECK(close > 20);
}

}  // namespace
}  // namespace spillway
