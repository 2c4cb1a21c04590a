// A zoo network's step on a machine, as planners get it: options of chainer, on a runtime, in so much memory.
#ifndef SPILLWAY_TESTS_SIM_ZOO_PLACE_H_
#define SPILLWAY_TESTS_SIM_ZOO_PLACE_H_

#include <cstdint>
#include <utility>

#include "model/unroll/unroll.h"
#include "model/zoo/zoo.h"
#include "sim/evaluate/evaluation.h"
#include "sim/plan/runtime.h"
#include "sim/planning/problem.h"

namespace spillway {

struct ZooPlace {
  Machine machine;
  CostModel costs{machine};
  TrainingStep step;

  ZooPlace(const char* network, std::int64_t batch, Machine on)
      : machine(std::move(on)),
        step(BuildTrainingStep(BuildZooNetwork(network, {.batch = batch}), StepOptionsByName("chainer"))) {}

  Problem At(Bytes capacity, const char* runtime) const {
    Problem problem;
    problem.step = &step;
    problem.costs = &costs;
    problem.capacity = capacity;
    problem.use_runtime = true;
    problem.runtime = RuntimeByName(runtime);
    return problem;
  }
};

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_ZOO_PLACE_H_
