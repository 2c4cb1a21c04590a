// The figures of a Plan: what the full path finds (oracle.h): lower, layout, verify, simulate, count.
#ifndef SPILLWAY_SIM_EVALUATE_EVALUATION_H_
#define SPILLWAY_SIM_EVALUATE_EVALUATION_H_

#include <optional>
#include <string>
#include <vector>

#include "sim/bounds/bounds.h"
#include "sim/engine/managed_memory.h"
#include "sim/engine/simulate.h"
#include "sim/plan/plan.h"

namespace spillway {

// The figures of one plan. Times are nanoseconds of one step in steady state, sizes bytes. If the plan is not feasible,
// only the first four fields have a meaning. The caller owns it; it holds no pointer to other objects.
struct Evaluation {
  bool feasible = false;
  std::string reason;     // token plus details when not feasible
  OpId worst_op = kNoOp;  // "working_set": the op that does not fit
  // "working_set": the limit that would do, with every map swapped in an arena; "fragmentation": what the plan's smallest
  // layout took.
  Bytes smallest_limit = 0;
  Nanos step_time = 0;
  Bytes peak_bytes = 0;  // arena: highest address; pool: live peak
  Bytes live_peak_bytes = 0;
  Bytes host_peak_bytes = 0;  // pinned
  ClassCounts classes;
  Bytes bytes_out = 0, bytes_in = 0;
  Nanos recompute_time = 0, compute_time = 0;
  Nanos stall_out = 0, stall_in = 0, stall_host = 0;  // with a timeline only
  // Unified memory: the time that kernels wait for pages, by assumption. The figures above do not include it.
  Nanos fault_time = 0;
  ManagedFaults faults;
  Bounds bounds;  // of the plan's scope
  Scope scope;    // that `bounds` are of: EvaluateOptions::scope and the plan's
  // Bounds in WidestLike(scope): of all plans that leave ops whole, and parameters and states on the device, if it does.
  Bounds widest;
  std::vector<Bytes> memory_by_class;  // at the live peak, by TensorClass, then workspace; with a timeline only
  std::vector<Bytes> mean_by_class;    // of what is live on average over the step, likewise
  Program program;
  Timeline timeline;
};

// Parts of an evaluation that may be left out when many plans are compared. The other figures do not depend on them.
struct EvaluateOptions {
  bool verify = true;
  bool bounds = true;
  bool timeline = true;
  // The scope from which the plan was chosen, for which bounds hold. nullopt: the narrowest scope that includes the
  // plan.
  std::optional<Scope> scope{};
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EVALUATE_EVALUATION_H_
