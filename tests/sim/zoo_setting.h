// A network of the zoo on a machine, for tests of what strategies plan there.
#ifndef SPILLWAY_TESTS_SIM_ZOO_SETTING_H_
#define SPILLWAY_TESTS_SIM_ZOO_SETTING_H_

#include <cstdint>
#include <string>
#include <utility>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "sim/strategies/pooch/search.h"
#include "sim/strategies/strategies.h"

namespace spillway {

struct ZooSetting {  // owns what a Problem points to
  ZooSetting(const std::string& network, std::int64_t batch, Machine the_machine)
      : machine(std::move(the_machine)),
        costs(machine),
        step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}))) {
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = machine.devices[0].UsableMemory();
  }
  ZooSetting(const ZooSetting&) = delete;
  Planned PlanBy(const char* name) const { return StrategyByName(name).plan(problem); }
  // Bytes with everything on the device.
  Bytes InCoreBytes() const {
    const PoochModel model = MakeModel(problem);
    Search search(model, SwapInRule::kWhenRoom);
    return search.SimulateUnlimited(Classes(step.maps.size(), MapClass::kKeep)).peak + model.profile().persistent;
  }

  Machine machine;
  CostModel costs;
  TrainingStep step;
  Problem problem;
};

inline const GapDecision* DecisionOn(const Plan& plan, TensorId tensor) {
  for (const GapDecision& gap : plan.gaps) {
    if (gap.tensor == tensor) return &gap;
  }
  return nullptr;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_ZOO_SETTING_H_
