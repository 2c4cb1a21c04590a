// The full path from a Plan to figures: lower, layout, verify, simulate, count. The planners' oracle and the judge of
// what they return.
#ifndef SPILLWAY_SIM_EVALUATE_H_
#define SPILLWAY_SIM_EVALUATE_H_

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/bounds/bounds.h"
#include "sim/engine/managed_memory.h"
#include "sim/engine/simulate.h"
#include "sim/strategy.h"

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

// A step on a machine: what every plan of it needs, made once and shared by oracles of all capacities. Thread-safe.
class StepFacts {
 public:
  // Step and costs must outlive it.
  StepFacts(const TrainingStep& step, const CostModel& costs, int device = 0);
  const StepTables& tables() const { return tables_; }
  const CostModel& costs() const { return *costs_; }
  const LaunchMenus& menus() const;  // made when first asked for
  const LaunchPartRates& part_rates(PartScope parts,
                                    const TileCounts& tiles) const;  // the same; a second for some networks

 private:
  const CostModel* costs_;
  StepTables tables_;
  mutable std::once_flag once_;
  mutable LaunchMenus menus_;
  struct Rates {
    PartScope parts;
    TileCounts tiles;
    LaunchPartRates rates;
  };
  mutable std::mutex rates_mutex_;
  mutable std::deque<Rates> rates_;
};

// Judges plans for a step on a machine with so many bytes of device memory. Thread-safe, deterministic.
class Oracle {
 public:
  Oracle(std::shared_ptr<const StepFacts> facts, Bytes capacity);
  explicit Oracle(const Problem& problem);  // with facts of its own
  // Throws std::logic_error if `verify` finds the lowered Program unsafe: that is our bug, not the user's.
  // REQUIRES: the plan was checked against the step (CheckPlan).
  Evaluation Evaluate(const Plan& plan, const EvaluateOptions& options = {}) const;
  // Remembered by scope.
  Bounds BoundsIn(const Scope& scope) const;
  const StepFacts& facts() const { return *facts_; }
  std::shared_ptr<const StepFacts> shared_facts() const { return facts_; }
  Bytes capacity() const { return capacity_; }

 private:
  std::shared_ptr<const StepFacts> facts_;
  Bytes capacity_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<Scope, Bounds>> bounds_;
};

// One plan, by an oracle of its own.
Evaluation Evaluate(const Plan& plan, const Problem& problem, const EvaluateOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_SIM_EVALUATE_H_
