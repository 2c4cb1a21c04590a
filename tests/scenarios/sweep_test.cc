// Runs of many points: what is held does not grow with them.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "model/step/launch.h"
#include "scenarios/run/run.h"
#include "scenarios/run/step_cache.h"
#include "tests/scenarios/row_digest.h"

namespace spillway {
namespace {

PreparedRun Prepared(bool keep_steps, const std::string& batches = "[1, 2, 3]") {
  PreparedRun run;
  run.keep_steps = keep_steps;
  const std::string text = "name: d\nnetwork: {zoo: cifar-resnet20, batch: " + batches +
                           "}\nmachines: [v100-x86-pcie3, unit]\nstrategies: [in-core, swap-all, pooch]\n"
                           "runtime: [arena, pooch]\nmemory: [20 MB, 1 GB]\n";
  Prepare(ReadScenario(ParseDocument(text, "s.yaml")), {}, run);
  return run;
}

std::string Digests(const PreparedRun& run, int jobs, std::size_t first = 0) {
  std::string digests;
  RunPoints(
      run, jobs, [&](const Point&, PointResult& result) { digests += DigestLine(result, result.step->step); }, first);
  return digests;
}

TEST_CASE("steps that are not kept are built for their points, with the same results") {
  const PreparedRun kept = Prepared(true), built = Prepared(false);
  REQUIRE(kept.steps.size() == built.steps.size());
  for (std::size_t i = 0; i < kept.steps.size(); ++i) {
    CHECK_FALSE(kept.steps[i]->step.ops.empty());
    CHECK(built.steps[i]->step.ops.empty());
    CHECK(built.steps[i]->net.layers.empty());
    CHECK(built.steps[i]->digest == kept.steps[i]->digest);
    CHECK(StepOf(kept, i).get() == kept.steps[i].get());
    CHECK(DumpStep(StepOf(built, i)->step) == DumpStep(kept.steps[i]->step));
  }
  CHECK(kept.steps[0]->digest != kept.steps[1]->digest);
  const std::string digests = Digests(kept, 1);
  CHECK(Digests(built, 1) == digests);
  CHECK(Digests(built, 4) == digests);
}

TEST_CASE("the points from the first one wanted") {
  const PreparedRun run = Prepared(false);
  const std::string all = Digests(run, 2), some = Digests(run, 2, 20);
  CHECK(all.size() > some.size());
  CHECK(all.ends_with(some));
  CHECK(std::count(some.begin(), some.end(), '\n') == static_cast<std::ptrdiff_t>(run.points.size() - 20));
  CHECK(Digests(run, 2, run.points.size()).empty());
}

TEST_CASE("as many steps are held as were asked for last") {
  const PreparedRun run = Prepared(false);
  StepCache cache(run, 2);
  const std::weak_ptr<StepCache::Entry> first = cache.Get(0);
  CHECK(first.lock()->step->step.batch == 1);
  CHECK(cache.Get(1)->step->step.batch == 2);
  CHECK(cache.Get(0) == first.lock());  // asked for again: now 1 is the oldest
  const std::weak_ptr<StepCache::Entry> second = cache.Get(1);
  cache.Get(0);
  cache.Get(2);
  CHECK(second.expired());
  CHECK_FALSE(first.expired());
  const std::shared_ptr<StepCache::Entry> used = cache.Get(1);
  cache.Get(0);
  cache.Get(2);
  CHECK(used->step->step.batch == 2);  // dropped, and still its user's
}

std::atomic<std::size_t> asked{0};
Planned CountAndDecline(const Problem&) {
  ++asked;
  Planned planned{.feasible = false, .reason = "no_plan: not today", .plan = {}};
  planned.plan.runtime.memory = MemoryModel::kPool;  // asked for once: margins are an arena's
  return planned;
}

TEST_CASE("workers do not run away from who takes the results") {
  std::string batches = "[1";
  for (int batch = 2; batch <= 40; ++batch) batches += ", " + std::to_string(batch);
  PreparedRun run = Prepared(false, batches + "]");
  Strategy strategy{.name = "n", .description = "", .paper = "", .plan = CountAndDecline, .reads_runtime = true};
  strategy.scope.algorithms = AlgorithmScope::kAny;  // which is not asked again without a grant
  for (Point& point : run.points) point.strategy = &strategy;
  REQUIRE(run.points.size() == 960);
  constexpr std::size_t kWindow = 64, kJobs = 2;
  asked = 0;
  std::size_t taken = 0, most_ahead = 0;
  RunPoints(run, kJobs, [&](const Point&, PointResult&) {
    if (taken == 0) {  // they come as far as they may
      while (asked < kWindow) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ++taken;
    most_ahead = std::max(most_ahead, asked - taken);
  });
  CHECK(taken == 960);
  CHECK(most_ahead >= kWindow - 1);
  CHECK(most_ahead <= kWindow + 2 * kJobs);
}

TEST_CASE("costs that have forgotten their answers give them again") {
  const PreparedRun run = Prepared(true);
  const CostModel& costs = *run.machines[0]->costs;
  std::vector<Nanos> before;
  for (const Op& op : run.steps[0]->step.ops) before.push_back(costs.Kernel(LaunchOf(op)).time);
  costs.Forget();
  std::size_t i = 0;
  for (const Op& op : run.steps[0]->step.ops) CHECK(costs.Kernel(LaunchOf(op)).time == before[i++]);
}

}  // namespace
}  // namespace spillway
