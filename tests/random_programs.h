// Programs of plans drawn at random, as devices execute them.
#ifndef SPILLWAY_TESTS_RANDOM_PROGRAMS_H_
#define SPILLWAY_TESTS_RANDOM_PROGRAMS_H_

#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "tests/random_plan.h"

namespace spillway {

// Gives `check` one on each kind of runtime that devices execute. `check` may draw, too.
template <typename Check>
void ForEachRandomProgram(const TrainingStep& step, const CostModel& costs, Random& random, const Check& check) {
  const Runtime runtimes[] = {{},
                              {.copy_streams = 1},
                              {.copy_chunk = 64 * kKiB},
                              {.barrier = Barrier::kOp},
                              {.barrier = Barrier::kPhase, .host_syncs = HostSyncs::kBackwardLayer},
                              {.swap_in_waits = SwapInWaits::kBackwardLayer}};
  const StepTables tables(step, costs);
  for (const Runtime& runtime : runtimes) {
    Program program = Lower(RandomPlan(step, runtime, 20 + 10 * random.Below(6), random), tables, 0).program;
    PlaceBuffers(program);
    check(program);
  }
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RANDOM_PROGRAMS_H_
