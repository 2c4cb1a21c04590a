// Training on the CUDA device over the stand-in, whose kernels are the CPU device's, gives the CPU device's bits: losses,
// parameters, momenta, running statistics; in core and out of core, whatever the strategy and the order in which streams
// get on.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "calibrate/validate/measure.h"
#include "model/network/network.h"
#include "model/unroll/unroll.h"
#include "sim/program/lower/lower.h"
#include "tests/cuda/cuda_training.h"
#include "tests/in_parts.h"
#include "tests/random_groups.h"
#include "tests/random_programs.h"
#include "tests/random_streams.h"
#include "tests/small_networks.h"

namespace spillway {
namespace {

constexpr int kIterations = 3;

TEST_CASE("in core, the CUDA device trains as the CPU device does") {
  const SmallNetwork& entry = GENERATE(from_range(kNetworks));
  INFO(entry.name);
  const CpuCase c(entry.build(), StepOptionsByName(entry.options));
  const Program program = c.InCore().program;
  const Trained cpu = Train(c, program, {.iterations = kIterations});
  REQUIRE(Says(cpu) == "");
  CHECK(cpu.tensors.size() > 10);
  for (const bool debug : {false, true}) {
    const Trained cuda = TrainCuda(c, program, {.iterations = kIterations, .debug = debug});
    REQUIRE(Says(cuda) == "");
    CHECK(Difference(cuda, cpu) == "");
  }
}

TEST_CASE("seeds and rates reach the kernels as on the CPU device") {
  const CpuCase c(Modules());
  const Program program = c.InCore().program;
  const Trained first = TrainCuda(c, program, {.iterations = 2});
  const Trained seeded = TrainCuda(c, program, {.iterations = 2}, {}, {.seed = 2});
  CHECK(Difference(first, seeded) != "");
  CHECK(Difference(seeded, Train(c, program, {.iterations = 2}, {.seed = 2})) == "");
  const Trained faster = TrainCuda(c, program, {.iterations = 2}, {}, {.learning_rate = 0.02f, .momentum = 0.8f});
  CHECK(Difference(faster, Train(c, program, {.iterations = 2}, {.learning_rate = 0.02f, .momentum = 0.8f})) == "");
}

void CheckSame(const CpuCase& c, const Trained& reference, const Program& program, std::uint64_t seed) {
  const Trained plain = TrainCuda(c, program, {.iterations = kIterations});
  REQUIRE(Says(plain) == "");
  CHECK(Difference(plain, reference) == "");
  StandInOptions shuffled;
  shuffled.shuffle_seed = seed;
  const Trained other =
      TrainCuda(c, program, {.iterations = kIterations, .debug = true, .shuffle_seed = seed}, shuffled);
  REQUIRE(Says(other) == "");
  CHECK(Difference(other, reference) == "");
  CHECK(other.result.high_water <= program.PeakAddress());
  CHECK(other.result.high_water > program.PeakAddress() - 4096);  // what is left is rounding
}

TEST_CASE("every strategy trains as in core") {
  const SmallNetwork& entry = GENERATE(from_range(kNetworks));
  const CpuCase c(entry.build(), StepOptionsByName(entry.options));
  const Evaluation in_core = c.InCore();
  const Trained reference = Train(c, in_core.program, {.iterations = kIterations});
  INFO(entry.name);
  ForEachTightProgram(c, in_core.peak_bytes, [&](const Program& program) { CheckSame(c, reference, program, 7); });
}

TEST_CASE("random plans train as in core, on all runtimes that execute") {
  Random random(17);
  for (const SmallNetwork& entry : kNetworks) {
    const CpuCase c(entry.build(), StepOptionsByName(entry.options));
    const Trained reference = Train(c, c.InCore().program, {.iterations = kIterations});
    ForEachRandomProgram(c.step, c.costs, random, [&](const Program& program) {
      INFO(entry.name);
      CheckSame(c, reference, program, 1 + random.Below(1000));
    });
  }
}

TEST_CASE("parameters and states that lie on the host between steps train as in core") {
  Random random(31);
  for (const SmallNetwork& entry : kNetworks) {
    const CpuCase c(entry.build(), StepOptionsByName(entry.options));
    const Trained reference = Train(c, c.InCore().program, {.iterations = kIterations});
    Plan plan = RandomPlan(c.step, {}, 20, random);
    AddRandomNextStepGaps(c.step, random, plan);
    INFO(entry.name);
    CheckSame(c, reference, ProvenProgram(c, plan), 1 + random.Below(1000));
  }
}

TEST_CASE("ops in parts, streamed or not, train as on the CPU device in the same parts") {
  Random random(23);
  for (const SmallNetwork& entry : kNetworks) {
    const CpuCase c(entry.build(), StepOptionsByName(entry.options));
    const StepTables tables(c.step, c.costs);
    for (const PartWaits waits : {PartWaits::kNone, PartWaits::kHost}) {
      Plan plan = RandomPlan(c.step, {.part_waits = waits}, 30, random);
      AddRandomParts(c.step, 60, random, plan);
      if (waits == PartWaits::kNone) AddRandomStreams(c.step, 60, random, plan);
      LibraryParts(plan);
      INFO(entry.name << " " << PlanToYaml(plan, c.step));
      Program program = Lower(plan, tables, 0).program;
      PlaceBuffers(program);
      CHECK(!program.boxes.empty());
      const Trained reference = Train(c, program, {.iterations = kIterations});
      REQUIRE(Says(reference) == "");
      CheckSame(c, reference, program, 1 + random.Below(1000));
    }
  }
}

TEST_CASE("fused ops run part by part together, and train as on the CPU device in the same parts") {
  Random random(29);
  int fused = 0;
  for (const SmallNetwork& entry : kNetworks) {
    const CpuCase c(entry.build(), StepOptionsByName(entry.options));
    const StepTables tables(c.step, c.costs);
    for (const std::uint32_t percent : {40U, 90U}) {
      Plan plan = RandomPlan(c.step, {}, 30, random);
      AddRandomGroups(c.step, percent, random, plan);
      LibraryParts(plan);
      INFO(entry.name << " " << PlanToYaml(plan, c.step));
      REQUIRE(CheckPlan(plan, c.step).empty());
      Program program = Lower(plan, tables, 0).program;
      PlaceBuffers(program);
      fused += FusedOps(plan);
      const Trained reference = Train(c, program, {.iterations = kIterations});
      REQUIRE(Says(reference) == "");
      CheckSame(c, reference, program, 1 + random.Below(1000));
    }
  }
  CHECK(fused > 80);
}

TEST_CASE("batches in parts train as on the CPU device, their losses and labels part by part") {
  Random random(31);
  for (const SmallNetwork& entry : kNetworks) {
    const Network network = entry.build();
    const CpuCase c(network, InParts(network, StepOptionsByName(entry.options), 4));
    const Program program = c.InCore().program;
    const Trained reference = Train(c, program, {.iterations = kIterations});
    REQUIRE(Says(reference) == "");
    INFO(entry.name);
    CheckSame(c, reference, program, 1 + random.Below(1000));
  }
}

TEST_CASE("emulation changes times and nothing else") {
  const CpuCase c(Modules());
  const Evaluation in_core = c.InCore();
  const Program program = Tight(c, "swap-all", in_core.peak_bytes).program;
  const Trained reference = Train(c, in_core.program, {.iterations = kIterations});
  const Trained plain = TrainCuda(c, program, {.iterations = kIterations});
  const Trained emulated =
      TrainCuda(c, program, {.iterations = kIterations}, {}, {.emulate = {.compute_slowdown = 5, .link_rate = 0.5}});
  REQUIRE(Says(emulated) == "");
  CHECK(Difference(emulated, reference) == "");
  CHECK(emulated.result.step_times[2] > 4 * plain.result.step_times[2]);
}

TEST_CASE("a plan's algorithm within its workspace is what is prepared, and more is refused by name") {
  const CpuCase c(AlexNet());
  Program program = c.InCore().program;
  for (Launch& launch : program.launches) {
    if (launch.kind == OpKind::kConvolution) launch.workspace = 0;
    if (launch.kind == OpKind::kConvolution) launch.type = DataType::kFp16;
  }
  const Trained refused = TrainCuda(c, program);
  REQUIRE(refused.result.failure.has_value());
  CHECK(refused.result.failure->fault == Fault::kRefused);
  CHECK(refused.result.failure->iteration == -1);
  CHECK(Says(refused).find("kernel conv1:forward") != std::string::npos);
  CHECK(Says(refused).find("trains in fp32 NCHW, not in fp16 nchw") != std::string::npos);
}

}  // namespace
}  // namespace spillway
