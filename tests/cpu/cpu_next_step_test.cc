// Parameters and states that lie on the host between steps, on the CPU device: training is that in core, bit for bit.
#include <algorithm>
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/random_plan.h"
#include "tests/small_networks.h"

namespace spillway {

TEST_CASE("networks whose parameters and states lie on the host between steps train as in core, bit for bit") {
  Random random(44);
  int plans = 0, gaps = 0, smaller = 0;
  const auto run = [&](const Network& network, const char* options) {
    const CpuCase c(network, StepOptionsByName(options));
    const StepTables tables(c.step, c.costs);
    const Evaluation in_core = c.InCore();
    const Trained expected = Train(c, in_core.program, {.iterations = 3});
    for (int k = 0; k < Cases(2, 10); ++k) {
      Plan plan = RandomPlan(c.step, {.copy_streams = 1 + k % 2, .copy_chunk = k % 3 == 2 ? kLeastCopyChunk : 0},
                             30 * random.Below(3), random);
      AddRandomNextStepGaps(c.step, random, plan);
      gaps += static_cast<int>(std::count_if(plan.gaps.begin(), plan.gaps.end(),
                                             [](const GapDecision& gap) { return gap.EndsInNextStep(); }));
      REQUIRE(CheckPlan(plan, c.step).empty());
      Program program = Lower(plan, tables, 1).program;
      PlaceBuffers(program);
      for (const Violation& violation : Verify(program, &c.step)) FAIL(violation.message);
      INFO(network.name << " " << options << " plan " << k);
      const Trained trained = Train(c, program, {.iterations = 3, .debug = k % 2 == 0});
      REQUIRE(Says(trained) == "");
      CHECK(Difference(expected, trained) == "");
      smaller += program.PeakAddress() < in_core.peak_bytes ? 1 : 0;
      ++plans;
    }
  };
  for (const char* options : {"plain", "torch"}) {
    run(BuildZooNetwork("cifar-resnet20", {.batch = 8, .image = 16}), options);
    run(Vgg(), options);
    run(Modules(), options);
  }
  INFO(gaps << " gaps in " << plans << " plans, " << smaller << " smaller than in core");
  CHECK(plans == 6 * Cases(2, 10));
  CHECK(gaps > 8 * plans);
  CHECK(smaller > plans / 2);
}

}  // namespace spillway
