#include "scenarios/verbs/show_floor.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/cost/measured_cost.h"
#include "reports/text.h"
#include "sim/program/layout.h"
#include "sim/strategies/streaming.h"

namespace spillway {

namespace {

// The search ends when what was found is less than a thousandth above what was not.
constexpr Bytes kExact = 1000;

struct Floor {
  Bytes memory = 0;   // a plan was found; 0: none, in whatever memory
  std::string below;  // why none was in a little less
};

// By bisection between what cannot do and `enough`, where it does.
Floor FloorOf(Problem problem, const std::shared_ptr<const StepFacts>& facts, Bytes enough, MayDivide divide) {
  Floor floor{.memory = enough, .below = ""};
  problem.capacity = enough;
  if (const Planned planned = FitByStreaming(problem, facts, "floor", divide); !planned.feasible) {
    return {.memory = 0, .below = planned.reason};
  }
  Bytes too_little = 0;
  while (floor.memory - too_little > std::max(kAllocationUnit, floor.memory / kExact)) {
    problem.capacity = too_little + (floor.memory - too_little) / 2;
    const Planned planned = FitByStreaming(problem, facts, "floor", divide);
    if (planned.feasible) {
      floor.memory = problem.capacity;
    } else {
      too_little = problem.capacity;
      floor.below = planned.reason;
    }
  }
  return floor;
}

// What everything on the device takes, laid out.
Bytes InCore(const Problem& problem, const StepTables& tables) {
  Plan plan;
  plan.network = problem.step->network;
  plan.batch = problem.step->batch;
  Lowered lowered = LowerItems(plan, tables, 0);
  return PlaceBuffers(lowered.skeleton, lowered.program, 0);
}

struct Floors {
  Bytes in_core = 0;
  Floor whole, parts;
};

Floors FloorsOf(const Network& network, const CostModel& costs) {
  const TrainingStep step = BuildTrainingStep(network);
  const auto facts = std::make_shared<const StepFacts>(step, costs);
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  Floors floors{.in_core = InCore(problem, facts->tables()), .whole = {}, .parts = {}};
  const Bytes ample = floors.in_core + floors.in_core / 10;
  floors.whole = FloorOf(problem, facts, ample, MayDivide::kNothing);
  floors.parts =
      FloorOf(problem, facts, floors.whole.memory > 0 ? floors.whole.memory : ample, MayDivide::kWhatDoesNotFit);
  return floors;
}

std::string MemoryText(const Floor& floor) { return floor.memory > 0 ? FormatBytes(floor.memory) : "-"; }

Machine MachineOf(const Command& command) {
  Machine machine = LoadMachine(command.machine.empty() ? "unit" : command.machine);
  CheckMeasured(machine, machine.name);
  return machine;
}

}  // namespace

std::string ShowFloor(const Command& command, const Network& network) {
  const Machine machine = MachineOf(command);
  const CostModel costs(machine);
  const Floors floors = FloorsOf(network, costs);
  TextTable table({"<plan", "memory", "<in a little less"});
  table.Row({"all on the device", FormatBytes(floors.in_core), ""});
  table.Row({"ops whole, all else on the host", MemoryText(floors.whole), floors.whole.below});
  table.Row({"ops streamed in parts", MemoryText(floors.parts), floors.parts.below});
  return fmt::format("{} at batch {} on {}: the least memory in which a plan was found\n\n", network.name,
                     command.batch, machine.name) +
         table.Text();
}

std::string ShowFloors(const Command& command, const std::vector<std::string>& networks) {
  const Machine machine = MachineOf(command);
  const CostModel costs(machine);
  TextTable table({"<network", "on the device", "ops whole", "in parts", "<in a little less"});
  for (const std::string& name : networks) {
    const Floors floors = FloorsOf(BuildZooNetwork(name, {.batch = command.batch}), costs);
    table.Row(
        {name, FormatBytes(floors.in_core), MemoryText(floors.whole), MemoryText(floors.parts), floors.parts.below});
  }
  return fmt::format("at batch {} on {}: the least memory in which a plan was found\n\n", command.batch, machine.name) +
         table.Text();
}

}  // namespace spillway
