#include <algorithm>
#include <array>

#include "calibrate/validate/falsify.h"
#include "sim/strategies/pooch/pooch_model.h"

namespace spillway {

namespace {

Conditions Usual(const Evaluation& e, const Plan& plan, const Problem& problem) {
  return ConditionsOf(e.program, *problem.costs, plan.runtime, problem.capacity);
}

Nanos SimulatedStep(const Evaluation& e, const std::vector<Nanos>& durations, const Conditions& conditions) {
  Scratch scratch;
  return SimulateTimes(e.program, durations, conditions, scratch).makespan;
}

Nanos Full(const Evaluation& e, const Plan& /*plan*/, const Problem& /*problem*/) { return e.step_time; }

Nanos WithoutLatency(const Evaluation& e, const Plan& plan, const Problem& problem) {
  std::vector<Nanos> durations = Durations(e.program, *problem.costs);
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Instruction& in = e.program.code[i];
    if (in.opcode != Opcode::kCopy) continue;
    const Copy& copy = e.program.copies[in.arg];
    durations[i] = std::max<Nanos>(0, durations[i] - problem.costs->Copy(1, copy.direction).time);
  }
  return SimulatedStep(e, durations, Usual(e, plan, problem));
}

Nanos WithoutContention(const Evaluation& e, const Plan& plan, const Problem& problem) {
  Conditions conditions = Usual(e, plan, problem);
  conditions.copy_slowdown.clear();
  return SimulatedStep(e, Durations(e.program, *problem.costs), conditions);
}

Nanos WithoutDuplexLoss(const Evaluation& e, const Plan& plan, const Problem& problem) {
  Conditions conditions = Usual(e, plan, problem);
  conditions.duplex_factor.clear();
  return SimulatedStep(e, Durations(e.program, *problem.costs), conditions);
}

Nanos WithoutHostCost(const Evaluation& e, const Plan& plan, const Problem& problem) {
  Conditions conditions = Usual(e, plan, problem);
  conditions.DropHostCosts();
  return SimulatedStep(e, Durations(e.program, *problem.costs), conditions);
}

struct Sums {
  Nanos kernels = 0;
  std::array<Nanos, 2> copies{};  // by Direction
};
Sums SumsOf(const Evaluation& e, const Problem& problem) {
  Sums sums;
  const std::vector<Nanos> durations = Durations(e.program, *problem.costs);
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Instruction& in = e.program.code[i];
    if (in.opcode == Opcode::kKernel) sums.kernels += durations[i];
    if (in.opcode != Opcode::kCopy) continue;
    sums.copies[static_cast<std::size_t>(e.program.copies[in.arg].direction)] += durations[i];
  }
  return sums;
}

Nanos SumOfOps(const Evaluation& e, const Plan& /*plan*/, const Problem& problem) { return SumsOf(e, problem).kernels; }

Nanos LargerOfBoth(const Evaluation& e, const Plan& plan, const Problem& problem) {
  const Sums sums = SumsOf(e, problem);
  const bool shared = plan.runtime.copy_streams == 1;
  const Nanos transfer = shared ? sums.copies[0] + sums.copies[1] : std::max(sums.copies[0], sums.copies[1]);
  return std::max(sums.kernels, transfer);
}

// The plan as its classes of maps, swap-ins as PoocH schedules them. Of steps in batch parts it knows nothing: the full
// model's prediction, so that the row speaks for neither.
Nanos TwoClocks(const Evaluation& e, const Plan& plan, const Problem& problem) {
  if (problem.step->parts > 1) return e.step_time;
  const PoochModel model(ProfileStep(*problem.step, *problem.costs, problem.capacity, problem.device));
  const std::vector<PoochProfile::Map>& maps = model.profile().maps;
  Classes classes(maps.size(), MapClass::kKeep);
  for (const GapDecision& gap : plan.gaps) {
    const auto map = std::find_if(maps.begin(), maps.end(), [&](const auto& m) { return m.tensor == gap.tensor; });
    if (map == maps.end()) continue;
    classes[static_cast<std::size_t>(map - maps.begin())] =
        gap.action == GapAction::kSwap ? MapClass::kSwap : MapClass::kRecompute;
  }
  SimulationScratch scratch = model.MakeScratch();
  return model.Simulate(classes, {.enforce_capacity = false}, scratch).total;
}

}  // namespace

const std::vector<StepModel>& StepModels() {
  static const std::vector<StepModel> table = {
      {"full", "the simulator with everything it knows", Full},
      {"no latency", "copies cost what their bytes cost", WithoutLatency},
      {"no contention", "copies slow no kernel down", WithoutContention},
      {"no duplex loss", "both directions of the link at full rate at once", WithoutDuplexLoss},
      {"no host cost", "issuing costs nothing", WithoutHostCost},
      {"sum of ops", "kernels one after the other, copies for free", SumOfOps},
      {"max(compute, transfer)", "kernels or the busier direction of the link, whichever takes longer", LargerOfBoth},
      {"two clocks", "PoocH's model: one compute clock, one swap clock, on the plan's classes", TwoClocks},
  };
  return table;
}

}  // namespace spillway
