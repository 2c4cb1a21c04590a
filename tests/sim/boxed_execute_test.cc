// Programs in parts on the device that computes nothing and watches everything.
#include <catch2/catch.hpp>

#include "model/unroll/unroll.h"
#include "sim/program/lower/lower.h"
#include "sim/verify/verify.h"
#include "tests/boxed_network.h"
#include "tests/boxed_program.h"
#include "tests/random_plan.h"
#include "tests/random_streams.h"
#include "tests/sim/fake_run.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

struct Case {
  TrainingStep step = BuildTrainingStep(BoxedNetwork());
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  BoxedProgram Boxed() const { return {InCoreProgram(step, costs), step}; }
  OpId Op(const std::string& name) const { return OpNamed(step, name); }
};

}  // namespace

TEST_CASE("a Program in parts runs in every order that it allows") {
  const Case c;
  BoxedProgram boxed = c.Boxed();
  for (const std::string& op :
       {std::string("plain:forward"), std::string("strided:backward_data"), std::string("strided:backward_filter")}) {
    boxed.Divide(c.Op(op), SampleParts(c.step.ops[Index(c.Op(op))], 3));
  }
  boxed.Stream(c.Op("strided:forward"), 3);
  REQUIRE(FirstViolation(boxed.program, c.step) == "");
  CHECK(Says(FakeRun(boxed.program, &c.step)) == "");
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    INFO(seed);
    REQUIRE(Says(Shuffled(boxed.program, &c.step, seed, 2)) == "");
  }
}

TEST_CASE("random plans in parts, streamed or not, run in every order that they allow") {
  Random random(11);
  int programs = 0;
  for (const SmallNetwork& network : kNetworks) {
    const TrainingStep step = BuildTrainingStep(network.build(), StepOptionsByName(network.options));
    const Machine machine = LoadMachine("unit");
    const CostModel costs(machine);
    const StepTables tables(step, costs);
    for (const Runtime& runtime : {Runtime{}, Runtime{.copy_streams = 1}, Runtime{.copy_chunk = kLeastCopyChunk},
                                   Runtime{.barrier = Barrier::kOp, .part_waits = PartWaits::kHost}}) {
      Plan plan = RandomPlan(step, runtime, 40, random);
      AddRandomParts(step, 60, random, plan);
      for (const bool streamed : {false, true}) {
        if (streamed) AddRandomStreams(step, 60, random, plan);
        INFO(network.name << " " << PlanToYaml(plan, step));
        Program program = Lower(plan, tables, 0).program;
        PlaceBuffers(program);
        REQUIRE(Says(FakeRun(program, &step)) == "");
        for (std::uint64_t seed = 1; seed <= 5; ++seed) REQUIRE(Says(Shuffled(program, &step, seed, 2)) == "");
        ++programs;
      }
    }
  }
  CHECK(programs == 32);
}

TEST_CASE("a part that is left out, and a tile that keeps its padding, are seen") {
  const Case c;
  const auto without = [&](BoxedProgram& boxed, std::size_t at) {
    boxed.program.code.erase(boxed.program.code.begin() + static_cast<std::ptrdiff_t>(at));
    return Says(FakeRun(boxed.program, &c.step));
  };
  BoxedProgram parts = c.Boxed();
  parts.Divide(c.Op("plain:forward"), SampleParts(c.step.ops[Index(c.Op("plain:forward"))], 2));
  CHECK(without(parts, parts.InstructionOf(c.Op("plain:forward"), 1)).find("does not hold what it should") !=
        std::string::npos);
  BoxedProgram sum = c.Boxed();
  sum.Divide(c.Op("strided:backward_filter"), SampleParts(c.step.ops[Index(c.Op("strided:backward_filter"))], 2));
  // What adds to nothing; that a sum lacks its last part is for verify to say.
  CHECK(without(sum, sum.InstructionOf(c.Op("strided:backward_filter"), 0)).find("holds nothing") != std::string::npos);
  BoxedProgram tiles = c.Boxed();
  tiles.Stream(c.Op("strided:forward"), 2);
  for (Copy& copy : tiles.program.copies) copy.fill = false;
  CHECK(Says(FakeRun(tiles.program, &c.step)).find("does not hold what it should") != std::string::npos);
  CHECK_FALSE(Verify(tiles.program, &c.step).empty());
}

}  // namespace spillway
