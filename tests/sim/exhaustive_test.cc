// Every network of up to four forward ops, every policy, several capacities and runtimes: what the whole path from
// Plan to figures must keep to, whatever it is asked.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <stdexcept>

#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"
#include "tests/sim/every_plan.h"

namespace spillway {
namespace {

constexpr std::size_t kRuntimes = 3, kCapacities = 3;

struct Small {
  explicit Small(const Dag& d) : dag(d), step(DagStep(d).Take()), tables(step, costs) {
    most = tables.WorkingSet(tables.LargestWorkingSet());
    all = Lower(EmptyPlan(step), tables, 0).list_peak;
    for (const Bytes capacity : {most, (most + all) / 2, all}) capacities.push_back(capacity);
    for (const Bytes capacity : capacities) {
      for (const int streams : {1, 2})
        bound.push_back(LowerBounds(step, costs, capacity, {.copy_streams = streams}).Best());
    }
  }
  Small(const Small&) = delete;
  Problem At(std::size_t capacity) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacities[capacity];
    return problem;
  }
  Nanos Bound(std::size_t capacity, int streams) const { return bound[2 * capacity + Index(streams) - 1]; }

  const Dag& dag;
  Machine machine = MachineWithWorkspace();
  CostModel costs{machine};
  TrainingStep step;
  StepTables tables;
  Bytes most = 0, all = 0;  // of the largest op; of everything in-core
  std::vector<Bytes> capacities;
  std::vector<Nanos> bound;  // by capacity, by copy streams
};

std::vector<Runtime> Runtimes() { return {RuntimeByName("arena"), {.copy_streams = 1}, RuntimeByName("pooch")}; }

// Bytes that the plan itself moves, a map out once however often it leaves; recomputation may need the input once more.
Bytes SwappedBytes(const Plan& plan, const TrainingStep& step, bool out) {
  Bytes sum = 0;
  std::set<TensorId> on_host;
  for (const GapDecision& gap : plan.gaps) {
    const Tensor& tensor = step.tensors[Index(gap.tensor)];
    if (tensor.use == TensorClass::kInput) on_host.insert(gap.tensor);
    if (gap.action != GapAction::kSwap) continue;
    if (!out || on_host.insert(gap.tensor).second) sum += tensor.bytes;
  }
  return sum;
}

std::string WrongFigures(const Evaluation& e, const Plan& plan, const Small& n) {
  Nanos ops = 0;
  for (const Op& op : n.step.ops) ops += op.shape.in.c;
  const Bytes input = kUnits[0] * kAllocationUnit;
  if (e.compute_time != ops + e.recompute_time) return "compute_time";
  if (e.bytes_out != SwappedBytes(plan, n.step, true)) return "bytes_out";
  const Bytes in = input + SwappedBytes(plan, n.step, false);
  const bool again = std::any_of(plan.gaps.begin(), plan.gaps.end(),
                                 [](const GapDecision& gap) { return gap.action == GapAction::kRecompute; });
  if (again ? e.bytes_in < input : e.bytes_in != in || e.recompute_time != 0) return "bytes_in";
  const int maps = static_cast<int>(n.step.maps.size());
  if (e.classes.keep + e.classes.swap + e.classes.recompute != maps) return "classes";
  return "";
}

// What is wrong with the evaluation of a plan; empty = nothing.
std::string Wrong(const Evaluation& e, const Plan& plan, const Small& n, std::size_t capacity) {
  if (!e.feasible) return e.reason.empty() ? "no reason" : "";
  if (Streams(plan)) return e.peak_bytes > n.capacities[capacity] ? "peak above the capacity" : "";
  if (e.step_time < n.Bound(capacity, plan.runtime.copy_streams)) return "faster than the lower bound";
  if (e.peak_bytes > n.capacities[capacity]) return "peak above the capacity";
  if (e.peak_bytes < n.most) return "peak below the largest working set";
  if (e.live_peak_bytes > e.peak_bytes) return "live peak above the peak";
  return WrongFigures(e, plan, n);
}

Evaluation Judged(const Plan& plan, const Small& n, std::size_t capacity) {
  std::string wrong;
  Evaluation e;
  try {
    e = Evaluate(plan, n.At(capacity), {.verify = true, .bounds = false, .timeline = false});
    wrong = Wrong(e, plan, n, capacity);
  } catch (const std::logic_error& error) {
    wrong = error.what();
  }
  if (wrong.empty()) return e;
  FAIL(wrong << "\n" << n.dag.Text() << ", capacity " << n.capacities[capacity] << "\n" << PlanToYaml(plan, n.step));
  return e;
}

// Step times by runtime and capacity; kNone where nothing fits.
class Times {
 public:
  static constexpr Nanos kNone = INT64_MAX;
  Nanos& At(std::size_t runtime, std::size_t capacity) { return times_.at(kCapacities * runtime + capacity); }
  Nanos At(std::size_t runtime, std::size_t capacity) const { return times_.at(kCapacities * runtime + capacity); }

 private:
  std::array<Nanos, kRuntimes * kCapacities> times_{kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
};

// Whatever fits in fewer bytes fits in more.
void MustGrow(const Evaluation& smaller, const Evaluation& e, const Plan& plan, const Small& n) {
  if (!smaller.feasible || e.feasible) return;
  FAIL("fits in less memory only\n" << n.dag.Text() << "\n" << PlanToYaml(plan, n.step) << e.reason);
}

struct Tally {
  Choices choices = Choices::kFew;
  int cases = 0, feasible = 0;
  Times in_core, best;
};

void JudgeAtEveryCapacity(const Plan& plan, const Small& n, std::size_t runtime, Tally& tally) {
  Evaluation previous;
  for (std::size_t c = 0; c < kCapacities; ++c, ++tally.cases) {
    Evaluation e = Judged(plan, n, c);
    MustGrow(previous, e, plan, n);
    const Nanos time = e.feasible ? e.step_time : Times::kNone;
    tally.feasible += e.feasible ? 1 : 0;
    if (plan.gaps.empty()) tally.in_core.At(runtime, c) = time;
    tally.best.At(runtime, c) = std::min(tally.best.At(runtime, c), time);
    previous = std::move(e);
  }
}

// Where everything fits, no plan beats the one that moves nothing.
void InCoreIsBest(Tally& tally, const Small& n) {
  for (std::size_t r = 0; r < kRuntimes; ++r) {
    for (std::size_t c = 0; c < kCapacities; ++c) {
      if (tally.in_core.At(r, c) == Times::kNone || tally.best.At(r, c) == tally.in_core.At(r, c)) continue;
      FAIL(n.dag.Text() << ", runtime " << r << ", capacity " << n.capacities[c] << ": " << tally.best.At(r, c)
                        << " instead of " << tally.in_core.At(r, c));
    }
  }
}

// Every plan under every runtime, or under one of them in turn.
Tally JudgeAllPlans(const Small& n, Choices choices, bool every_runtime) {
  Tally tally;
  tally.choices = choices;
  const std::vector<Runtime> runtimes = Runtimes();
  std::size_t turn = 0;
  ForEachPlan(n.step, choices, [&](Plan& plan) {
    if (!CheckPlan(plan, n.step).empty()) FAIL(CheckPlan(plan, n.step)[0] << "\n" << PlanToYaml(plan, n.step));
    ++turn;
    for (std::size_t r = 0; r < kRuntimes; ++r) {
      if (!every_runtime && !plan.gaps.empty() && turn % kRuntimes != r) continue;
      plan.runtime = runtimes[r];
      JudgeAtEveryCapacity(plan, n, r, tally);
      if (choices < Choices::kAll) continue;
      std::reverse(plan.gaps.begin(), plan.gaps.end());  // the other order of swap-ins issued at one op
      JudgeAtEveryCapacity(plan, n, r, tally);
    }
  });
  InCoreIsBest(tally, n);
  return tally;
}

// By strategy, runtime and capacity. Returns the number of plans that fit.
int JudgeStrategies(const Small& n, const Tally* optimum) {
  int feasible = 0;
  const std::vector<Runtime> runtimes = Runtimes();
  for (const Strategy& strategy : Drawn(Strategies())) {
    for (std::size_t k = 0; k < kRuntimes * kCapacities; ++k) {
      Problem problem = n.At(k % kCapacities);
      problem.use_runtime = true;
      problem.runtime = runtimes[k / kCapacities];
      SearchLittle(strategy, problem);
      const Planned planned = strategy.plan(problem);
      if (!planned.feasible) continue;
      if (!CheckPlan(planned.plan, n.step).empty()) FAIL(strategy.name << ": " << CheckPlan(planned.plan, n.step)[0]);
      // Moves what is not enumerated, gaps within a pass and operands in parts: its plans must be safe.
      if (strategy.scope.parts == PartScope::kStreamed) {
        Evaluate(planned.plan, n.At(k % kCapacities), {.bounds = false});
        continue;
      }
      const Evaluation e = Judged(planned.plan, n, k % kCapacities);
      feasible += e.feasible ? 1 : 0;
      if (optimum == nullptr || !IsTried(planned.plan, n.step, optimum->choices)) continue;
      const Nanos best = optimum->best.At(k / kCapacities, k % kCapacities);
      if (e.feasible && e.step_time < best) {
        FAIL(strategy.name << " takes " << e.step_time << ", the optimum " << best << "\n"
                           << n.dag.Text() << ", capacity " << problem.capacity << "\n"
                           << PlanToYaml(planned.plan, n.step));
      }
    }
  }
  return feasible;
}

}  // namespace

TEST_CASE("up to three ops: every policy at every capacity under every runtime") {
  const int expected[] = {0, 144, 2142, 65088};
  for (const int ops : {1, 2, 3}) {
    int cases = 0, feasible = 0;
    for (const Dag& dag : AllDags(ops)) {
      const Small n(dag);
      const Tally tally = JudgeAllPlans(n, Choices::kEnds, true);
      cases += tally.cases;
      feasible += tally.feasible;
    }
    CHECK(cases == expected[ops]);
    CHECK(feasible > cases / 2);
    CHECK((feasible < cases || ops == 1));
  }
}

TEST_CASE("four ops: every policy at every capacity, runtimes in turn", "[plain]") {
  int cases = 0, feasible = 0;
  const std::vector<Dag> dags = AllDags(4);
  for (const Dag& dag : Drawn(dags)) {
    const Small n(dag);
    const Tally tally = JudgeAllPlans(n, Choices::kFew, false);
    cases += tally.cases;
    feasible += tally.feasible;
  }
  if (Deep()) CHECK(cases == 302487);
  CHECK(feasible > cases / 2);
}

// Where something stays in its gap for a while, up to two ops.
TEST_CASE("no strategy beats the best of all plans", "[plain]") {
  int cases = 0, feasible = 0;
  for (const int ops : {1, 2, 3}) {
    const std::vector<Dag> dags = AllDags(ops);
    for (const Dag& dag : Drawn(dags)) {
      const Small n(dag);
      const Tally optimum = JudgeAllPlans(n, ops < 3 ? Choices::kStay : Choices::kAll, true);
      cases += optimum.cases;
      feasible += JudgeStrategies(n, &optimum);
    }
  }
  if (Deep()) CHECK(cases == 207666);
  CHECK(feasible > Cases(50, 1000));
}

TEST_CASE("best is the best of all plans of two ops nearly always, and what it claims is below that one") {
  int cases = 0, optimal = 0;
  const std::vector<Runtime> runtimes = Runtimes();
  for (const Dag& dag : AllDags(2)) {
    const Small n(dag);
    const Tally optimum = JudgeAllPlans(n, Choices::kStay, true);
    for (std::size_t k = 0; k < kRuntimes * kCapacities; ++k) {
      Problem problem = n.At(k % kCapacities);
      problem.use_runtime = true;
      problem.runtime = runtimes[k / kCapacities];
      const Planned planned = StrategyByName("best").plan(problem);
      const Nanos least = optimum.best.At(k / kCapacities, k % kCapacities);
      INFO(dag.Text() << " within " << problem.capacity << ", runtime " << k / kCapacities);
      REQUIRE(planned.feasible == (least < Times::kNone));
      if (!planned.feasible) continue;
      ++cases;
      const Nanos time = Evaluate(planned.plan, problem, {.bounds = false}).step_time;
      if (IsTried(planned.plan, n.step, Choices::kStay)) CHECK(time >= least);
      CHECK((!planned.bound.has_value() || planned.bound->time <= std::min(time, least)));
      optimal += time <= least ? 1 : 0;
    }
  }
  INFO(optimal << " of " << cases);
  CHECK(cases > 90);
  CHECK(optimal > cases * 95 / 100);
}

TEST_CASE("what strategies plan for three ops is safe and keeps the bounds") {
  int feasible = 0;
  for (const Dag& dag : AllDags(3)) feasible += JudgeStrategies(Small(dag), nullptr);
  CHECK(feasible > Cases(1000, 4000));
}

TEST_CASE("below the largest working set nothing fits, and the op is named") {
  for (const Dag& dag : AllDags(3)) {
    const Small n(dag);
    Problem problem = n.At(0);
    problem.capacity = n.most - 1;
    const Evaluation e = Evaluate(EmptyPlan(n.step), problem, {.bounds = false});
    CHECK_FALSE(e.feasible);
    CHECK(e.worst_op == n.tables.LargestWorkingSet());
    CHECK(e.smallest_limit >= n.most);
    CHECK(e.reason.substr(0, 12) == "working_set:");
  }
}

}  // namespace spillway
