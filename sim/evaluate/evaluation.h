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

// Times are nanoseconds of one step in steady state, sizes bytes. Of a plan that is not feasible only the first four
// fields mean anything. The caller owns it; nothing in it points elsewhere.
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
  // Of unified memory: what kernels wait for pages, which is in none of the above. By assumption.
  Nanos fault_time = 0;
  ManagedFaults faults;
  Bounds bounds;  // of the plan's scope
  Scope scope;    // that `bounds` are of: EvaluateOptions::scope and the plan's
  // Of WidestScope: no plan that leaves ops whole is faster; where this one may divide ops, none at all.
  Bounds widest;
  std::vector<Bytes> memory_by_class;  // at the live peak, by TensorClass, then workspace; with a timeline only
  std::vector<Bytes> mean_by_class;    // of what is live on average over the step, likewise
  Program program;
  Timeline timeline;
};

// What may be left out where many plans are compared; what is computed is the same with and without.
struct EvaluateOptions {
  bool verify = true;
  bool bounds = true;
  bool timeline = true;
  // What the plan was chosen from: bounds hold for all of it, and for the plan. Nothing: for what the plan decides.
  std::optional<Scope> scope{};
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EVALUATE_EVALUATION_H_
