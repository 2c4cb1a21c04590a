// Running prepared points: order, exceptions, and what is said where nothing fits.
#include "scenarios/run/run.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/strategies/strategies.h"
#include "sim/uncertainty/uncertainty.h"
#include "tests/temporary_folder.h"
#include "tests/text.h"

namespace spillway {
namespace {

PreparedRun Prepared(const std::string& more = "") {
  const std::string text =
      "name: d\nnetwork: {zoo: cifar-resnet20, batch: [1, 2, 3]}\nmachines: v100-x86-pcie3\n"
      "strategies: [in-core, swap-all]\n" +
      more;
  PreparedRun run;
  Prepare(ReadScenario(ParseDocument(text, "s.yaml")), {}, run);
  return run;
}

std::vector<ResultRow> RowsOf(const PreparedRun& run, int jobs = 1) {
  std::vector<ResultRow> rows;
  RunPoints(run, jobs, [&](const Point&, PointResult& result) { rows.push_back(result.row); });
  return rows;
}

// The result of one point alone.
PointResult ResultOf(PreparedRun& run, std::size_t point) {
  run.points = {run.points.at(point)};
  std::optional<PointResult> only;
  RunPoints(run, 1, [&](const Point&, PointResult& result) { only = std::move(result); });
  return *std::move(only);
}

Planned Throws(const Problem&) { throw std::logic_error("a bug"); }
Planned Declines(const Problem&) { return {.feasible = false, .reason = "no_plan: not today", .plan = {}}; }

TEST_CASE("results arrive in the order of the points") {
  const PreparedRun run = Prepared();
  for (const int jobs : {1, 3, 16}) {
    const std::vector<ResultRow> rows = RowsOf(run, jobs);
    REQUIRE(rows.size() == run.points.size());
    for (std::size_t i = 0; i < rows.size(); ++i) CHECK(rows[i].point == run.points[i].row.point);
  }
}

TEST_CASE("a feasible row is complete") {
  PreparedRun run = Prepared();
  const PointResult result = ResultOf(run, 1);  // batch 1, swap-all
  const ResultRow& row = result.row;
  REQUIRE(row.feasible);
  CHECK(row.reason.empty());
  CHECK(row.times.step > 0);
  CHECK(row.times.low < row.times.step);
  CHECK(row.times.step < row.times.high);
  CHECK(row.bounds.lower <= row.times.step);
  CHECK(row.plan.classes.keep + row.plan.classes.swap + row.plan.classes.recompute == 42);  // see training_step_test
  CHECK(row.memory.bytes_in >= row.memory.bytes_out);  // the batch itself comes in and never goes out
  CHECK(row.memory.peak <= row.memory_limit);
  CHECK(row.memory.at_peak.back().first == "workspace");
  Bytes sum = 0;
  for (const auto& [name, bytes] : row.memory.at_peak) sum += bytes;
  CHECK(sum == row.memory.live_peak);
  CHECK(row.provenance.shares.measured + row.provenance.shares.published + row.provenance.shares.assumed == Approx(1));
  CHECK(row.provenance.largest == "assumed");  // a batch of 1 waits for the host, whose costs are
  CHECK(row.provenance.shares.assumed > std::max(row.provenance.shares.published, row.provenance.shares.measured));
  CHECK(row.plan.runtime == "pooch");
  CHECK(row.times.Other() >= 0);
  CHECK(row.plan.memory_model == "pool");
  CHECK(result.plan.strategy == "swap-all");
}

TEST_CASE("the interval holds the prediction") {
  const PreparedRun run = Prepared();
  for (const ResultRow& row : RowsOf(run)) {
    CHECK(row.times.low < row.times.step);
    CHECK(row.times.high > row.times.step);
    CHECK(RoundedToItsWidth({row.times.low, row.times.high}) == Interval{row.times.low, row.times.high});
  }
}

TEST_CASE("a strategy that declines gives a row with its reason") {
  PreparedRun run = Prepared();
  const Strategy strategy{"declines", "", "", Declines};
  run.points[0].strategy = &strategy;
  const ResultRow row = ResultOf(run, 0).row;
  CHECK_FALSE(row.feasible);
  CHECK(row.reason == "no_plan: not today");
  CHECK(row.SamplesPerSecond() == 0);
}

// Claims for the widest scope, or for what the library does as usual over one copy stream.
Planned SwapAllClaiming(const Problem& problem, Nanos time, const Scope& scope) {
  Planned planned = StrategyByName("swap-all").plan(problem);
  planned.bound = ClaimedBound{.time = time, .scope = scope, .how = "a look at the clouds"};
  return planned;
}
constexpr Nanos kClaimed = 2 * kMillisecond;
Planned ClaimsOfAll(const Problem& problem) { return SwapAllClaiming(problem, kClaimed, WidestScope()); }
Planned ClaimsOfOneStream(const Problem& problem) { return SwapAllClaiming(problem, kClaimed, {.copy_streams = 1}); }
Planned ClaimsNothingMuch(const Problem& problem) { return SwapAllClaiming(problem, 1, WidestScope()); }
Planned ClaimsTooMuch(const Problem& problem) { return SwapAllClaiming(problem, 1000 * kSecond, {.copy_streams = 1}); }

// swap-all on its own runtime, which has one copy stream, and on the arena's two.
ResultRow RowOf(Planned (*plan)(const Problem&), const std::string& runtime = "pooch") {
  PreparedRun run = Prepared("memory: 64 MiB\nruntime: " + runtime + "\n");
  const Strategy strategy{"claims", "", "", plan};
  if (plan != nullptr) run.points[1].strategy = &strategy;
  return ResultOf(run, 1).row;
}

TEST_CASE("a row has the better of the general bound and the one that its strategy proved") {
  const ResultRow general = RowOf(nullptr);
  REQUIRE(general.feasible);
  REQUIRE(general.times.step > kClaimed);
  REQUIRE(general.bounds.lower < kClaimed);
  CHECK(general.bounds.by == "general bounds");

  const ResultRow claimed = RowOf(ClaimsOfAll);
  CHECK(claimed.bounds.lower == kClaimed);
  CHECK(claimed.bounds.widest == kClaimed);
  CHECK(claimed.bounds.binding == "strategy");
  CHECK(claimed.bounds.by == "a look at the clouds");
  CHECK(claimed.BoundGap() < general.BoundGap());
  CHECK(claimed.times.step == general.times.step);

  const ResultRow less = RowOf(ClaimsNothingMuch);
  CHECK(less.bounds.lower == general.bounds.lower);
  CHECK(less.bounds.binding == general.bounds.binding);
  CHECK(less.bounds.by == "general bounds");
}

TEST_CASE("a claim holds within its scope, for the machine that it was made for") {
  const ResultRow one = RowOf(ClaimsOfOneStream);
  CHECK(one.bounds.lower == kClaimed);
  CHECK(one.bounds.widest == RowOf(nullptr).bounds.widest);
  const ResultRow two = RowOf(ClaimsOfOneStream, "arena");
  CHECK(two.bounds.lower == RowOf(nullptr, "arena").bounds.lower);
  CHECK(two.bounds.by == "general bounds");

  PreparedRun run = Prepared("memory: 64 MiB\n");
  const Strategy strategy{"claims", "", "", ClaimsOfAll};
  run.points[1].strategy = &strategy;
  run.points[1].planned_capacity -= kMiB;  // planned elsewhere
  CHECK(ResultOf(run, 1).row.bounds.by == "general bounds");
}

TEST_CASE("a claim that the strategy's own plan refutes is our bug") {
  CHECK_THROWS_WITH(RowOf(ClaimsTooMuch), Catch::Contains("'swap-all+pooch' claims that no plan takes less than 1000 s "
                                                          "(a look at the clouds; ") &&
                                              Catch::Contains("1 copy stream), and its own takes "));
  CHECK(RowOf(ClaimsTooMuch, "arena").feasible);  // says nothing of two streams
}

TEST_CASE("what a scenario tells a strategy decides its plan, and stands in the row and in the plan") {
  PreparedRun run;
  Prepare(ReadScenario(ParseDocument("name: d\nnetwork: {zoo: cifar-resnet20, batch: 512}\nmachines: v100-x86-pcie3\n"
                                     "memory: 200 MiB\nstrategies: [pooch-keep-passed, {strategy: pooch, parameters: "
                                     "{rungs: [1, 3], keep_passed: [false, true]}}, pooch]\n",
                                     "s.yaml")),
          {}, run);
  std::vector<PointResult> results;
  RunPoints(run, 1, [&](const Point&, PointResult& result) { results.push_back(std::move(result)); });
  REQUIRE(results.size() == 6);
  for (const PointResult& result : results) REQUIRE(result.row.feasible);
  CHECK(results[1].row.strategy == "pooch:rungs=1:keep_passed=false");
  CHECK(results[1].plan.strategy == "pooch:rungs=1:keep_passed=false");
  CHECK(results[1].row.parameters ==
        std::vector<std::pair<std::string, std::string>>{{"rungs", "1"}, {"keep_passed", "false"}});
  CHECK_THAT(results[1].row.plan.search, Catch::EndsWith(" for one capacity"));
  CHECK(Contains(results[3].row.plan.search, "of 3 capacities"));
  CHECK(results[1].row.plan.evaluations < results[3].row.plan.evaluations);
  CHECK(results[3].row.plan.evaluations < results[5].row.plan.evaluations);
  const auto passing = [&](std::size_t i) {
    const auto& gaps = results[i].plan.gaps;
    return std::count_if(gaps.begin(), gaps.end(), [](const GapDecision& gap) { return !gap.keep_passed; });
  };
  CHECK(passing(0) == 0);
  CHECK(passing(2) == 0);  // told to keep what it passes
  CHECK(passing(4) == 0);
  CHECK(passing(1) > 0);
  CHECK(results[5].row.parameters.empty());
  CHECK(results[5].plan.strategy == "pooch");
}

TEST_CASE("an exception of a point ends the run and comes out") {
  PreparedRun run = Prepared();
  const Strategy strategy{"throws", "", "", Throws};
  run.points[3].strategy = &strategy;
  for (const int jobs : {1, 4}) {
    std::size_t arrived = 0;
    CHECK_THROWS_WITH(RunPoints(run, jobs, [&](const Point&, PointResult&) { ++arrived; }), "a bug");
    CHECK(arrived == 3);  // those before it
  }
}

TEST_CASE("an exception of the sink ends the run and comes out") {
  const PreparedRun run = Prepared();
  CHECK_THROWS_WITH(RunPoints(run, 2, [](const Point&, PointResult&) { throw std::runtime_error("disk full"); }),
                    "disk full");
}

TEST_CASE("a run of no points is over at once") { CHECK(RowsOf(PreparedRun{}, 4).empty()); }

TEST_CASE("places where no strategy fits are named once each") {
  const PreparedRun run = Prepared("memory: [1 MB, 1 GB]\n");
  const std::vector<std::string> messages = PointsWithoutStrategy(run, RowsOf(run));
  REQUIRE(messages.size() == 3);  // three batches at 1 MB, both strategies each
  CHECK(messages[0].find("cifar-resnet20 at batch 1 on v100-x86-pcie3 with 1.00 MB: op ") != std::string::npos);
  CHECK(messages[2].find("batch 3") != std::string::npos);
}

TEST_CASE("a step at which nothing fits is built once for all its places") {
  PreparedRun run;
  run.keep_steps = false;
  Prepare(ReadScenario(ParseDocument("name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: v100-x86-pcie3\n"
                                     "strategies: in-core\nmemory: [1 MB, 2 MB]\n",
                                     "s.yaml")),
          {}, run);
  const std::vector<ResultRow> rows = RowsOf(run);
  REQUIRE(rows.size() == 2);
  const auto spoil = [&](const ResultRow& row) {
    if (&row == &rows[1]) run.steps[0]->options = "none";  // that it could be built by
    return false;
  };
  CHECK(PointsWithoutStrategy(run, rows, spoil).size() == 2);
}

TEST_CASE("one feasible strategy is enough for a place") {
  const PreparedRun run = Prepared();
  std::vector<ResultRow> rows = RowsOf(run);
  rows[0].feasible = false;
  CHECK(PointsWithoutStrategy(run, rows).empty());
  rows[1].feasible = false;  // the other strategy of batch 1
  CHECK(PointsWithoutStrategy(run, rows).size() == 1);
}

TEST_CASE("a runtime put in place of the strategy's own reaches plan and row") {
  PreparedRun run = Prepared("runtime: arena\n");
  const PointResult result = ResultOf(run, 1);
  CHECK(result.row.strategy == "swap-all+arena");
  CHECK(result.row.plan.memory_model == "arena");
  CHECK(result.plan.runtime.copy_streams == 2);
}

TEST_CASE("a plan from a file has no search of its own, and the name plan where it gives no strategy") {
  const TemporaryFolder folder("run-plan");
  const auto row_of = [&](const std::string& plan) {
    folder.Write("p.yaml", plan);
    PreparedRun run;
    Prepare(ReadScenario(ParseDocument("name: d\nnetwork: {zoo: cifar-resnet20, batch: 1}\nmachines: v100-x86-pcie3\n"
                                       "strategies: in-core\n",
                                       "s.yaml")),
            {.plan = folder.Path("p.yaml")}, run);
    return ResultOf(run, 0).row;
  };
  const ResultRow bare = row_of("network: cifar-resnet20\nbatch: 1\n");
  CHECK(bare.strategy == "plan (p.yaml)");
  CHECK(bare.plan.search == "plan file");
  const ResultRow named =
      row_of("network: cifar-resnet20\nbatch: 1\nstrategy: pooch\nsearch: exact\nevaluations: 77\n");
  CHECK(named.strategy == "pooch (p.yaml)");
  CHECK(named.plan.search == "plan file");
  CHECK(named.plan.evaluations == 0);
}

TEST_CASE("a faster link never makes swapping everything slower") {
  const PreparedRun run = Prepared("link: [4 GB/s, 64 GB/s]\n");
  std::vector<ResultRow> swap_all;
  for (const ResultRow& row : RowsOf(run)) {
    if (row.strategy == "swap-all") swap_all.push_back(row);
  }
  REQUIRE(swap_all.size() == 6);  // three batches per link rate
  // Copies that are faster take more of the device memory's bandwidth from the kernels beside them: at 64 GB/s at most
  // 64 / 900 of a kernel, here a small part of steps that the host bounds.
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(static_cast<double>(swap_all[i + 3].times.step) <= 1.01 * static_cast<double>(swap_all[i].times.step));
  }
}

}  // namespace
}  // namespace spillway
