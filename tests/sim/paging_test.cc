#include "sim/strategies/shared/paging.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <list>
#include <string>

#include "model/unroll/unroll.h"
#include "model/util/random.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"

namespace spillway {
namespace {

struct Place {
  Place(const char* network, std::int64_t batch, const char* name)
      : machine(LoadMachine(name)), step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
  }
  Place(const Place&) = delete;
  Plan PlanBy(const char* name) const { return StrategyByName(name).plan(problem).plan; }
  Machine machine;
  CostModel costs{machine};
  TrainingStep step;
  StepTables tables{step, costs};
  Problem problem;
};

std::vector<std::int32_t> InOrder(const LeastRecent& cache) {
  std::vector<std::int32_t> all;
  for (std::int32_t thing = cache.Oldest(); thing != LeastRecent::kNone; thing = cache.Newer(thing))
    all.push_back(thing);
  return all;
}

// A cache as anybody would write it: a list, the least recent first, and what is away.
class ListCache {
 public:
  explicit ListCache(const Paging& paging) : p_(paging) {}
  std::vector<std::pair<TensorId, OpId>> Run() {
    std::vector<std::pair<TensorId, OpId>> left;
    for (OpId op = 0; op < static_cast<OpId>(p_.live.size()); ++op) {
      for (auto it = away_.begin(); it != away_.end();) {
        if (it->second != op) {
          ++it;
          continue;
        }
        order_.push_back(it->first);
        it = away_.erase(it);
      }
      for (const StepTables::Touch& touch : p_.tables->Touches(op)) {
        order_.remove(touch.tensor);
        if (p_.may_leave[Index(touch.tensor)]) order_.push_back(touch.tensor);
      }
      while (p_.live[Index(op)] - Away() > p_.capacity) {
        const auto victim = std::find_if(order_.begin(), order_.end(), [&](TensorId t) { return MayLeave(t, op); });
        if (victim == order_.end()) break;
        left.emplace_back(*victim, op);
        away_.emplace_back(*victim, p_.tables->uses.Next(*victim, op));
        order_.erase(victim);
      }
    }
    return left;
  }

 private:
  bool MayLeave(TensorId t, OpId op) const {
    const Uses& uses = p_.tables->uses;
    const std::vector<OpId>& of = uses.of[Index(t)];
    if (std::find(of.begin(), of.end(), op) != of.end() || op > of.back()) return false;
    return uses.writers[Index(t)].empty() || op > uses.writers[Index(t)].back();
  }
  Bytes Away() const {
    Bytes bytes = 0;
    for (const auto& [t, back] : away_) bytes += p_.tables->bytes[Index(t)];
    return bytes;
  }
  const Paging& p_;
  std::list<TensorId> order_;
  std::list<std::pair<TensorId, OpId>> away_;
};

}  // namespace

TEST_CASE("the order of use is that of a list") {
  Random random(3);
  LeastRecent cache(20);
  std::list<std::int32_t> reference;
  for (int i = 0; i < 20000; ++i) {
    const auto thing = static_cast<std::int32_t>(random.Below(20));
    reference.remove(thing);
    if (random.Below(3) == 0) {
      cache.Remove(thing);
    } else {
      cache.Use(thing);
      reference.push_back(thing);
    }
    if (i % 50 == 0) CHECK(InOrder(cache) == std::vector<std::int32_t>(reference.begin(), reference.end()));
  }
}

TEST_CASE("what leaves is what leaves a cache that is a list") {
  int evictions = 0;
  for (const char* network : {"resnet50", "vgg16", "googlenet", "densenet121", "alexnet"}) {
    const Place place(network, 32, "v100-x86-pcie3");
    Paging paging{.tables = &place.tables,
                  .live = Lower(place.PlanBy("in-core"), place.tables, 1).live_at,
                  .may_leave = std::vector<bool>(place.step.tensors.size(), false),
                  .back_at = [](TensorId, const MapGap& gap) { return gap.before; }};
    for (const TensorId map : place.step.maps) paging.may_leave[Index(map)] = true;
    const Bytes most = *std::max_element(paging.live.begin(), paging.live.end());
    for (int percent = 20; percent <= 100; percent += 5) {
      paging.capacity = most * percent / 100;
      std::vector<std::pair<TensorId, OpId>> left;
      for (const PagedOut& out : PlayPaging(paging)) left.emplace_back(out.tensor, out.at);
      INFO(network << " in " << percent << " %");
      CHECK(left == ListCache(paging).Run());
      evictions += static_cast<int>(left.size());
      if (percent == 100) CHECK(left.empty());
    }
  }
  CHECK(evictions > 2000);
}

TEST_CASE("as few as suffice, the smallest that does") {
  const Place place("vgg16", 64, "v100-x86-pcie3");
  Paging paging{.tables = &place.tables,
                .live = Lower(place.PlanBy("in-core"), place.tables, 1).live_at,
                .may_leave = std::vector<bool>(place.step.tensors.size(), true),
                .victim = Victim::kFewest,
                .back_at = [](TensorId, const MapGap& gap) { return gap.before; }};
  const Bytes most = *std::max_element(paging.live.begin(), paging.live.end());
  paging.capacity = most - 1;
  const std::vector<PagedOut> out = PlayPaging(paging);
  REQUIRE(!out.empty());
  // One byte is missing: the smallest of all that may leave there.
  for (TensorId t = 0; t < static_cast<TensorId>(place.step.tensors.size()); ++t) {
    const OpId next = place.tables.uses.Next(t, out[0].at - 1), last = place.tables.uses.Previous(t, out[0].at);
    const std::vector<OpId>& writers = place.tables.uses.writers[Index(t)];
    if (next == kNoOp || next == out[0].at || last == kNoOp || (!writers.empty() && last < writers.back())) continue;
    CHECK(place.tables.bytes[Index(t)] >= place.tables.bytes[Index(out[0].tensor)]);
  }
}

TEST_CASE("SuperNeurons drops segments, keeps checkpoints and evicts what does not fit") {
  for (const char* network : {"resnet50", "googlenet", "alexnet"}) {
    Place place(network, 64, "v100-x86-pcie3");
    for (const char* name : {"superneurons-paper", "superneurons-released"}) {
      INFO(network << " by " << name);
      place.problem.capacity = 15 * kGB;
      const Plan roomy = place.PlanBy(name);
      CHECK(CountClasses(roomy, place.step).swap == 0);
      CHECK(CountClasses(roomy, place.step).recompute > 4);
      place.problem.capacity = Lower(roomy, place.tables, 1).list_peak * 7 / 10;
      const Plan tight = place.PlanBy(name);
      CHECK(CheckPlan(tight, place.step).empty());
      CHECK(CountClasses(tight, place.step).swap > 0);
      for (const GapDecision& gap : tight.gaps) {
        const OpKind kind = place.step
                                .ops[Index(place.tables.uses.writers[Index(gap.tensor)].empty()
                                               ? 0
                                               : place.tables.uses.writers[Index(gap.tensor)].front())]
                                .kind;
        if (gap.action == GapAction::kRecompute) CHECK((kind != OpKind::kConvolution && kind != OpKind::kLinear));
        if (gap.action == GapAction::kSwap && std::string(name) == "superneurons-released")
          CHECK(gap.in_at == gap.before);
      }
      if (std::string(name) == "superneurons-released") CHECK(tight.runtime.blocking_copies == BlockingCopies::kAll);
    }
  }
}

// The largest layer is res2c_branch2a, a convolution behind a join, with 874 MB of operands over its ops; no single op has more
// than 617 MB, by which the segment of the first batch norm would be too large.
TEST_CASE("SuperNeurons' largest layer counts all ops of a layer's backward") {
  const Machine machine = LoadMachine("v100-x86-pcie3");
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("resnet50", {.batch = 64}), StepOptionsByName("torch"));
  const Problem problem{.step = &step, .costs = &costs, .capacity = 15 * kGB, .runtime = {}};
  const Plan plan = StrategyByName("superneurons-paper").plan(problem).plan;
  CHECK(CountClasses(plan, step).recompute == 34);
  for (const GapDecision& gap : plan.gaps) {
    if (gap.action == GapAction::kRecompute) CHECK(gap.keep_passed);
  }
}

TEST_CASE("TFLMS cuts long edges, fewer with a higher threshold, and tunes by memory") {
  Place place("resnet50", 128, "v100-x86-pcie3");
  std::size_t last = SIZE_MAX;
  for (const std::int64_t threshold : {1, 5, 20, 100, 300}) {
    Problem problem = place.problem;
    problem.parameters.Set("threshold", threshold);
    problem.parameters.Set("ahead", std::int64_t{3});
    problem.parameters.Set("groupby", std::int64_t{0});
    const Planned planned = StrategyByName("tflms").plan(problem);
    CHECK(CheckPlan(planned.plan, place.step).empty());
    CHECK(planned.plan.gaps.size() < last);
    last = planned.plan.gaps.size();
  }
  CHECK(place.PlanBy("tflms").gaps.empty());  // it fits
  place.problem.capacity = 7 * kGB;
  const Plan tuned = place.PlanBy("tflms");
  CHECK(tuned.gaps.size() > 5);
  CHECK(tuned.search.starts_with("threshold "));

  // The largest threshold: it fits without blocking, and the next does not.
  Problem problem = place.problem;
  problem.parameters.Set("ahead", std::int64_t{1});
  problem.parameters.Set("groupby", std::int64_t{0});
  const Plan largest = StrategyByName("tflms").plan(problem).plan;
  REQUIRE(largest.runtime.blocking_copies == BlockingCopies::kNone);
  const std::int64_t threshold = std::stoll(largest.search.substr(std::string("threshold ").size()));
  Problem next = problem;
  problem.parameters.Set("threshold", threshold);
  CHECK(StrategyByName("tflms").plan(problem).plan.runtime.blocking_copies == BlockingCopies::kNone);
  next.parameters.Set("threshold", threshold + 1);
  CHECK(StrategyByName("tflms").plan(next).plan.runtime.blocking_copies != BlockingCopies::kNone);
}

TEST_CASE("TFLMS makes copies block where none fits otherwise, the less memory the more of them") {
  Place place("resnet50", 128, "v100-x86-pcie3");
  BlockingCopies least = BlockingCopies::kAll;
  for (Bytes capacity = kGB; capacity <= 8 * kGB; capacity += 100 * kMB) {
    place.problem.capacity = capacity;
    const BlockingCopies sync = place.PlanBy("tflms").runtime.blocking_copies;
    CHECK(sync <= least);
    least = sync;
  }
  CHECK(least == BlockingCopies::kNone);
  place.problem.capacity = 2600 * kMB;  // enough for what comes in at its reader, not a level ahead
  CHECK_THAT(place.PlanBy("tflms").search, Catch::Contains("all copies block") && !Catch::Contains("finds none"));

  place.problem.capacity = kGB;  // less than a batch norm's operands and the parameters
  const Plan blocking = place.PlanBy("tflms");
  CHECK(blocking.runtime.blocking_copies == BlockingCopies::kAll);
  CHECK_THAT(blocking.search,
             Catch::Contains("ahead 0") && Catch::Contains("all copies block; its simulator finds none"));
  REQUIRE_FALSE(blocking.gaps.empty());
  for (const GapDecision& gap : blocking.gaps) CHECK(gap.in_at == gap.before);
  CHECK(CheckPlan(blocking, place.step).empty());

  // A runtime that is given says which copies block.
  place.problem.use_runtime = true;
  place.problem.runtime = RuntimeByName("paging-synchronous");
  CHECK_THAT(place.PlanBy("tflms").search, Catch::Contains("all copies block") && !Catch::Contains("finds none"));
  place.problem.runtime = RuntimeByName("paging");
  CHECK_THAT(place.PlanBy("tflms").search, !Catch::Contains("block"));
}

TEST_CASE("PyTorch LMS pages in when a tensor is used, and out as soon as it is not") {
  Place place("vgg16", 64, "v100-x86-pcie3");
  place.problem.capacity = Lower(place.PlanBy("in-core"), place.tables, 1).list_peak * 6 / 10;
  const Plan plan = place.PlanBy("lms-torch");
  CHECK(CheckPlan(plan, place.step).empty());
  CHECK(plan.gaps.size() > 3);
  for (const GapDecision& gap : plan.gaps) {
    CHECK(gap.in_at == gap.before);
    CHECK(gap.out_after == gap.after);
  }
}

TEST_CASE("out-of-core Chainer moves every map and brings it back one break point ahead") {
  const Place place("resnet50", 32, "v100-x86-pcie3");
  const Plan plan = place.PlanBy("lms-chainer");
  CHECK(CountClasses(plan, place.step).swap == 105);
  const std::vector<std::int32_t> unit = UnitOfOps(place.step, BackwardUnits::kBreakPoints);
  for (const GapDecision& gap : plan.gaps) {
    const std::int32_t ahead = unit[Index(gap.before)] - unit[Index(gap.in_at)];
    CHECK((ahead == 1 || unit[Index(gap.before)] == unit[Index(place.step.first_backward)]));
  }
}

}  // namespace spillway
