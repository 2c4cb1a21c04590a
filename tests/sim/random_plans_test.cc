// Plans drawn for validation: feasible, different, spread over the strata, the same for the same seed.
#include "sim/planning/random_plans.h"

#include <catch2/catch.hpp>
#include <set>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"

namespace spillway {
namespace {

struct Drawing {
  Drawing(const char* network, std::int64_t batch, double share_of_maps) {
    step = BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}));
    problem = {.step = &step, .costs = &costs, .use_runtime = true, .runtime = RuntimeByName("arena")};
    problem.capacity = kGB;
    const Bytes in_core = Evaluate(Plan{}, problem).peak_bytes;
    problem.capacity = in_core - static_cast<Bytes>((1 - share_of_maps) * static_cast<double>(step.MapBytes()));
  }
  std::vector<DrawnPlan> Draw(std::uint64_t seed, int plans = 36) const {
    return DrawPlans(problem, {.plans = plans, .seed = seed});
  }
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  TrainingStep step;
  Problem problem;
};

TEST_CASE("drawn plans can be carried out within the limit") {
  const Drawing d("cifar-resnet20", 4, 0.5);
  const std::vector<DrawnPlan> plans = d.Draw(1);
  REQUIRE(plans.size() == 36);
  for (const DrawnPlan& drawn : plans) {
    INFO(drawn.stratum.Text());
    CHECK(CheckPlan(drawn.plan, d.step).empty());
    const Evaluation e = Evaluate(drawn.plan, d.problem);  // verifies
    CHECK(e.feasible);
    CHECK(e.peak_bytes <= d.problem.capacity);
    CHECK(e.classes.swap + e.classes.recompute > 0);  // in-core does not fit
  }
}

TEST_CASE("drawn plans are as their strata say") {
  const Drawing d("cifar-resnet20", 4, 0.5);
  bool kept_some = false, early = false;
  for (const DrawnPlan& drawn : d.Draw(2)) {
    INFO(drawn.stratum.Text());
    const ClassCounts counts = CountClasses(drawn.plan, d.step);
    if (drawn.stratum.recomputed == 0) CHECK(counts.recompute == 0);
    if (drawn.stratum.moved == 1) CHECK(counts.keep == 0);
    if (drawn.stratum.moved < 0.5) kept_some = kept_some || counts.keep > 0;
    for (const GapDecision& gap : drawn.plan.gaps) {
      if (gap.action != GapAction::kSwap) continue;
      if (drawn.stratum.earliness == Earliness::kLate) CHECK(gap.in_at == gap.before);
      early = early || gap.in_at < gap.before - 10;
    }
  }
  CHECK(kept_some);
  CHECK(early);
}

TEST_CASE("the seed decides, and no plan comes twice") {
  const Drawing d("cifar-resnet20", 4, 0.6);
  const std::vector<DrawnPlan> plans = d.Draw(3, 20), again = d.Draw(3, 20), others = d.Draw(4, 20);
  REQUIRE(plans.size() == 20);
  REQUIRE(again.size() == 20);
  bool differ = plans.size() != others.size();
  for (std::size_t k = 0; k < plans.size(); ++k) {
    CHECK(plans[k].plan == again[k].plan);
    differ = differ || !(plans[k].plan == others[k].plan);
    for (std::size_t m = 0; m < k; ++m) CHECK_FALSE(plans[k].plan.gaps == plans[m].plan.gaps);
  }
  CHECK(differ);
}

TEST_CASE("where nothing fits nothing is drawn") {
  Drawing d("cifar-alexnet", 4, 0.7);
  d.problem.capacity = kMiB;
  CHECK(d.Draw(1).empty());
}

TEST_CASE("every stratum is another one") {
  std::set<std::string> texts;
  for (const Stratum& stratum : Strata()) texts.insert(stratum.Text());
  CHECK(texts.size() == 36);
  CHECK(texts.count("60 % moved, 33 % of it recomputed, near") == 1);
}

}  // namespace
}  // namespace spillway
