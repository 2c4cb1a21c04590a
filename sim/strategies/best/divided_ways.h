// Ways to run a convolution in parts along its batch, for searches to choose from beside those that leave it whole: faster
// algorithms in less workspace (micro-cuDNN, arXiv 1804.04806; sim/strategies/ucudnn/).
//
// Only those that pay for sure: in at least 90 % of the common draws of the cost model's errors such a way is faster than
// the fastest whole one in no more workspace; and those for which there is no whole one.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_

#include <vector>

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"

namespace spillway {

struct DividedWay {
  Nanos time = 0;       // of all kernels, alone
  Bytes workspace = 0;  // of the part that needs most
  double slowdown = 1;  // factor on the time while a copy runs
  std::vector<OpPart> parts;
};

// Of two parts or more, in powers of two and what is left, within `limit` bytes of workspace: none beats another in both
// time and workspace, ascending in workspace. None of what is no convolution, or has no algorithms by name.
std::vector<DividedWay> DividedWaysOf(const CostModel& costs, const Launch& launch, Bytes limit, int device);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_DIVIDED_WAYS_H_
