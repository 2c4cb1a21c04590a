// How many batch parts: what divides the batch has no say in the answer.
#include "sim/strategies/accumulate/part_counts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>

#include "model/step/accumulate.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/strategies/strategies.h"
#include "tests/deep.h"

namespace spillway {
namespace {

constexpr std::int64_t kMost = 64;

struct Search {
  std::int64_t best = 0;
  int tried = 0;
};
Search FindBy(std::int64_t batch, const std::function<std::optional<Nanos>(std::int64_t)>& time) {
  PartCounts counts(PartsOf(batch, kMost), std::min(batch, kMost));
  Search found;
  Nanos best = 0;
  while (const auto parts = counts.Next()) {
    const std::optional<Nanos> now = time(*parts);
    counts.Tried(*parts, now);
    ++found.tried;
    if (now && (found.best == 0 || *now < best)) found.best = *parts, best = *now;
  }
  return found;
}

// VGG-16 of a batch, in parts where that is what fits.
class Vgg {
 public:
  explicit Vgg(std::int64_t batch)
      : parts_(batch, [](std::int64_t samples) {
          return BuildTrainingStep(BuildZooNetwork("vgg16", {.batch = samples}), StepOptionsByName("torch"));
        }) {}
  // The fastest step, or in so many parts; 0: it does not fit.
  Nanos Time(const CostModel& costs, Bytes capacity, std::int64_t told = 0) {
    Problem problem;
    problem.step = &parts_.In(1).part;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.use_runtime = true;
    problem.in_parts = &parts_;
    if (told > 0) problem.parameters.Set("parts", told);
    const Planned planned = PlanWithHeadroom(StrategyByName("accumulate"), problem);
    if (!planned.feasible) return 0;
    problem.step = &parts_.In(planned.plan.accumulate).all.step;
    return Evaluate(planned.plan, problem, {.verify = false, .bounds = false, .timeline = false}).step_time;
  }

 private:
  StepsInParts parts_;
};

}  // namespace

TEST_CASE("the fewest parts that fit are found, whatever divides the batch") {
  for (std::int64_t batch = 1; batch <= 200; ++batch) {
    for (std::int64_t fits = 1; fits <= std::min(batch, kMost); ++fits) {
      const Search found = FindBy(batch, [&](std::int64_t parts) -> std::optional<Nanos> {
        if (parts < fits) return std::nullopt;
        return 1000 + parts;
      });
      INFO("batch " << batch << " in " << fits);
      REQUIRE(found.best == fits);
      REQUIRE(found.tried <= static_cast<int>(PartsOf(batch, kMost).size()) + 12);
    }
  }
}

TEST_CASE("more parts than the fewest are found where these are the fastest") {
  for (std::int64_t batch = 1; batch <= 140; ++batch) {
    const std::int64_t most = std::min(batch, kMost);
    for (std::int64_t best = 1; best <= most; ++best) {
      for (const std::int64_t fits : {std::int64_t{1}, (best + 1) / 2, best}) {
        const Search found = FindBy(batch, [&](std::int64_t parts) -> std::optional<Nanos> {
          if (parts < fits) return std::nullopt;
          return 1000 + std::abs(parts - best);
        });
        INFO("batch " << batch << ", fastest in " << best << ", fits in " << fits);
        REQUIRE(found.best == best);
        REQUIRE(found.tried <= static_cast<int>(PartsOf(batch, kMost).size()) + 20);
      }
    }
  }
}

TEST_CASE("where no number of parts fits the most parts were tried, and the reason is theirs") {
  for (const std::int64_t batch : {1, 7, 61, 64, 126, 134}) {
    std::int64_t last = 0;
    FindBy(batch, [&](std::int64_t parts) -> std::optional<Nanos> {
      last = parts;
      return std::nullopt;
    });
    CHECK(last == std::min(batch, kMost));
  }
}

TEST_CASE("one number that the user states is the only one tried") {
  PartCounts counts({7}, 7);
  CHECK(counts.Next() == 7);
  counts.Tried(7, 100);
  CHECK_FALSE(counts.Next().has_value());
}

TEST_CASE("a number that was not judged is neither preferred nor said to fit") {
  PartCounts counts({1, 2, 4}, 4);
  counts.Tried(1, std::nullopt);
  counts.Tried(2, PartCounts::kNotJudged);
  counts.Tried(4, 100);
  CHECK(counts.Next() == 3);  // beside the fastest, which is 4
  counts.Tried(3, 100);
  CHECK_FALSE(counts.Next().has_value());
  CHECK(counts.Fitting() == std::vector<std::int64_t>{3, 4});
  CHECK(counts.NotFitting() == std::vector<std::int64_t>{1});
}

// What fits at a batch fits at one less in as many parts, which are no larger. Laws of kernels are not quite monotone.
TEST_CASE("one sample less never makes a step in parts longer by more than kernels of odd sizes are slower") {
  const Machine machine = LoadMachine("a100-pcie4");
  const CostModel costs(machine);
  Nanos above = 0;
  for (std::int64_t batch = 130; batch >= Cases(123, 100); --batch) {
    const Nanos time = Vgg(batch).Time(costs, 4 * kGB);
    INFO("batch " << batch << ": " << time << " ns, one more: " << above);
    REQUIRE(time > 0);
    if (above > 0) CHECK(static_cast<double>(time) <= 1.02 * static_cast<double>(above));
    above = time;
  }
}

TEST_CASE("no number of parts is faster by more than a few per cent than the one that was found") {
  const Machine machine = LoadMachine("a100-pcie4");
  const CostModel costs(machine);
  for (const std::int64_t batch : {126, 127}) {
    Vgg vgg(batch);
    const Nanos found = vgg.Time(costs, 4 * kGB);
    for (std::int64_t parts = 1; parts <= Cases(16, 64); ++parts) {
      const Nanos time = vgg.Time(costs, 4 * kGB, parts);
      INFO("batch " << batch << " in " << parts << ": " << time << " ns, found " << found);
      if (time > 0) CHECK(static_cast<double>(found) <= 1.02 * static_cast<double>(time));
    }
  }
}

}  // namespace spillway
