// How far layouts are from the bytes live at once, below which none can be: plans drawn at random on networks of the zoo and
// recorded ones, on one and two copy streams.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/recorded/recorded_step.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/strategies.h"
#include "tests/random_plan.h"
#include "tests/recorded_network.h"

namespace spillway {
namespace {

using Kind = RecordedNetwork::Kind;
constexpr const char* kKinds[] = {"inverted bottlenecks", "skips", "inceptions", "transformers", "zoo"};
constexpr int kRecordedKinds = 4;

// A step with its costs and tables.
struct DrawnStep {
  DrawnStep(int kind, std::uint64_t seed) {
    if (kind < kRecordedKinds) {
      const std::string text = RecordedNetwork(static_cast<Kind>(kind), seed).Text();
      recorded = ReadRecordedStep(ParseDocument(text, "drawn.json"));
      costs = std::make_unique<RecordedCosts>(machine, CostOptions{}, recorded);
    } else {
      constexpr const char* kNames[] = {"alexnet",  "vgg16",    "googlenet", "googlenet-bn", "inception-v4",
                                        "resnet18", "resnet50", "resnet101", "densenet121",  "cifar-resnet20"};
      Random random(seed);
      const char* name = kNames[seed % std::size(kNames)];
      zoo = BuildTrainingStep(BuildZooNetwork(name, {.batch = random.Between(1, 64)}), StepOptionsByName("chainer"));
      costs = std::make_unique<CostModel>(machine);
    }
    tables = std::make_unique<StepTables>(step(), *costs);
  }
  DrawnStep(const DrawnStep&) = delete;
  const TrainingStep& step() const { return recorded ? recorded->step : zoo; }

  Machine machine = LoadMachine("v100-x86-pcie3");
  std::shared_ptr<const RecordedStep> recorded;
  TrainingStep zoo;
  std::unique_ptr<CostModel> costs;
  std::unique_ptr<StepTables> tables;
};

Plan InCore(const TrainingStep& step) {
  Plan plan;
  plan.network = step.network;
  plan.batch = step.batch;
  return plan;
}

// Half of the plans decide, as most strategies do, about maps between their forward and their backward uses alone.
Plan DrawnPlan(const DrawnStep& drawn, Random& random) {
  constexpr std::uint32_t kPercents[] = {0, 10, 30, 60, 100};
  const TrainingStep& step = drawn.step();
  const Runtime runtime{.copy_streams = 1 + static_cast<int>(random.Below(2))};
  Plan plan = RandomPlan(step, runtime, kPercents[random.Below(std::size(kPercents))], random);
  if (random.Below(2) == 0) return plan;
  std::erase_if(plan.gaps, [&](const GapDecision& gap) {
    const MapGap ends = ForwardBackwardGap(step, drawn.tables->uses, gap.tensor);
    return gap.after != ends.after || gap.before != ends.before;
  });
  EraseMistaken(PlanMistake::Where::kGap, step, plan, plan.gaps);
  return plan;
}

// Of processor time; the machine may be busy.
class Seconds {
 public:
  double operator()() const { return static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC; }

 private:
  std::clock_t start_ = std::clock();
};

struct Laid {
  std::size_t buffers = 0;
  Bytes live = 0;
  Bytes alone = 0, within = 0;  // layouts in any memory, in that of the live bytes
  double seconds = 0;           // of both
  double Distance(Bytes layout) const { return static_cast<double>(layout) / static_cast<double>(live) - 1; }
};

Bytes LaidOut(const Lowered& lowered, Bytes capacity) {
  Program program = lowered.program;
  Skeleton skeleton = lowered.skeleton;
  return PlaceBuffers(skeleton, program, capacity);
}

// Swap-ins as early as the plan says, or as late as can be.
std::vector<Laid> LayOut(int kind, std::uint64_t seed, int plans) {
  const DrawnStep drawn(kind, seed);
  Random random(seed);
  std::vector<Laid> all;
  while (static_cast<int>(all.size()) < plans) {
    const Plan plan = DrawnPlan(drawn, random);
    const Lowered lowered = LowerItems(plan, *drawn.tables, random.Below(2));
    if (lowered.Endless()) continue;
    const auto allocs = std::count_if(lowered.skeleton.items.begin(), lowered.skeleton.items.end(),
                                      [](const Instruction& item) { return item.opcode == Opcode::kAlloc; });
    const Seconds seconds;
    all.push_back({.buffers = static_cast<std::size_t>(allocs),
                   .live = lowered.list_peak,
                   .alone = LaidOut(lowered, 0),
                   .within = LaidOut(lowered, lowered.list_peak)});
    all.back().seconds = seconds();
  }
  return all;
}

std::string Row(const std::string& what, const std::vector<Laid>& all, Bytes Laid::*layout) {
  std::vector<double> distances;
  for (const Laid& laid : all) distances.push_back(laid.Distance(laid.*layout));
  std::sort(distances.begin(), distances.end());
  const auto below = [&](double most) {
    const auto end = std::upper_bound(distances.begin(), distances.end(), most);
    return 100.0 * static_cast<double>(end - distances.begin()) / static_cast<double>(distances.size());
  };
  const auto quantile = [&](double share) {
    return 100 * distances[static_cast<std::size_t>(share * static_cast<double>(distances.size() - 1))];
  };
  return fmt::format("{:<32} {:5} {:6.1f} % {:6.1f} % {:8.3f} {:8.3f} {:8.3f}\n", what, distances.size(), below(0),
                     below(0.01), quantile(0.5), quantile(0.95), quantile(1));
}

}  // namespace

TEST_CASE("layouts of a dozen drawn plans of each kind need little more than is live") {
  for (int kind = 0; kind < static_cast<int>(std::size(kKinds)); ++kind) {
    for (std::uint64_t seed = 101; seed <= 104; ++seed) {
      for (const Laid& laid : LayOut(kind, seed, 3)) {
        INFO(kKinds[kind] << " " << seed << ": " << laid.buffers << " buffers, " << laid.live << " live");
        CHECK(laid.Distance(laid.alone) < 0.05);
        CHECK(laid.Distance(laid.within) < 0.02);
      }
    }
  }
}

TEST_CASE("two thousand drawn plans: layouts against live bytes", "[.][figures]") {
  std::array<std::vector<Laid>, std::size(kKinds)> all;
  for (int kind = 0; kind < static_cast<int>(all.size()); ++kind) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const std::vector<Laid> laid = LayOut(kind, seed, 8);
      std::copy_if(laid.begin(), laid.end(), std::back_inserter(all[static_cast<std::size_t>(kind)]),
                   [](const Laid& one) { return one.buffers >= 100; });
    }
  }
  double seconds = 0;
  for (const auto& kind : all) {
    for (const Laid& laid : kind) seconds += laid.seconds;
  }
  for (const auto& [title, layout] :
       {std::pair{"as few bytes as possible", &Laid::alone}, std::pair{"in the live bytes", &Laid::within}}) {
    std::string text = fmt::format("{}: plans, at the live bytes, within 1 %, median, 95 %, worst (%)\n", title);
    std::vector<Laid> together;
    for (std::size_t kind = 0; kind < all.size(); ++kind) {
      text += Row(kKinds[kind], all[kind], layout);
      together.insert(together.end(), all[kind].begin(), all[kind].end());
    }
    UNSCOPED_INFO(text + Row("all", together, layout));
  }
  UNSCOPED_INFO(fmt::format("{:.1f} s of layout", seconds));
  CHECK(all[0].size() > 300);
}

// The same in a pool that counts bytes: as if there were no addresses.
TEST_CASE("best in arenas against live bytes, ten recorded steps in five memories", "[.][figures]") {
  std::string text = "step time in ms in an arena / by live bytes, in 85, 70, 55, 40, 30 % of what in-core takes\n";
  std::array<double, 2> seconds{};
  for (int k = 0; k < 10; ++k) {
    const DrawnStep drawn(k % kRecordedKinds, 201 + static_cast<std::uint64_t>(k));
    text += fmt::format("{:<20} {:4} ops", kKinds[k % kRecordedKinds], drawn.step().ops.size());
    Problem problem{.step = &drawn.step(), .costs = drawn.costs.get(), .use_runtime = true, .runtime = {}};
    const Bytes in_core = Lower(InCore(drawn.step()), *drawn.tables, 0).list_peak;
    for (const int percent : {85, 70, 55, 40, 30}) {
      problem.capacity = in_core / 100 * percent;
      for (std::size_t pool = 0; pool < 2; ++pool) {
        problem.runtime = RuntimeByName(pool == 0 ? "arena" : "paging");
        const Seconds planning;
        const Planned planned = PlanWithHeadroom(StrategyByName("best"), problem);
        seconds[pool] += planning();
        const Evaluation e = planned.feasible ? Evaluate(planned.plan, problem) : Evaluation{};
        text += pool == 0 ? "  " : " / ";
        text += e.feasible ? fmt::format("{:.1f}", static_cast<double>(e.step_time) / 1e6) : "-";
      }
    }
    text += "\n";
  }
  UNSCOPED_INFO(text + fmt::format("planning: {:.1f} s in arenas, {:.1f} s by live bytes", seconds[0], seconds[1]));
  CHECK(seconds[0] > 0);
}

}  // namespace spillway
