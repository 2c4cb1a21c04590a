// in-core: nothing moves, nothing is computed twice. The yardstick; whether it fits is for evaluate() to say.
#include "sim/planning/problem.h"

namespace spillway {

Planned PlanInCore(const Problem& problem) {
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "in-core", "arena");
  return planned;
}

}  // namespace spillway
