// `best`, bounds and certificates against the exact optimum of small recorded steps, whose recomputations have times and
// ways of their own.
#include "tests/sim/exact_ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "model/util/random.h"
#include "sim/certify/certificate.h"
#include "sim/certify/find_certificate.h"
#include "sim/evaluate/oracle.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"

namespace spillway {
namespace {

// "ns": 512, "recompute_ns": 1024, or two ways, the faster one with a workspace.
std::string DrawnTimes(Random& random, bool forward) {
  const auto times = [&] {
    const std::string again =
        forward && random.Below(2) == 0 ? fmt::format(", \"recompute_ns\": {}", 512 * random.Between(0, 6)) : "";
    return fmt::format("\"ns\": {}{}", 512 * random.Between(1, 6), again);
  };
  if (random.Below(2) == 0) return times();
  return fmt::format("\"ways\": [{{{}}}, {{{}, \"workspace\": {}}}]", times(), times(),
                     kAllocationUnit * random.Between(1, 3));
}

// Ops that each write one value of some units: forward ops read up to three earlier results, backward ops the one before
// them and up to two results of forward.
std::string DrawnText(std::uint64_t seed) {
  Random random(seed);
  const std::int32_t forward = random.Between(3, 4), ops = 6;
  std::string text = R"({"graph": "drawn", "source": {"assumed": "drawn"}, "error": 0, "nodes": [)";
  for (std::int32_t n = 0; n < ops; ++n) {
    std::vector<std::string> deps;
    if (n > 0) deps.push_back(fmt::format("\"v{}\"", n - 1));
    for (std::uint32_t k = random.Below(3); k > 0 && n > 1; --k) {
      const std::string dep = fmt::format("\"v{}\"", random.Below(static_cast<std::uint32_t>(std::min(n, forward))));
      if (std::find(deps.begin(), deps.end(), dep) == deps.end()) deps.push_back(dep);
    }
    const std::string times = DrawnTimes(random, n < forward);
    text +=
        fmt::format(R"({}{{"id": "n{}", "op": "x"{}, {}, "deps": [{}], "results": [{{"id": "v{}", "bytes": {}}}]}})",
                    n > 0 ? ", " : "", n, n >= forward ? ", \"pass\": \"backward\"" : "", times, fmt::join(deps, ", "),
                    n, kAllocationUnit * random.Between(1, 4));
  }
  return text + "]}";
}

struct Recorded {
  explicit Recorded(const std::string& text, const Runtime& runtime = RuntimeByName("arena"))
      : recorded(ReadRecordedStep(ParseDocument(text, "drawn.json"))), costs(machine, {}, recorded) {
    problem = {.step = &recorded->step, .costs = &costs, .use_runtime = true, .runtime = runtime};
    problem.parameters.Set("swap", false);
  }
  Recorded(const Recorded&) = delete;
  const TrainingStep& step() const { return recorded->step; }
  Nanos Optimum(Bytes capacity) const {
    return ExactWays(*recorded, capacity, problem.runtime.memory == MemoryModel::kArena).Optimum();
  }
  // Each op once in its fastest way.
  Nanos Kernels() const {
    Nanos sum = 0;
    for (const std::vector<RecordedWay>& ways : recorded->ways) {
      const auto faster = [](const RecordedWay& a, const RecordedWay& b) { return a.time < b.time; };
      sum += std::min_element(ways.begin(), ways.end(), faster)->time;
    }
    return sum;
  }
  Machine machine = LoadMachine("unit");
  std::shared_ptr<const RecordedStep> recorded;
  RecordedCosts costs;
  Problem problem;
};

Runtime Live() {
  Runtime runtime = RuntimeByName("paging");
  runtime.copy_streams = 2;
  return runtime;
}

// a can be fast in a workspace. Its result A leaves before c, for which memory is short, and before e. There is room for the
// workspace when A is recomputed for p, beside B and D, and none when it is recomputed for q, beside E.
const char* const kLessLater = R"({"graph": "less later", "source": {"assumed": "made up"}, "error": 0.1, "nodes": [
{"id": "a", "op": "a", "ways": [{"ns": 9000}, {"ns": 2000, "workspace": 5120}], "results": [{"id": "A", "bytes": 2048}]},
{"id": "b", "op": "b", "ns": 100, "deps": ["A"], "results": [{"id": "B", "bytes": 2048}]},
{"id": "c", "op": "c", "ns": 100, "deps": ["B"], "results": [{"id": "C", "bytes": 7168}]},
{"id": "d", "op": "d", "pass": "backward", "ns": 100, "deps": ["C"], "results": [{"id": "D", "bytes": 1024}]},
{"id": "p", "op": "p", "pass": "backward", "ns": 100, "deps": ["A", "D"], "results": [{"id": "P", "bytes": 1024}]},
{"id": "e", "op": "e", "pass": "backward", "ns": 100, "deps": ["P", "B"], "results": [{"id": "E", "bytes": 7168}]},
{"id": "q", "op": "q", "pass": "backward", "ns": 100, "deps": ["A", "E"], "results": [{"id": "Q", "bytes": 512}]}]})";

TEST_CASE("best recomputes an op in one way the first time, and in a leaner one the second time") {
  Recorded r(kLessLater, Live());
  r.problem.capacity = 20 * kAllocationUnit;
  const Planned planned = StrategyByName("best").plan(r.problem);
  REQUIRE(planned.feasible);
  INFO(PlanToYaml(planned.plan, r.step()));
  REQUIRE(planned.plan.ops.size() == 1);
  CHECK(planned.plan.ops[0].again == std::vector<OpAgain>{{0, 5120}, {0, 0}});
  CHECK(Evaluate(planned.plan, r.problem).step_time == 6 * 100 + 2000 + 2000 + 9000);
  CHECK(r.Optimum(r.problem.capacity) == 6 * 100 + 2000 + 2000 + 9000);
}

struct Counted {
  int cases = 0, optimal = 0, lists = 0, missed = 0, certified = 0, refused = 0, falsified = 0;
};

void Certify(const Recorded& r, Bytes capacity, Nanos optimum, Counted& counted) {
  const StepFacts facts(r.step(), r.costs);
  Scope scope = WidestScope();
  scope.copy_streams = 0;
  const auto found = FindCertificate(facts, capacity, scope);
  REQUIRE(found);
  CHECK(found->bound <= optimum);
  CHECK(ProvenBound(r.step(), r.costs, *found) >= found->bound);
  ++counted.certified;
  BoundCertificate wrong = *found;
  wrong.bound = std::max(optimum, ProvenBound(r.step(), r.costs, *found)) + 1;
  ++counted.falsified;
  counted.refused += ProvenBound(r.step(), r.costs, wrong) < wrong.bound ? 1 : 0;
}

// In each memory from that of the largest op to that of all values.
void Compare(std::uint64_t seed, const Runtime& runtime, Counted& counted) {
  const std::string text = DrawnText(seed);
  INFO("seed " << seed << "\n" << text);
  Recorded r(text, runtime);
  for (Bytes units = 4; units <= 14; ++units) {
    const Bytes capacity = units * kAllocationUnit;
    const Nanos optimum = r.Optimum(capacity);
    if (optimum == r.Kernels()) break;
    r.problem.capacity = capacity;
    const Planned planned = StrategyByName("best").plan(r.problem);
    if (optimum == 0) {
      CHECK_FALSE(planned.feasible);
      continue;
    }
    INFO("in " << capacity << " bytes, the optimum takes " << optimum << " ns");
    ++counted.cases;
    Certify(r, capacity, optimum, counted);
    if (!planned.feasible) {
      ++counted.missed;
      continue;
    }
    const Evaluation e = Evaluate(planned.plan, r.problem);
    REQUIRE(e.feasible);
    CHECK(e.step_time >= optimum);
    CHECK(e.bounds.Best() <= e.step_time);
    CHECK(e.widest.Best() <= optimum);
    if (planned.bound) CHECK(planned.bound->time <= optimum);
    counted.optimal += e.step_time == optimum ? 1 : 0;
    const auto lists = [](const OpDecision& decision) { return decision.again.size() > 1; };
    counted.lists += std::any_of(planned.plan.ops.begin(), planned.plan.ops.end(), lists) ? 1 : 0;
  }
}

Counted CompareAll(const Runtime& runtime, std::uint64_t graphs) {
  Counted counted;
  for (std::uint64_t seed = 1; seed <= graphs; ++seed) Compare(seed, runtime, counted);
  CHECK(counted.refused == counted.falsified);
  CHECK(counted.missed * 100 <= counted.cases * 4);
  return counted;
}

TEST_CASE("best against the exact optimum of steps with recomputations of their own, by live bytes") {
  const Counted counted = CompareAll(Live(), Cases<std::uint64_t>(30, 300));
  CHECK(counted.cases > Cases(20, 200));
  CHECK(counted.optimal * 100 >= counted.cases * Cases(80, 95));  // the deep tier: 371 of 383
}

TEST_CASE("best against the exact optimum of steps with recomputations of their own, with addresses") {
  const Counted counted = CompareAll(RuntimeByName("arena"), Cases<std::uint64_t>(15, 300));
  CHECK(counted.cases > Cases(10, 200));
  CHECK(counted.optimal * 100 >= counted.cases * Cases(80, 95));  // the deep tier: 371 of 383
}

}  // namespace
}  // namespace spillway
