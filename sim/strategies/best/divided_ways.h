// Ways to run a convolution in parts along its batch: faster algorithms in less workspace (micro-cuDNN, arXiv
// 1804.04806; sim/strategies/ucudnn/). A search chooses among these and the ways that run the convolution whole.
//
// Only ways that surely pay are offered: in at least 90 % of the common draws of the cost model's errors, the way must
// be faster than the fastest whole way with no more workspace. A way is also offered if no whole way has so little
// workspace.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_

#include <vector>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"

namespace spillway {

struct DividedWay {
  Nanos time = 0;       // all kernels together, alone
  Bytes workspace = 0;  // bytes of the part that needs most
  double slowdown = 1;  // factor on `time` while a copy runs
  std::vector<OpPart> parts;
};

// The ways with two or more parts within `limit` bytes of workspace, ascending in workspace; no way beats another in
// both time and workspace. Parts are powers of two in size, and the remainder. Empty for other ops, and for a
// convolution without named algorithms.
std::vector<DividedWay> DividedWaysOf(const CostModel& costs, const Launch& launch, Bytes limit, int device);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_
