// Verify on what `lower` and `layout` make of random plans: every Program is safe and waits for nothing in vain, and
// every small change to one is judged rightly.
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "sim/program/lower.h"
#include "sim/program/synchronise.h"
#include "tests/random_plan.h"
#include "tests/sim/judge_mutations.h"

namespace spillway {
namespace {

const char* const kNetworks[] = {"cifar-vgg", "cifar-alexnet", "cifar-resnet20"};

// Our own runtime, one copy stream, pools, barriers, copies in pieces.
std::vector<Runtime> Runtimes() {
  return {{},
          {.copy_streams = 1},
          {.copy_chunk = 100 * kKiB},
          {.barrier = Barrier::kPhase},
          {.barrier = Barrier::kOp},
          {.copy_streams = 1, .memory = MemoryModel::kPool, .host_syncs = HostSyncs::kBackwardLayer},
          {.memory = MemoryModel::kPool, .barrier = Barrier::kOp},
          {.swap_in_waits = SwapInWaits::kBackwardLayer},
          {.copy_streams = 1,
           .memory = MemoryModel::kPool,
           .host_syncs = HostSyncs::kBackwardLayer,
           .swap_in_waits = SwapInWaits::kBackwardLayer,
           .backward_units = BackwardUnits::kBreakPoints}};
}

struct Case {
  TrainingStep step;
  Machine machine = LoadMachine("unit");
  CostModel costs{machine};
  StepTables tables;
  explicit Case(const char* network, const StepOptions& options)
      : step(BuildTrainingStep(BuildZooNetwork(network, {.batch = 2}), options)), tables(step, costs) {}
  // With the list-order limit at `percent` of what the plan takes without one.
  Program Lowered(const Plan& plan, Bytes percent = 100) const {
    const Bytes limit = percent == 100 ? 0 : Lower(plan, tables, 0).list_peak * percent / 100;
    Program program = Lower(plan, tables, limit).program;
    if (program.arena) PlaceBuffers(program);
    return program;
  }
};

std::string Says(const Program& program, const TrainingStep& step) {
  std::string text;
  for (const Violation& violation : Verify(program, &step)) text += violation.message + "\n";
  return text;
}

TEST_CASE("random plans are lowered to safe Programs") {
  Random random(1);
  int programs = 0;
  for (const char* network : kNetworks) {
    for (const StepOptions& options : StepOptionTable()) {
      const Case c(network, options);
      for (const Runtime& runtime : Runtimes()) {
        for (const std::uint32_t percent : {0u, 10u, 50u, 100u}) {
          const Plan plan = RandomPlan(c.step, runtime, percent, random);
          INFO(network << " " << options.name << " " << percent << " % " << PlanToYaml(plan, c.step));
          for (const Bytes limit : {100, 80, 50}) {
            const Program program = c.Lowered(plan, limit);
            INFO("limit " << limit << " %");
            REQUIRE(Says(program, c.step) == "");
            REQUIRE(ImpliedWaits(program).empty());
            ++programs;
          }
        }
      }
    }
  }
  CHECK(programs >= 3 * 3 * 7 * 4 * 3);
}

TEST_CASE("mutations of lowered Programs") {
  Random random(2);
  MutationTally tally;
  const Case c("cifar-alexnet", StepOptionTable().front());
  for (const Runtime& runtime : Runtimes()) {
    for (const std::uint32_t percent : {10u, 30u}) {
      const Plan plan = RandomPlan(c.step, runtime, percent, random);
      INFO(PlanToYaml(plan, c.step));
      Judge(c.Lowered(plan), &c.step, tally);
    }
  }
  UNSCOPED_INFO(tally.Text());
  CHECK(tally.Total() >= 10000);
}

}  // namespace
}  // namespace spillway
