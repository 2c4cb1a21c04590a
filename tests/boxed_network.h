// A training step with convolutions that are easy to divide wrongly, and its Program in core.
#ifndef SPILLWAY_TESTS_BOXED_NETWORK_H_
#define SPILLWAY_TESTS_BOXED_NETWORK_H_

#include "model/network/network.h"
#include "model/zoo/network_builder.h"
#include "sim/program/layout/layout.h"
#include "sim/program/lower/lower.h"

namespace spillway {

// Windows larger than their stride, padding on images that they do not fill evenly, groups, a fork whose gradients are
// added up by the convolutions themselves.
inline Network BoxedNetwork() {
  NetworkBuilder b("boxed", {.n = 4, .c = 4, .h = 9, .w = 8});
  const LayerId stem = b.Relu("relu", b.Convolution("plain", kNetworkInput, Square(8, 3, 1, 1)));
  const LayerId left = b.Convolution("strided", stem, Square(6, 5, 2, 2));
  LayerAttributes grouped = Square(6, 3, 2, 1);
  grouped.groups = 2;
  const LayerId right = b.Convolution("grouped", stem, grouped);
  return b.Loss(b.Linear("fc", b.AddUp("sum", {left, right}), 4));
}

inline Program InCoreProgram(const TrainingStep& step, const CostModel& costs) {
  Plan plan;
  plan.strategy = "by hand";
  plan.network = step.network;
  plan.batch = step.batch;
  const StepTables tables(step, costs);
  Program program = Lower(plan, tables, 0).program;
  PlaceBuffers(program);
  return program;
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_BOXED_NETWORK_H_
