// Recomputations with times of their own (`recompute_ns` of recorded steps) and with ways of their own (OpDecision::again).
// The tests are of their times, of verdicts on changed Programs, and of bounds. exact_ways_test compares with optima.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/recorded/recorded_step.h"
#include "sim/certify/certificate.h"
#include "sim/certify/find_certificate.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/recorded_text.h"
#include "tests/sim/judge_mutations.h"

namespace spillway {
namespace {

struct Recorded {
  explicit Recorded(const std::string& text, const Runtime& runtime = RuntimeByName("arena"))
      : recorded(ReadRecordedStep(ParseDocument(text, "drawn.json"))), costs(machine, {}, recorded) {
    problem = {.step = &recorded->step, .costs = &costs, .use_runtime = true, .runtime = runtime};
  }
  Recorded(const Recorded&) = delete;
  const TrainingStep& step() const { return recorded->step; }
  Plan EmptyPlan() const {
    Plan plan;
    plan.network = step().network;
    plan.batch = step().batch;
    plan.runtime = problem.runtime;
    return plan;
  }

  Machine machine = LoadMachine("unit");
  std::shared_ptr<const RecordedStep> recorded;
  RecordedCosts costs;
  Problem problem;
};

// norm makes n from c in one of two ways; n is read by relu, by its backward op and by another one.
const char* const kNorm = R"({"graph": "norm", "source": {"assumed": "made up"}, "error": 0.1, "nodes": [
{"id": "conv", "op": "conv", "ns": 500, "results": [{"id": "c", "bytes": 512}]},
{"id": "norm", "op": "norm", "deps": ["c"], "results": [{"id": "n", "bytes": 512}],
 "ways": [{"ns": 300, "recompute_ns": 200}, {"ns": 100, "recompute_ns": 50, "workspace": 1024}]},
{"id": "relu", "op": "relu", "ns": 40, "deps": ["n"], "results": [{"id": "r", "bytes": 512}]},
{"id": "loss", "op": "loss", "pass": "backward", "ns": 10, "deps": ["r"], "results": [{"id": "dr", "bytes": 512}]},
{"id": "relu.back", "op": "b", "pass": "backward", "ns": 20, "deps": ["n", "dr"], "results": [{"id": "dn", "bytes": 512}]},
{"id": "between", "op": "b", "pass": "backward", "ns": 5, "deps": ["dn"], "results": [{"id": "e", "bytes": 512}]},
{"id": "norm.back", "op": "b", "pass": "backward", "ns": 30, "deps": ["n", "e", "c"], "results": [{"id": "dc", "bytes": 512}]}]})";
constexpr OpId kNormOp = 1;
constexpr TensorId kN = 1;

// n is recomputed for its two uses in backward.
Plan TwiceRecomputed(const Recorded& r, OpDecision decision) {
  Plan plan = r.EmptyPlan();
  plan.gaps = {{.tensor = kN, .after = 2, .before = 4, .action = GapAction::kRecompute, .reason = ""},
               {.tensor = kN, .after = 4, .before = 6, .action = GapAction::kRecompute, .reason = ""}};
  decision.op = kNormOp;
  plan.ops = {std::move(decision)};
  return plan;
}

Nanos StepTime(const Recorded& r, const Plan& plan) {
  Problem problem = r.problem;
  problem.capacity = kMB;
  const Evaluation e = Evaluate(plan, problem);
  REQUIRE(e.feasible);
  return e.step_time;
}

TEST_CASE("a recomputation takes its own time, in the way of the first run or in one of its own") {
  const Recorded r(kNorm);
  const Nanos others = 500 + 40 + 10 + 20 + 5 + 30;
  Plan usual = TwiceRecomputed(r, {});
  usual.ops.clear();
  CHECK(StepTime(r, r.EmptyPlan()) == others + 100);
  CHECK(StepTime(r, usual) == others + 100 + 2 * 50);
  CHECK(StepTime(r, TwiceRecomputed(r, {.algorithm = 1})) == others + 300 + 2 * 200);
  CHECK(StepTime(r, TwiceRecomputed(r, {.algorithm = 1, .again = {{2, 1024}}})) == others + 300 + 2 * 50);
  CHECK(StepTime(r, TwiceRecomputed(r, {.algorithm = 2, .workspace = 1024, .again = {{2, 1024}, {1, 0}}})) ==
        others + 100 + 50 + 200);
  CHECK(StepTime(r, TwiceRecomputed(r, {.algorithm = 1, .again = {{1, 0}, {2, 1024}, {1, 0}}})) ==
        others + 300 + 200 + 50);
}

TEST_CASE("ways of recomputations are a list in a plan file, one of them a map") {
  const Recorded r(kNorm);
  const auto text = [&](std::vector<OpAgain> again) {
    const Plan plan = TwiceRecomputed(r, {.algorithm = 1, .again = std::move(again)});
    const std::string yaml = PlanToYaml(plan, r.step());
    CHECK(ParsePlan(yaml, "plan.yaml", r.step()) == plan);
    const std::size_t at = yaml.find(", again: ");
    return at == yaml.npos ? std::string() : yaml.substr(at, yaml.find('\n', at) - at);
  };
  CHECK(text({}) == "");
  CHECK(text({{2, 1024}}) == ", again: {algorithm: way2, workspace: 1 KiB}}");
  CHECK(text({{2, 1024}, {1, 0}}) ==
        ", again: [{algorithm: way2, workspace: 1 KiB}, {algorithm: way1, workspace: 0 B}]}");
  const Plan wrong = TwiceRecomputed(r, {.again = {{0, 0}, {0, -1}}});
  CHECK(CheckPlan(wrong, r.step()) ==
        std::vector<std::string>{"ops[0]: op 'norm', again[1]: workspace must not be negative"});
  CHECK_THROWS_WITH(ParsePlan("network: norm\nbatch: 1\nops:\n  - {op: norm, again: []}\n", "p", r.step()),
                    Catch::Contains("p:4") && Catch::Contains("again: expected a map or a list of maps"));
}

TEST_CASE("what is held is as large as the largest workspace of any recomputation") {
  const Recorded r(kNorm);
  Plan plan = TwiceRecomputed(r, {.algorithm = 1, .again = {{1, 0}, {2, 1024}}});
  plan.runtime.workspaces = Workspaces::kHeld;
  const Program program = Lower(plan, StepTables(r.step(), r.costs), 0).program;
  CHECK(std::count_if(program.buffers.begin(), program.buffers.end(), [](const Buffer& buffer) {
          return buffer.kind == BufferKind::kWorkspace && buffer.bytes == 1024;
        }) == 1);
}

// ---- Programs that are changed.

struct Verdicts {
  int refused = 0, safe = 0;
  void Check(const Program& program, const TrainingStep& step, bool is_safe) {
    const std::vector<Violation> found = Verify(program, &step);
    INFO(DumpProgram(program, &step));
    CHECK(found.empty() == is_safe);
    ++(is_safe ? safe : refused);
  }
};

// Each kernel of an op whose recomputation differs gets the other kind of launch, and another way of its own kind.
void ChangeLaunches(const Program& program, const TrainingStep& step, Verdicts& verdicts) {
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    const Launch& launch = program.launches[kernel.launch];
    const auto with = [&](auto change) {
      Program changed = program;
      Launch other = launch;
      change(other);
      changed.kernels[k].launch = static_cast<std::uint32_t>(changed.launches.size());
      changed.launches.push_back(other);
      return changed;
    };
    verdicts.Check(with([](Launch& l) { l.recomputation = !l.recomputation; }), step, false);
    verdicts.Check(with([](Launch& l) { l.algorithm = 1 - std::min(l.algorithm, 1); }), step, true);
    if (!step.ops[Index(kernel.op)].recompute_differs) continue;
    Program changed = program;
    changed.kernels[k].recomputation = !kernel.recomputation;
    verdicts.Check(changed, step, false);
  }
}

constexpr Bytes kMostDrawn = 30208;  // no way of RecordedText wants more

// Several ways for recomputations of about half of the forward ops.
void AddWaysAgain(const TrainingStep& step, Random& random, Plan& plan) {
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()) && step.IsForward(op); ++op) {
    if (random.Below(2) == 0) continue;
    const auto way = [&] {
      const OpAgain named{.algorithm = 1, .workspace = kMostDrawn};
      return random.Below(2) == 0 ? named : OpAgain{.workspace = kAllocationUnit * random.Below(60)};
    };
    OpDecision decision{.op = op, .workspace = kMostDrawn};
    for (std::int32_t k = random.Between(1, 3); k > 0; --k) decision.again.push_back(way());
    plan.ops.push_back(std::move(decision));
  }
}

Program Lowered(const Recorded& r, const Plan& plan) {
  Program program = Lower(plan, StepTables(r.step(), r.costs), 0).program;
  PlaceBuffers(program);
  REQUIRE(Verify(program, &r.step()).empty());
  return program;
}

TEST_CASE("changed Programs with recomputations of their own are judged rightly") {
  Verdicts verdicts;
  int several = 0;
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(60, 600); ++seed) {
    const Recorded r(RecordedText(seed).Draw());
    Random random(seed);
    Plan plan = RandomPlan(r.step(), r.problem.runtime, 60, random);
    AddWaysAgain(r.step(), random, plan);
    INFO("seed " << seed);
    AddRandomEntries(r.step(), random, plan);
    REQUIRE(CheckPlan(plan, r.step()) == std::vector<std::string>{});
    CHECK(ParsePlan(PlanToYaml(plan, r.step()), "p", r.step()) == plan);
    ChangeLaunches(Lowered(r, plan), r.step(), verdicts);
    const auto lists = [](const OpDecision& decision) { return decision.again.size() > 1; };
    several += std::any_of(plan.ops.begin(), plan.ops.end(), lists) ? 1 : 0;
  }
  CHECK(verdicts.refused > Cases(300, 3000));
  CHECK(verdicts.safe > Cases(300, 3000));
  CHECK(several > Cases(20, 200));
}

TEST_CASE("small changes of Programs whose recomputations differ from each other are judged rightly") {
  const Recorded r(kNorm);
  const OpAgain lean{.algorithm = 1}, fast{.algorithm = 2, .workspace = 1024};
  MutationTally tally;
  for (const std::uint32_t ways : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u, 13u, 14u, 15u}) {
    std::vector<OpAgain> again;  // the bits behind the highest one
    for (std::uint32_t bits = ways; bits > 1; bits /= 2) again.push_back(bits % 2 == 0 ? lean : fast);
    Judge(Lowered(r, TwiceRecomputed(r, {.algorithm = 1, .again = again})), &r.step(), tally);
  }
  INFO(tally.Text());
  CHECK(tally.Total() > 300);
}

// ---- Random plans against the bounds.

TEST_CASE("plans with recomputations of their own are not below the bounds, nor below what is certified") {
  int plans = 0, cheaper = 0;
  for (std::uint64_t seed = 1; seed <= Cases<std::uint64_t>(150, 1500); ++seed) {
    Runtime runtime = RuntimeByName(seed % 3 == 0 ? "paging" : "arena");
    runtime.copy_streams = 1 + static_cast<int>(seed % 2);
    const Recorded r(RecordedText(seed).Draw(), runtime);
    Random random(seed);
    Plan plan = RandomPlan(r.step(), runtime, 70, random);
    AddRandomEntries(r.step(), random, plan);
    if (seed % 2 == 0) AddWaysAgain(r.step(), random, plan);
    Problem problem = r.problem;
    problem.capacity = 16 * kGB;
    Evaluation e = Evaluate(plan, problem);
    if (!e.feasible) continue;
    problem.capacity = std::max<Bytes>(e.peak_bytes, e.live_peak_bytes);
    e = Evaluate(plan, problem);
    if (!e.feasible) continue;
    INFO("seed " << seed);
    CHECK(e.bounds.Best() <= e.step_time);
    CHECK(e.widest.Best() <= e.step_time);
    const StepFacts facts(r.step(), r.costs);
    const auto certificate = FindCertificate(facts, problem.capacity, ScopeOf(plan));
    REQUIRE(certificate);
    CHECK(certificate->bound <= e.step_time);
    CHECK(ProvenBound(r.step(), r.costs, *certificate) >= certificate->bound);
    ++plans;
    cheaper += e.recompute_time > 0 ? 1 : 0;
  }
  CHECK(plans > Cases(90, 900));
  CHECK(cheaper > Cases(40, 400));
}

}  // namespace
}  // namespace spillway
