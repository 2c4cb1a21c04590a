// Certificates: what is found can be checked, what is changed cannot; what does not fit is said by the op that needs it.
#include <catch2/catch.hpp>

#include "hw/text/lists.h"
#include "model/recorded/recorded_step.h"
#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/bounds/cut_bound.h"
#include "sim/certify/certificate.h"
#include "sim/certify/find_certificate.h"
#include "sim/certify/flow.h"
#include "sim/certify/readings.h"
#include "sim/planning/random_plans.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"

namespace spillway {
namespace {

struct Case {
  explicit Case(const char* network, std::int64_t batch, const char* on = "v100-x86-pcie3")
      : machine(LoadMachine(on)), costs(machine), step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}))) {}
  Machine machine;
  CostModel costs;
  TrainingStep step;
  StepFacts facts{step, costs};
};

TEST_CASE("a flow is as large as the least cut") {
  Flow flow;  // source -> a -> sink and source -> b -> sink, crossed
  const std::size_t a = flow.AddNode(), b = flow.AddNode();
  flow.AddArc(Flow::kSource, a, 3);
  flow.AddArc(Flow::kSource, b, 2);
  flow.AddArc(a, b, 1e30);
  flow.AddArc(a, Flow::kSink, 1);
  flow.AddArc(b, Flow::kSink, 3.5);
  CHECK(flow.Maximum(1e-6) == Approx(4.5));
}

TEST_CASE("bounds by an instant are proved by other code, to a nanosecond, in every scope") {
  for (const char* network : {"resnet50", "vgg16", "googlenet-bn"}) {
    Case c(network, 64);
    const Bytes all = c.step.MapBytes();
    for (const int streams : {0, 1, 2}) {
      for (const AlgorithmScope algorithms : {AlgorithmScope::kUsual, AlgorithmScope::kAny}) {
        const Bytes workspace = algorithms == AlgorithmScope::kAny ? kMostWorkspace : 0;
        const Scope scope{.algorithms = algorithms, .workspace = workspace, .copy_streams = streams};
        const auto found = FindCertificate(c.facts, all / 2 + c.step.BytesOf(TensorClass::kParameter) * 3, scope);
        INFO(network << ", " << scope.Text());
        REQUIRE(found);
        const BoundProblem problem =
            BoundProblemOf(c.facts.tables(), c.costs, c.facts.menus(), {}, found->capacity, scope);
        const Nanos sought = BestCut(problem, 24).time;
        CHECK(found->bound <= sought);
        CHECK(found->bound >= sought - 2);
        CHECK(ProvenBound(c.step, c.costs, *found) >= found->bound);
        const Document text = ParseDocument(CertificateToYaml(*found, c.step), "c");
        CHECK(ParseCertificate(text, c.step) == *found);
      }
    }
  }
}

// What FindCertificate finds for plans in parts, against what the bounds say.
TEST_CASE("bounds of plans in parts are proved by other code, operands streamed or not") {
  Case c("googlenet-bn", 8);
  const Bytes capacity = c.step.MapBytes() / 2 + c.step.BytesOf(TensorClass::kParameter) * 3;
  for (const PartScope parts : {PartScope::kBatch, PartScope::kStreamed}) {
    for (const TileCounts& tiles : {TileCounts{}, TileCounts{2, 3, 4}}) {
      const Scope scope{.algorithms = AlgorithmScope::kAny,
                        .workspace = 64 * kMiB,
                        .copy_chunk = kMiB,
                        .parts = parts,
                        .tiles = tiles};
      if (parts == PartScope::kBatch && tiles.Any()) continue;
      INFO(scope.Text());
      const auto found = FindCertificate(c.facts, capacity, scope);
      REQUIRE(found);
      if (!tiles.Any()) CHECK(found->op != kNoOp);
      CHECK(ProvenBound(c.step, c.costs, *found) >= found->bound);
      BoundCertificate more = *found;
      more.bound += more.bound / 1000;  // the proof counts small tensors too
      CHECK(ProvenBound(c.step, c.costs, more) < more.bound);
      const Nanos sought =
          LowerBounds(c.facts.tables(), c.costs, c.facts.menus(), c.facts.part_rates(parts, tiles), capacity, scope)
              .Best();
      CHECK(found->bound > 0);
      CHECK(found->bound <= sought + sought / 100);  // of an instant more are looked at
      if (!tiles.Any()) CHECK(found->bound >= sought - 2);
      const Document text = ParseDocument(CertificateToYaml(*found, c.step), "c");
      CHECK(ParseCertificate(text, c.step) == *found);
    }
  }
}

TEST_CASE("plans in parts hold to their certificates, whoever made them") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  StepsInParts steps(16, [](std::int64_t batch) {
    return BuildTrainingStep(BuildZooNetwork("cifar-vgg", {.batch = batch}), StepOptionsByName("chainer"));
  });
  int instants = 0, work = 0;
  const std::pair<const char*, Bytes> runs[] = {
      {"accumulate", 40 * kMB}, {"ucudnn-wr", 60 * kMB}, {"swap-all-parts", 40 * kMB}, {"ooc-cudnn", 60 * kMB}};
  for (const auto& [name, capacity] : runs) {
    INFO(name);
    Problem problem;
    problem.step = &steps.In(1).part;
    problem.in_parts = &steps;
    problem.costs = &costs;
    problem.capacity = capacity;
    const Planned planned = PlanWithHeadroom(*FindStrategy(name), problem);
    REQUIRE(planned.feasible);
    problem.step = &steps.In(planned.plan.accumulate).all.step;
    const Evaluation e = Evaluate(planned.plan, problem);
    REQUIRE(e.feasible);
    const StepFacts facts(*problem.step, costs);
    const auto found = FindCertificate(facts, problem.capacity, ScopeOf(planned.plan));
    REQUIRE(found);
    CHECK(found->bound > e.step_time / 20);
    CHECK(ProvenBound(*problem.step, costs, *found) >= found->bound);
    CHECK(found->bound <= e.step_time);
    ++(found->op == kNoOp ? work : instants);
    const Document text = ParseDocument(CertificateToYaml(*found, *problem.step), "c");
    CHECK(ParseCertificate(text, *problem.step) == *found);
  }
  CHECK(work > 0);
  CHECK(instants > 0);
}

// What is claimed is false: more than the instant proves.
BoundCertificate Falsified(const BoundCertificate& from, std::size_t ops, Random& random) {
  BoundCertificate c = from;
  switch (random.Below(5)) {
    case 0:
      c.bound += 1 + random.Below(1'000'000);
      break;
    case 1:
      c.price *= random.Below(2) == 0 ? 0.5 : 1.8;
      break;
    case 2:
      c.before = c.before > 0.5 ? 0.1 : 0.9;
      c.price *= 1.3;
      break;
    case 3:
      c.op = static_cast<OpId>(random.Below(static_cast<std::uint32_t>(ops)));
      c.bound += c.bound / 200;  // another instant may prove a little more
      break;
    default:
      c.capacity += c.capacity / 20;  // less is too much
  }
  return c;
}

TEST_CASE("falsified certificates are not believed") {
  Case c("resnet50", 64);
  const Bytes capacity = c.step.MapBytes() / 2;
  Random random(1);
  const int each = Cases(25, 75);
  int rejected = 0;
  for (const int streams : {0, 2}) {
    const auto found = FindCertificate(c.facts, capacity, {.copy_streams = streams});
    REQUIRE(found);
    for (int k = 0; k < each; ++k) {
      const BoundCertificate changed = Falsified(*found, c.step.ops.size(), random);
      rejected += ProvenBound(c.step, c.costs, changed) < changed.bound ? 1 : 0;
    }
  }
  CHECK(rejected == 2 * each);
}

TEST_CASE("no random plan takes less than what any multipliers prove") {
  int proved = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO(seed);
    const auto recorded = ReadRecordedStep(ParseDocument(RecordedText(seed).Draw(), "drawn"));
    const Machine machine = LoadMachine("unit");
    const RecordedCosts costs(machine, {.workspace_limit = kMostWorkspace}, recorded);
    const TrainingStep& step = recorded->step;
    Random random(seed);
    Plan plan = RandomPlan(step, {.copy_streams = 2}, 70, random);
    Problem problem{.step = &step, .costs = &costs, .capacity = kGB, .use_runtime = true, .runtime = plan.runtime};
    const Evaluation e = Evaluate(plan, problem);
    if (!e.feasible) continue;
    for (int k = 0; k < 20; ++k) {
      const BoundCertificate any{.scope = {.copy_streams = 2},
                                 .capacity = e.peak_bytes,
                                 .op = static_cast<OpId>(random.Below(static_cast<std::uint32_t>(step.ops.size()))),
                                 .before = random.Below(5) / 4.0,
                                 .after = random.Below(5) / 4.0,
                                 .price = random.Below(9) / 4.0};
      const Nanos proven = ProvenBound(step, costs, any);
      proved += proven > 0 ? 1 : 0;
      CHECK(proven <= e.step_time);
    }
  }
  CHECK(proved > 1000);
}

// As the definition says it, tensor by tensor and op by op.
Bytes TakenAt(const TrainingStep& step, std::size_t op) {
  Bytes taken = 0;
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const Tensor& tensor = step.tensors[t];
    const auto uses = [&](std::size_t k) {
      return Contains(step.ops[k].reads, static_cast<TensorId>(t)) ||
             Contains(step.ops[k].writes, static_cast<TensorId>(t));
    };
    std::size_t first = step.ops.size(), last = 0;
    for (std::size_t k = 0; k < step.ops.size(); ++k) {
      if (uses(k)) first = std::min(first, k), last = k;
    }
    const bool lies = !tensor.Traits().may_move && first <= op && op <= last && !step.IsForward(static_cast<OpId>(op));
    if (tensor.Traits().resident || uses(op) || lies) taken += tensor.bytes;
  }
  return taken;
}

TEST_CASE("what the check of a certificate counts at each op is what lies there whatever the plan") {
  int lying = 0;
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(60, 600); ++seed) {
    const auto recorded = ReadRecordedStep(ParseDocument(RecordedText(seed).Draw(), "drawn"));
    TrainingStep step = recorded->step;
    Random random(seed);
    for (Tensor& tensor : step.tensors) {
      const bool still = !tensor.Traits().resident && random.Below(4) == 0;
      if (still) tensor.use = TensorClass::kAuxiliary;
      lying += still ? 1 : 0;
    }
    const std::vector<Bytes> taken = certifying::TakenBytes(step);
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      INFO(seed << ", op " << op);
      REQUIRE(taken[op] == TakenAt(step, op));
    }
  }
  CHECK(lying > 100);
}

TEST_CASE("what does not fit is certified by an op, and brute force finds no plan either") {
  int none = 0, some = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO(seed);
    const auto recorded = ReadRecordedStep(ParseDocument(RecordedText(seed).Draw(), "drawn"));
    const Machine machine = LoadMachine("unit");
    const RecordedCosts costs(machine, {}, recorded);
    const TrainingStep& step = recorded->step;
    const Bytes needed = MostNeeded(step, costs, 0).needed;
    const NoRoomCertificate certificate = MostNeeded(step, costs, needed - 1);
    CHECK(Holds(step, costs, certificate));
    NoRoomCertificate wrong = certificate;
    wrong.capacity = needed;
    CHECK_FALSE(Holds(step, costs, wrong));
    wrong = certificate;
    ++wrong.needed;
    CHECK_FALSE(Holds(step, costs, wrong));
    Random random(seed);
    for (int k = 0; k < 30; ++k) {
      Plan plan = RandomPlan(step, {.memory = MemoryModel::kPool}, 30 + 2 * static_cast<std::uint32_t>(k), random);
      Problem problem{
          .step = &step, .costs = &costs, .capacity = needed - 1, .use_runtime = true, .runtime = plan.runtime};
      none += Evaluate(plan, problem, {.verify = false, .bounds = false, .timeline = false}).feasible ? 1 : 0;
      problem.capacity = needed + 8 * kKiB + 512 * 40;  // allocations are rounded
      some += Evaluate(plan, problem, {.verify = false, .bounds = false, .timeline = false}).feasible ? 1 : 0;
    }
  }
  CHECK(none == 0);
  CHECK(some > 0);
}

}  // namespace
}  // namespace spillway
