// Plans that swap sections, carried out: ops that are not divided find tensors whole that came back in sections, and train
// as in core bit for bit.
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/cpu_training.h"
#include "tests/deep.h"
#include "tests/random_sections.h"
#include "tests/small_networks.h"

namespace spillway {

TEST_CASE("networks of which random sections are swapped train as in core, bit for bit") {
  Random random(43);
  int sections = 0, plans = 0;
  const auto run = [&](const Network& network, const char* options) {
    const CpuCase c(network, StepOptionsByName(options));
    const StepTables tables(c.step, c.costs);
    const Trained expected = Train(c, c.InCore().program, {.iterations = 2});
    for (int k = 0; k < Cases(4, 10); ++k) {
      Plan plan = RandomPlan(c.step, {.copy_streams = 1 + k % 2, .copy_chunk = k % 3 == 0 ? kLeastCopyChunk : 0},
                             40 + 10 * random.Below(7), random);
      if (k % 2 == 0) std::erase_if(plan.gaps, [](const auto& gap) { return gap.action != GapAction::kSwap; });
      sections += AddRandomSections(c.step, 100, random, plan);
      REQUIRE(CheckPlan(plan, c.step).empty());
      const Bytes limit = Lower(plan, tables, 0).list_peak * (100 - 10 * (k % 3)) / 100;
      Program program = Lower(plan, tables, limit).program;
      PlaceBuffers(program);
      for (const Violation& violation : Verify(program, &c.step)) FAIL(violation.message);
      INFO(network.name << " " << options << " plan " << k);
      const Trained trained = Train(c, program, {.iterations = 2, .debug = k % 4 == 0});
      REQUIRE(Says(trained) == "");
      CHECK(Difference(expected, trained) == "");
      ++plans;
    }
  };
  for (const char* options : {"plain", "chainer", "torch"}) {
    run(BuildZooNetwork("cifar-resnet20", {.batch = 16, .image = 16}), options);
    run(Vgg(), options);
    run(Modules(), options);
  }
  INFO(plans << " plans, " << sections << " sections");
  CHECK(plans == 9 * Cases(4, 10));
  CHECK(sections > Cases(450, 1200));
}

}  // namespace spillway
