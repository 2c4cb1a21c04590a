// The bound of one instant: by hand, and its least cut against every choice there is.
#include "sim/bounds/cut_bound.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <optional>

#include "hw/text/lists.h"
#include "model/util/random.h"
#include "sim/bounds/bounds.h"
#include "sim/bounds/cut_graph.h"
#include "sim/bounds/planes.h"
#include "tests/sim/small_dags.h"
#include "tests/step_builder.h"

namespace spillway {
namespace {

// m is computed from t, which is gone by then:  f1 -> t -> f2 -> m -> f3 -> last;  b3 reads last, b2 reads m.
TrainingStep TwoOpsBack() {
  HandStep b;
  const TensorId t = b.Tensor("t", TensorClass::kTransient, 10);
  const TensorId m = b.Tensor("m", TensorClass::kFeatureMap, 10);
  const TensorId last = b.Tensor("last", TensorClass::kFeatureMap, 10);
  const TensorId g3 = b.Tensor("g3", TensorClass::kGradient, 12);
  b.Op("f1", Pass::kForward, 4, {}, {t});
  b.Op("f2", Pass::kForward, 4, {t}, {m});
  b.Op("f3", Pass::kForward, 4, {m}, {last});
  b.Op("b3", Pass::kBackward, 4, {last}, {g3});
  b.Op("b2", Pass::kBackward, 4, {m, g3}, {});
  return b.Take();
}

struct Case {
  TrainingStep step;
  Machine machine;
  CostModel costs{machine};
  StepTables tables{step, costs};
  BoundProblem problem;

  Case(TrainingStep the_step, Bytes capacity, const Machine& the_machine)
      : step(std::move(the_step)), machine(the_machine) {
    problem = BoundProblemOf(tables, costs, {}, {}, capacity, {});
  }
  Case(const Case&) = delete;
};

// Every way to have what is needed at an instant, by brute force: each value is left alone, kept, copied or recomputed.
class AllChoices {
 public:
  AllChoices(const Case& c, const MemoryNeed& need, OpId op) : c_(c), op_(op) {
    for (TensorId t = 0; t < static_cast<TensorId>(c.step.tensors.size()); ++t) {
      const std::vector<OpId>& uses = c.tables.uses.of[Index(t)];
      const bool before = !uses.empty() && uses.front() < op;
      if (before && c.step.tensors[Index(t)].Traits().may_move && !Contains(uses, op)) values_.push_back(t);
    }
    for (const MemoryGap& gap : need.gaps) {
      if (gap.Over(op)) needed_.push_back(gap.tensor);
    }
  }

  double Least(const CutPrices& prices) const {
    double least = std::numeric_limits<double>::max();
    std::vector<int> ways(values_.size(), 0);
    for (;;) {
      if (const std::optional<double> cost = CostOf(ways, prices)) least = std::min(least, *cost);
      std::size_t v = 0;
      while (v < ways.size() && ways[v] == 3) ways[v++] = 0;
      if (v == ways.size()) return least;
      ++ways[v];
    }
  }

 private:
  enum : int { kAlone, kKept, kCopied, kAgain };

  int WayOf(TensorId t, const std::vector<int>& ways) const {
    const auto known = std::find(values_.begin(), values_.end(), t);
    return known == values_.end() ? kKept : ways[static_cast<std::size_t>(known - values_.begin())];
  }

  std::optional<double> CostOf(const std::vector<int>& ways, const CutPrices& prices) const {
    double cost = 0;
    std::vector<bool> runs(c_.step.ops.size(), false);
    for (std::size_t v = 0; v < values_.size(); ++v) {
      const Tensor& tensor = c_.step.tensors[Index(values_[v])];
      const auto bytes = static_cast<double>(tensor.bytes);
      if (ways[v] == kAlone && Contains(needed_, values_[v])) return std::nullopt;
      if (ways[v] == kKept) cost += prices.kept * bytes;
      if (ways[v] == kCopied) cost += bytes * (prices.in + (tensor.Traits().on_host ? 0 : prices.out));
      if (ways[v] != kAgain) continue;
      const std::vector<OpId>& writers = c_.tables.uses.writers[Index(values_[v])];
      if (writers.empty()) return std::nullopt;
      for (const OpId writer : writers) runs[Index(writer)] = true;
    }
    for (std::size_t op = 0; op < runs.size(); ++op) {
      if (!runs[op]) continue;
      const OpWay& way = c_.problem.ways[op].front();
      cost += std::min(static_cast<double>(way.time), prices.rerun * way.beside_copies);
      for (const TensorId t : c_.step.ops[op].reads) {
        if (WayOf(t, ways) == kAlone) return std::nullopt;
      }
    }
    return cost;
  }

  const Case& c_;
  const OpId op_;
  std::vector<TensorId> values_, needed_;
};

}  // namespace

TEST_CASE("what is recomputed takes along what it is computed from") {
  // In 22 bytes nothing but b3's operands fits while it runs, and copies are too slow: f1 and f2 run again.
  const Case c(TwoOpsBack(), 22, HandMachine(1000));
  const Bounds bounds = LowerBounds(c.step, c.costs, 22, {});
  CHECK(bounds.compute == 5 * 4);
  CHECK(bounds.memory == 5 * 4 + 4);  // the linear program counts m's own writer
  CHECK(bounds.instant == 5 * 4 + 8);
  CHECK(std::string(bounds.Binding()) == "instant");
  const CutBound cut = BestCut(c.problem, 6);
  CHECK(cut.time == 28);
  CHECK(cut.op == 3);
  CHECK(cut.recomputed.size() + cut.copied.size() > 0);  // at the best weights either costs as much
}

TEST_CASE("copies out end before the instant, copies in start behind it") {
  // A byte takes 1 ns. With a share x of m copied: S >= 12 and S >= 4 + 10 x, f1's result being the first; behind it f1 and
  // f2 run again for the rest, 8 + 8 (1 - x), or b2 waits for the copy, 10 x + 4. Both are 10.67 at x = 2/3.
  const Case c(TwoOpsBack(), 22, HandMachine(1));
  CHECK(BestCut(c.problem, 6).time == 23);
  // Ten times as fast, copies hide behind f3 and b3.
  Machine fast = HandMachine(1);
  for (TransferCurve& curve : fast.links[0].curves) curve.points = {{10, 1}, {1000, 100}};
  const Case f(TwoOpsBack(), 22, fast);
  const CutBound cut = BestCut(f.problem, 6);
  CHECK(cut.time == 20);
  CHECK(cut.recomputed.empty());
}

TEST_CASE("kernels lose beside copies what is least") {
  // As above, ten times as fast, but beside copies all ops take so many times as long. m's copy out may run beside f2 and
  // f3, both ways of 1 ns; back beside b3. Nothing is recomputed, which would take 8.
  const auto slowed = [](double by_f2, double by_others) {
    Case c(TwoOpsBack(), 22, HandMachine(1));
    c.problem.out = c.problem.in = {.nanos_per_byte = 0.1};
    for (std::size_t op = 0; op < c.problem.ways.size(); ++op) {
      c.problem.ways[op].front().beside_copies = 4 * (op == 1 ? by_f2 : by_others);
    }
    return BestCut(c.problem, 6).time;
  };
  CHECK(slowed(1, 1) == 20);
  CHECK(slowed(2, 2) == 21);     // 1 ns of copying beside a kernel at half its pace costs 1/2, both ways: 1
  CHECK(slowed(1.25, 5) == 21);  // out beside f2: 1/5; in beside b3: 4/5
  CHECK(slowed(4, 4) == 22);     // 3/4 both ways: 1.5, rounded up
}

TEST_CASE("no instant says anything where everything fits, or nothing does") {
  CHECK(BestCut(Case(TwoOpsBack(), 100, HandMachine(1)).problem, 6).time == 0);
  CHECK(BestCut(Case(TwoOpsBack(), 5, HandMachine(1)).problem, 6).time == 0);
}

TEST_CASE("the least cut is the cheapest of all choices") {
  Random random(3);
  int compared = 0, recomputing = 0, copying = 0;
  for (const Dag& dag : AllDags(3)) {
    const Case c(DagStep(dag).Take(), 9 * kAllocationUnit, HandMachine(1));
    const MemoryNeed need = NeedOf(c.problem);
    for (OpId op = 0; op < need.ops(); ++op) {
      if (need.excess[Index(op)] <= 0) continue;
      CutGraph graph(c.problem, need, c.tables.uses, op);
      const AllChoices all(c, need, op);
      for (int k = 0; k < 6; ++k) {
        const auto share = [&random] { return static_cast<double>(random.Below(1000)) / 1000; };
        const CutPrices prices{.out = share(), .in = share(), .rerun = share(), .kept = 2 * share()};
        const CutChoice choice = graph.Cheapest(prices, true);
        const double least = all.Least(prices);
        INFO(dag.Text() << ", before op " << op);
        REQUIRE(choice.least <= least * (1 + 1e-9));
        REQUIRE(choice.least >= least * (1 - 1e-6) - 1e-3);
        ++compared;
        recomputing += choice.recomputed.empty() ? 0 : 1;
        copying += choice.copied.empty() ? 0 : 1;
      }
    }
  }
  INFO(compared << " compared, " << recomputing << " recompute, " << copying << " copy");
  CHECK(compared > 300);
  CHECK(recomputing > 50);
  CHECK(copying > 50);
}

TEST_CASE("the highest point below planes is above every point of a grid") {
  Random random(5);
  for (int k = 0; k < 100; ++k) {
    std::vector<Plane> planes;
    for (int p = random.Between(1, 8); p > 0; --p) {
      Plane plane{.at_origin = random.Between(0, 20) / 2.0};
      for (double& slope : plane.slope) slope = random.Between(-10, 10);
      planes.push_back(plane);
    }
    const auto lowest = [&planes](const CubePoint& point) {
      double least = planes.front().At(point);
      for (const Plane& plane : planes) least = std::min(least, plane.At(point));
      return least;
    };
    const HighestPoint found = HighestBelow(planes);
    REQUIRE(found.height == lowest(found.point));
    for (int i = 0; i < 11 * 11 * 11; ++i) {
      REQUIRE(lowest({i % 11 / 10.0, i / 11 % 11 / 10.0, i / 121 / 10.0}) <= found.height + 1e-9);
    }
  }
}

}  // namespace spillway
