// offload-saved: maps leave behind five others and come back on demand.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "sim/planning/problem.h"
#include "sim/strategies/strategies.h"
#include "tests/small_networks.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

Plan PlanOf(const TrainingStep& step, const CostModel& costs, Evaluation* evaluation) {
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  problem.capacity = kGB;
  const Planned planned = StrategyByName("offload-saved").plan(problem);
  REQUIRE(planned.feasible);
  *evaluation = Evaluate(planned.plan, problem);
  CHECK(evaluation->feasible);
  return planned.plan;
}

}  // namespace

TEST_CASE("of a chain's maps all but the last five leave, each behind five others") {
  constexpr int kLayers = 20;
  constexpr Bytes kMap = 2048;
  const TrainingStep step = MakeChain({.layers = kLayers, .data = 0, .map = kMap, .gradient = kMap});
  const Machine machine = HandMachine();
  const CostModel costs(machine);
  Evaluation e;
  const Plan plan = PlanOf(step, costs, &e);
  REQUIRE(plan.gaps.size() == kLayers - 5);
  for (std::size_t k = 0; k < plan.gaps.size(); ++k) {
    const GapDecision& gap = plan.gaps[k];
    CHECK(gap.action == GapAction::kSwap);
    CHECK(gap.tensor == static_cast<TensorId>(k));
    CHECK(gap.out_after == static_cast<OpId>(k));
    CHECK(gap.leaves_after == static_cast<OpId>(k) + 5);
    CHECK(gap.in_at == gap.before);
  }
  CHECK(e.bytes_out == kMap * (kLayers - 5));
  CHECK(e.bytes_in == e.bytes_out);
  CHECK(e.peak_bytes == e.live_peak_bytes);  // as an allocator counts: compute waits for the copy behind the fifth
  CHECK(e.live_peak_bytes <= 8 * kMap);      // five in flight, what an op reads and makes
  // Nothing comes back ahead: only what is computed meanwhile hides copies, 4 ns for each op.
  CHECK(e.stall_in >= (kLayers - 5) * kMap - 4 * kLayers);
}

TEST_CASE("maps below 1024 bytes stay, and so do those of short steps") {
  const Machine machine = HandMachine();
  const CostModel costs(machine);
  Evaluation e;
  CHECK(PlanOf(MakeChain({.layers = 20, .data = 0, .map = 1023}), costs, &e).gaps.empty());
  CHECK(PlanOf(MakeChain({.layers = 5, .data = 0, .map = 4096}), costs, &e).gaps.empty());
}

TEST_CASE("networks with joins, dropout and maps in place run so") {
  const Machine machine = LoadMachine("unit");
  const CostModel costs(machine);
  for (const SmallNetwork& small : kNetworks) {
    INFO(small.name);
    const TrainingStep step = BuildTrainingStep(small.build(), StepOptionsByName(small.options));
    Evaluation e;
    const Plan plan = PlanOf(step, costs, &e);
    CHECK(plan.gaps.size() > 5);
    CHECK(e.bytes_in >= e.bytes_out);  // the input is on the host already
  }
}

}  // namespace spillway
