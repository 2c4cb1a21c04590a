// Other models of the step time, to see whether what was measured can tell the full one from them.
//
// Ablations leave one feature of the simulator out. Rivals are simpler models that people use. Each looks at the same
// costs and the same Program or plan; none has a parameter to tune.
//
// Tested by validate_rivals_test (tests/).
#ifndef SPILLWAY_CALIBRATE_VALIDATE_RIVALS_H_
#define SPILLWAY_CALIBRATE_VALIDATE_RIVALS_H_

#include <vector>

#include "sim/evaluate.h"

namespace spillway {

struct StepModel {
  const char* name;
  const char* description;
  // REQUIRES: `evaluation` is that of `plan` and `problem`, and feasible.
  Nanos (*predict)(const Evaluation& evaluation, const Plan& plan, const Problem& problem);
};
// The full model first.
const std::vector<StepModel>& StepModels();

}  // namespace spillway

#endif  // SPILLWAY_CALIBRATE_VALIDATE_RIVALS_H_
