// `best`, bounds and certificates against the exact optimum of small recorded steps, whose recomputations have times and
// ways of their own.
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
#include "tests/sim/drawn_recording.h"
#include "tests/sim/exact_recompute.h"

namespace spillway {
namespace {

// "ns": 512, "recompute_ns": 1024, or two ways, the faster one with a workspace.
std::string DrawnTimes(Random& random, bool forward) {
  const auto times = [&] {
    const std::string again =
        forward && random.Below(2) == 0 ? fmt::format(", \"recompute_ns\": {}", 512 * random.Between(0, 6)) : "";
    return fmt::format("\"ns\": {}{}", 512 * random.Between(1, 6), again);
  };
  const std::string first = times();
  if (random.Below(2) == 0) return first;
  const std::string second = times();
  return fmt::format("\"ways\": [{{{}}}, {{{}, \"workspace\": {}}}]", first, second,
                     kAllocationUnit * random.Between(1, 3));
}

// a can be fast in a workspace. Its result A leaves before c, for which memory is short, and before e. When A is
// recomputed for p, there is room for the workspace: only B and D are there. For q there is none: E is there.
const char* const kLessLater = R"({"graph": "less later", "source": {"assumed": "made up"}, "error": 0.1, "nodes": [
{"id": "a", "op": "a", "ways": [{"ns": 9000}, {"ns": 2000, "workspace": 5120}], "results": [{"id": "A", "bytes": 2048}]},
{"id": "b", "op": "b", "ns": 100, "deps": ["A"], "results": [{"id": "B", "bytes": 2048}]},
{"id": "c", "op": "c", "ns": 100, "deps": ["B"], "results": [{"id": "C", "bytes": 7168}]},
{"id": "d", "op": "d", "pass": "backward", "ns": 100, "deps": ["C"], "results": [{"id": "D", "bytes": 1024}]},
{"id": "p", "op": "p", "pass": "backward", "ns": 100, "deps": ["A", "D"], "results": [{"id": "P", "bytes": 1024}]},
{"id": "e", "op": "e", "pass": "backward", "ns": 100, "deps": ["P", "B"], "results": [{"id": "E", "bytes": 7168}]},
{"id": "q", "op": "q", "pass": "backward", "ns": 100, "deps": ["A", "E"], "results": [{"id": "Q", "bytes": 512}]}]})";

Nanos OptimumOf(const DrawnRecording& r, Bytes capacity) {
  return ExactRecompute(*r.recorded, capacity, r.problem.runtime.memory == MemoryModel::kArena).Optimum();
}

TEST_CASE("best recomputes an op in one way the first time, and in a leaner one the second time") {
  DrawnRecording r(kLessLater, Live());
  const Planned planned = r.Best(20 * kAllocationUnit, false);
  REQUIRE(planned.feasible);
  INFO(PlanToYaml(planned.plan, r.step()));
  REQUIRE(planned.plan.ops.size() == 1);
  CHECK(planned.plan.ops[0].again == std::vector<OpAgain>{{0, 5120}, {0, 0}});
  CHECK(Evaluate(planned.plan, r.problem).step_time == 6 * 100 + 2000 + 2000 + 9000);
  CHECK(OptimumOf(r, r.problem.capacity) == 6 * 100 + 2000 + 2000 + 9000);
}

struct Counted {
  int cases = 0, optimal = 0, lists = 0, missed = 0, certified = 0, refused = 0, falsified = 0;
};

void Certify(const DrawnRecording& r, Bytes capacity, Nanos optimum, Random& random, Counted& counted) {
  const StepFacts facts(r.step(), r.costs);
  Scope scope = WidestScope();
  scope.copy_streams = 0;
  const auto found = FindCertificate(facts, capacity, scope);
  REQUIRE(found);
  CHECK(found->bound <= optimum);
  CHECK(ProvenBound(r.step(), r.costs, *found) >= found->bound);
  ++counted.certified;
  counted.falsified += 5;
  counted.refused += FalseClaimsRefused(r, *found, optimum, random);
}

// In each memory from that of the largest op to that of all values.
void Compare(std::uint64_t seed, const Runtime& runtime, Counted& counted) {
  const std::string text = DrawnText(seed, 6, DrawnTimes);
  INFO("seed " << seed << "\n" << text);
  DrawnRecording r(text, runtime);
  Random random(seed);
  for (Bytes units = 4; units <= 14; ++units) {
    const Bytes capacity = units * kAllocationUnit;
    const Nanos optimum = OptimumOf(r, capacity);
    if (optimum == r.Kernels()) break;
    const Planned planned = r.Best(capacity, false);
    if (optimum == 0) {
      CHECK_FALSE(planned.feasible);
      continue;
    }
    INFO("in " << capacity << " bytes, the optimum takes " << optimum << " ns");
    ++counted.cases;
    Certify(r, capacity, optimum, random, counted);
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
  CHECK(counted.optimal * 100 >= counted.cases * Cases(80, 97));  // the deep tier: 308 of 311
}

TEST_CASE("best against the exact optimum of steps with recomputations of their own, with addresses") {
  const Counted counted = CompareAll(RuntimeByName("arena"), Cases<std::uint64_t>(15, 300));
  CHECK(counted.cases > Cases(10, 200));
  CHECK(counted.optimal * 100 >= counted.cases * Cases(80, 97));  // the deep tier: 308 of 311
}

}  // namespace
}  // namespace spillway
