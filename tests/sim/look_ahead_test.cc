// Looking ahead leaves no trace: whatever the walk over a plan does on the way, it goes on as if it had not looked.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "model/unroll/unroll.h"
#include "sim/program/lower/walk.h"
#include "tests/random_groups.h"
#include "tests/random_sections.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

// Plans with everything that a walk keeps account of: recomputed gaps and entries, sections, streams, fused groups.
std::vector<Plan> PlansOfAllKinds(const TrainingStep& step, const Runtime& runtime, Random& random) {
  const auto swaps = [&] {
    Plan plan = RandomPlan(step, runtime, 40, random);
    std::erase_if(plan.gaps, [](const GapDecision& gap) { return gap.action == GapAction::kRecompute; });
    return plan;
  };
  std::vector<Plan> plans{RandomPlan(step, runtime, 50, random), RandomPlan(step, runtime, 20, random), swaps(),
                          swaps(), swaps()};
  AddRandomEntries(step, random, plans[0]);
  AddRandomEntries(step, random, plans[1]);
  AddRandomSections(step, 80, random, plans[2]);
  AddRandomStreams(step, 40, random, plans[3]);
  AddRandomGroups(step, 30, random, plans[4]);
  std::erase_if(plans, [&step](const Plan& plan) { return !CheckPlan(plan, step).empty(); });
  return plans;
}

std::vector<std::uint32_t> FramesOf(const Program& program) {
  std::vector<std::uint32_t> frames;
  for (const Buffer& buffer : program.buffers) frames.push_back(buffer.frame);
  return frames;
}

TEST_CASE("looking ahead leaves no trace") {
  const Machine machine = LoadMachine("unit");
  const CostModel costs{machine};
  const TrainingStep step = BuildTrainingStep(Modules(), StepOptionsByName("plain"));
  const StepTables tables(step, costs);
  const auto end = static_cast<OpId>(step.ops.size());
  Random random(1);
  int plans = 0;
  for (const Runtime& runtime :
       {Runtime{}, Runtime{.swap_in_waits = SwapInWaits::kBackwardLayer, .workspaces = Workspaces::kHeld}}) {
    for (int round = 0; round < 5; ++round) {
      for (const Plan& plan : PlansOfAllKinds(step, runtime, random)) {
        INFO(PlanToYaml(plan, step));
        Lowered straight = LowerWalk(plan, tables).TakeItems();
        LowerWalk looking(plan, tables);
        for (OpId op = 0; op < end; ++op) {
          looking.RunUntil(op);
          looking.LookAhead(random.Between(op, std::min(end, op + 20)));
        }
        Lowered looked = looking.TakeItems();
        CHECK(looked.list_peak == straight.list_peak);
        CHECK(looked.op == straight.op);
        CHECK(looked.live_at == straight.live_at);
        CHECK(FramesOf(looked.program) == FramesOf(straight.program));
        Synchronise(looked.skeleton, looked.program);
        Synchronise(straight.skeleton, straight.program);
        REQUIRE(DumpProgram(looked.program) == DumpProgram(straight.program));
        ++plans;
      }
    }
  }
  CHECK(plans >= 30);
}

}  // namespace
}  // namespace spillway
