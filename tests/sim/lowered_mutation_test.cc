// Verify on what `lower` and `layout` make of random plans: every Program is safe and waits for nothing in vain, and
// every small change to one is judged rightly.
#include <catch2/catch.hpp>

#include "model/cost/cost_model.h"
#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "tests/random_plan.h"
#include "tests/sim/judge_mutations.h"
#include "tests/violations.h"

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
          {.barrier = Barrier::kCall},
          {.copy_streams = 1, .memory = MemoryModel::kPool, .host_syncs = HostSyncs::kBackwardLayer},
          {.memory = MemoryModel::kPool, .barrier = Barrier::kOp},
          {.swap_in_waits = SwapInWaits::kBackwardLayer},
          {.memory = MemoryModel::kCounted},
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
    if (program.memory == ProgramMemory::kArena) PlaceBuffers(program);
    return program;
  }
};

TEST_CASE("random plans are lowered to safe Programs") {
  Random random(1);
  int programs = 0;
  for (const char* network : kNetworks) {
    for (const StepOptions& options : StepOptionTable()) {
      if (options.inference) continue;  // random ones recompute forward from forward, without an end
      const Case c(network, options);
      for (const Runtime& runtime : Runtimes()) {
        for (const std::uint32_t percent : {0u, 10u, 50u, 100u}) {
          const Plan plan = RandomPlan(c.step, runtime, percent, random);
          INFO(network << " " << options.name << " " << percent << " % " << PlanToYaml(plan, c.step));
          for (const Bytes limit : {100, 80, 50}) {
            const Program program = c.Lowered(plan, limit);
            INFO("limit " << limit << " %");
            REQUIRE(ViolationsOf(program, c.step) == "");
            REQUIRE(ImpliedWaits(program).empty());
            ++programs;
          }
        }
      }
    }
  }
  CHECK(programs >= 3 * 3 * 8 * 4 * 3);
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

TEST_CASE("mutations of lowered Programs whose ops run in parts") {
  Random random(3);
  MutationTally tally;
  const Case c("cifar-alexnet", StepOptionTable().front());
  for (const Runtime& runtime : Runtimes()) {
    Plan plan = RandomPlan(c.step, runtime, 20, random);
    AddRandomParts(c.step, 60, random, plan);
    AddRandomTiles(c.step, {2, 2, 2}, random, plan);
    INFO(PlanToYaml(plan, c.step));
    Judge(c.Lowered(plan), &c.step, tally);
  }
  UNSCOPED_INFO(tally.Text());
  CHECK(tally.Total() >= 5000);
}

// Of one part: its launch, its boxes, whether it adds, its place in the order.
class PartMutations {
 public:
  PartMutations(const Program& program, const TrainingStep& step) : program_(program), step_(step) {}

  void All() {
    for (std::size_t i = 0; i < program_.code.size(); ++i) {
      if (program_.code[i].opcode != Opcode::kKernel) continue;
      const Kernel& kernel = program_.kernels[program_.code[i].arg];
      if (program_.operands[kernel.operands].box == kWhole || kernel.recomputation) continue;
      Samples(i, 1);
      Samples(i, -1);
      Launches(i);
      Boxes(i);
      Order(i);
    }
  }
  int rejected = 0, accepted = 0;

 private:
  void Give(const char* what, std::size_t at, const Program& changed, bool safe = false) {
    const bool refused = !Verify(changed, &step_).empty();
    ++(safe ? accepted : rejected);
    if (refused != safe) return;
    INFO(DumpProgram(program_, &step_));
    FAIL_CHECK(what << " " << at << (safe ? " is safe" : " must be refused"));
  }
  Launch& OwnLaunch(Program& changed, std::size_t i) const {
    changed.kernels[changed.code[i].arg].launch = static_cast<std::uint32_t>(changed.launches.size());
    changed.launches.push_back(program_.launches[program_.kernels[program_.code[i].arg].launch]);
    return changed.launches.back();
  }
  void Samples(std::size_t i, std::int64_t more) {
    Program changed = program_;
    OpShape& shape = OwnLaunch(changed, i).shape;
    shape.in.n += more;
    shape.out.n += more;
    Give("samples of the launch", i, changed);
  }
  void Launches(std::size_t i) {
    Program changed = program_;
    Launch& launch = OwnLaunch(changed, i);
    launch.accumulate = !launch.accumulate;
    Give("adds or writes", i, changed);
  }
  void Boxes(std::size_t i) {
    const Kernel& kernel = program_.kernels[program_.code[i].arg];
    for (std::uint32_t k = 0; k < kernel.operand_count; ++k) {
      const Operand& operand = program_.operands[kernel.operands + k];
      if (operand.box == kWhole) continue;
      for (const auto& [begin, end] : {std::pair{-1, -1}, {1, 1}, {0, -1}, {1, 0}, {0, 1}}) {
        Program changed = program_;
        Box& box = changed.boxes[operand.box];
        box.begin[kBatchAxis] += begin;
        box.end[kBatchAxis] += end;
        Give("box", i, changed);
      }
    }
  }
  // With the next kernel: another part of the same op may come first, unless one begins the sum of the other.
  void Order(std::size_t i) {
    std::size_t j = i + 1;
    while (j < program_.code.size() && program_.code[j].opcode != Opcode::kKernel) ++j;
    if (j == program_.code.size()) return;
    const Kernel &one = program_.kernels[program_.code[i].arg], &other = program_.kernels[program_.code[j].arg];
    if (one.op != other.op || other.recomputation) return;
    const bool sums = step_.ops[Index(one.op)].pass == Pass::kBackwardFilter;
    const bool first = sums && !program_.launches[one.launch].accumulate;
    Program changed = program_;
    std::swap(changed.code[i], changed.code[j]);
    Give("order", i, changed, !first);
  }

  const Program& program_;
  const TrainingStep& step_;
};

TEST_CASE("mutations of the parts themselves") {
  Random random(4);
  int rejected = 0, accepted = 0;
  for (const char* network : kNetworks) {
    const TrainingStep step = BuildTrainingStep(BuildZooNetwork(network, {.batch = 5}));
    const Machine machine = LoadMachine("unit");
    const CostModel costs(machine);
    const StepTables tables(step, costs);
    Plan plan = RandomPlan(step, {}, 10, random);
    AddRandomParts(step, 25, random, plan);
    Program program = Lower(plan, tables, 0).program;
    PlaceBuffers(program);
    REQUIRE(ViolationsOf(program, step) == "");
    PartMutations mutations(program, step);
    mutations.All();
    rejected += mutations.rejected;
    accepted += mutations.accepted;
  }
  UNSCOPED_INFO(rejected << " refused, " << accepted << " safe");
  CHECK(rejected > 500);
  CHECK(accepted > 5);
}

}  // namespace
}  // namespace spillway
