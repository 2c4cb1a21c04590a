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
  Bytes memory = 0;   // a plan was found
  std::string below;  // why none was in a little less
};

// By bisection between what cannot do and `enough`, which does.
Floor FloorOf(Problem problem, const std::shared_ptr<const StepFacts>& facts, Bytes enough, MayDivide divide) {
  Floor floor{.memory = enough, .below = ""};
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

}  // namespace

std::string ShowFloor(const Command& command, const Network& network) {
  const Machine machine = LoadMachine(command.machine.empty() ? "unit" : command.machine);
  CheckMeasured(machine, machine.name);
  const CostModel costs(machine);
  const TrainingStep step = BuildTrainingStep(network);
  const auto facts = std::make_shared<const StepFacts>(step, costs);
  Problem problem;
  problem.step = &step;
  problem.costs = &costs;
  const Bytes in_core = InCore(problem, facts->tables());
  TextTable table({"<plan", "memory", "<in a little less"});
  table.Row({"all on the device", FormatBytes(in_core), ""});
  Bytes enough = in_core + in_core / 10;
  for (const MayDivide divide : {MayDivide::kNothing, MayDivide::kWhatDoesNotFit}) {
    const Floor floor = FloorOf(problem, facts, enough, divide);
    const bool whole = divide == MayDivide::kNothing;
    table.Row(
        {whole ? "ops whole, all else on the host" : "ops streamed in parts", FormatBytes(floor.memory), floor.below});
    enough = floor.memory;
  }
  return fmt::format("{} at batch {} on {}: the least memory in which a plan was found\n\n", network.name,
                     command.batch, machine.name) +
         table.Text();
}

}  // namespace spillway
