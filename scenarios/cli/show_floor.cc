#include <fmt/format.h>

#include <algorithm>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "reports/tables/text.h"
#include "scenarios/cli/show.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/shared/streaming.h"

namespace spillway {

namespace {

// The search ends when what was found is less than a thousandth above what was not.
constexpr Bytes kExact = 1000;

struct Floor {
  Bytes memory = 0;   // a plan was found; 0: none, in whatever memory
  std::string below;  // why none was in a little less
};

// The least memory in which FitByStreaming finds a plan. Up from where single ops fit, in steps that grow, or to where a
// layout that was too large would fit; then by bisection between what cannot do and what does.
class FloorSearch {
 public:
  FloorSearch(Problem problem, const std::shared_ptr<const StepFacts>& facts, MayDivide divide)
      : problem_(std::move(problem)), facts_(facts), divide_(divide) {}

  // `enough`: more is of no use; a plan is known to be found there, if that `is_known`.
  Floor Find(Bytes enough, bool is_known) {
    floor_.memory = enough;
    if (!is_known && !Try(enough)) return {.memory = 0, .below = floor_.below};
    const Bytes alone = LeastAlone(problem_, facts_, divide_);
    Bytes step = 0;
    bool far = false;
    for (Bytes next = alone; next < floor_.memory && !TryTightly(next);
         next = std::max(alone + step, too_little_ + kAllocationUnit)) {
      far = HostIsFull();  // from what single ops take
      if (far) break;
      step = std::max({kStepsGrow * step, alone / (kExact * kStepsGrow), kAllocationUnit});
    }
    if (far) too_little_ = 0;
    while (!IsExact()) {
      const Bytes middle = too_little_ + (floor_.memory - too_little_) / 2;
      far ? Try(middle) : TryTightly(middle);
    }
    return floor_;
  }

 private:
  static constexpr Bytes kStepsGrow = 4;

  Bytes Exact() const { return std::max(kAllocationUnit, floor_.memory / kExact); }
  bool HostIsFull() const { return floor_.below.find("host_memory: ") != std::string::npos; }
  bool IsExact() const { return floor_.memory - too_little_ <= Exact(); }

  // In so much; where layouts are too large for it, in what the smallest of them took. Where something stands in the way of
  // less, a little less is tried as well. Whether a plan was found.
  bool TryTightly(Bytes capacity) {
    const Bytes before = floor_.memory;
    bool found = Try(capacity);
    const bool laid_out = !found && smallest_layout_ > capacity && smallest_layout_ < before;
    if (laid_out) found = Try(RoundToUnit(smallest_layout_));
    if (found && (laid_out || too_little_ == 0) && !IsExact()) Try(floor_.memory - Exact());
    return found;
  }

  // Whether a plan is found in so much; notes it.
  bool Try(Bytes capacity) {
    problem_.capacity = capacity;
    Planned planned = FitByStreaming(problem_, facts_, "floor", divide_, &smallest_layout_);
    if (planned.feasible) {
      floor_.memory = capacity;
    } else if (capacity > too_little_) {
      too_little_ = capacity;
      floor_.below = std::move(planned.reason);
    }
    return planned.feasible;
  }

  Problem problem_;
  const std::shared_ptr<const StepFacts>& facts_;
  MayDivide divide_;
  Floor floor_;
  Bytes too_little_ = 0, smallest_layout_ = 0;
};

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
  floors.whole = FloorSearch(problem, facts, MayDivide::kNothing).Find(ample, false);
  const bool known = floors.whole.memory > 0;
  floors.parts =
      FloorSearch(problem, facts, MayDivide::kWhatDoesNotFit).Find(known ? floors.whole.memory : ample, known);
  return floors;
}

std::string MemoryText(const Floor& floor) { return floor.memory > 0 ? FormatBytes(floor.memory) : "-"; }

Machine MachineOf(const ShowAsked& asked) {
  Machine machine = LoadMachine(asked.machine.empty() ? "unit" : asked.machine);
  return machine;
}

}  // namespace

std::string ShowFloor(const ShowAsked& asked, const Network& network) {
  const Machine machine = MachineOf(asked);
  // Of memory alone: what the library takes in one call is another question.
  const CostModel costs(machine, {.large_calls = LargeCalls::kTaken});
  const Floors floors = FloorsOf(network, costs);
  TextTable table({"<plan", "memory", "<in a little less"});
  table.Row({"all on the device", FormatBytes(floors.in_core), ""});
  table.Row({"ops whole, all else on the host", MemoryText(floors.whole), floors.whole.below});
  table.Row({"ops streamed in parts", MemoryText(floors.parts), floors.parts.below});
  return fmt::format("{} at batch {} on {}: the least memory in which a plan was found\n\n", network.name, asked.batch,
                     machine.name) +
         table.Text();
}

std::string ShowFloors(const ShowAsked& asked, const std::vector<std::string>& networks) {
  const Machine machine = MachineOf(asked);
  const CostModel costs(machine, {.large_calls = LargeCalls::kTaken});
  TextTable table({"<network", "on the device", "ops whole", "in parts", "<in a little less"});
  for (const std::string& name : networks) {
    const Floors floors = FloorsOf(BuildZooNetwork(name, {.batch = asked.batch}), costs);
    table.Row(
        {name, FormatBytes(floors.in_core), MemoryText(floors.whole), MemoryText(floors.parts), floors.parts.below});
  }
  return fmt::format("at batch {} on {}: the least memory in which a plan was found\n\n", asked.batch, machine.name) +
         table.Text();
}

}  // namespace spillway
