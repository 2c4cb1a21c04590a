// Lower bounds on the time of a step, whatever the plan, under a cost model.
//
// "Whatever the plan" means: any Plan that CheckPlan accepts and that leaves algorithms and workspace to the library,
// on a machine that is never faster than its cost model (contention and host costs only add). Ops are not divided.
#ifndef SPILLWAY_SIM_BOUNDS_BOUNDS_H_
#define SPILLWAY_SIM_BOUNDS_BOUNDS_H_

#include "model/cost/cost_model.h"
#include "sim/plan/plan.h"

namespace spillway {

struct Bounds {
  Nanos compute = 0;   // every op once, without stalls
  Nanos transfer = 0;  // bytes that must cross the link even if recomputation were free: the input's upload
  // Linear program (sim/bounds/memory_bound.h): at every op boundary the bytes beyond capacity are on the host or to be
  // recomputed; the step takes at least compute + recomputation, and at least the copies of each direction. (PoocH's
  // problem, relaxed.) Equal to `compute` where everything fits, and where nothing does: whether a plan exists at all
  // is not for a bound to say.
  Nanos memory = 0;
  Nanos Best() const;
  const char* Binding() const;  // "compute", "transfer" or "memory": the largest, the first of equals
};

// `capacity`: bytes of device memory; `copy_streams`: with one, both directions' copies are summed.
// REQUIRES: the machine links `device` to a host.
Bounds LowerBounds(const TrainingStep& step, const CostModel& costs, Bytes capacity, int copy_streams, int device = 0);

}  // namespace spillway

#endif  // SPILLWAY_SIM_BOUNDS_BOUNDS_H_
