// Verify on counted memory (clause 5b of sim/program/program.h): small changes to Programs of random plans, judged by a
// checker that looks at all pairs and adds up all bytes.
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/program/lower/lower.h"
#include "tests/random_plan.h"
#include "tests/sim/counted_changes.h"

namespace spillway {
namespace {

TEST_CASE("changed Programs of counted memory are refused exactly where order or bytes break") {
  Random random(51);
  CountedTally tally;
  const TrainingStep step = BuildTrainingStep(BuildZooNetwork("cifar-alexnet", {.batch = 2}));
  const Machine machine = LoadMachine("unit");
  const CostModel costs(machine);
  const StepTables tables(step, costs);
  for (int k = 0; k < 12; ++k) {
    const Plan plan = RandomPlan(step, {.memory = MemoryModel::kCounted}, 15 + 10 * random.Below(6), random);
    const Bytes least = Lower(plan, tables, 1).list_peak;
    const Bytes capacity = k % 2 == 0 ? least : least + least / 20;
    const Lowered lowered = Lower(plan, tables, 1, capacity);
    REQUIRE(lowered.counted_peak <= capacity);
    JudgeCounted(step, lowered.program, capacity, 60, random, tally);
  }
  int all = 0;
  for (const auto& [what, counts] : tally) {
    INFO(what << ": " << counts.first << " safe, " << counts.second << " not");
    CHECK((counts.first >= 5 || what == "less memory" || what == "no wait" || what == "other stream"));
    CHECK((counts.second >= 5 || what == "more memory"));
    all += counts.first + counts.second;
  }
  CHECK(all >= 300);
}

}  // namespace
}  // namespace spillway
