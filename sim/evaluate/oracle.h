// The full path from a Plan to figures: lower, lay out, verify, simulate, count. Planners ask it for candidates, and it
// judges the plan that they return.
#ifndef SPILLWAY_SIM_EVALUATE_ORACLE_H_
#define SPILLWAY_SIM_EVALUATE_ORACLE_H_

#include <memory>
#include <mutex>
#include <utility>

#include "model/cost/cost_model.h"
#include "model/util/once_cache.h"
#include "sim/bounds/bounds.h"
#include "sim/evaluate/evaluation.h"
#include "sim/program/step_tables.h"

namespace spillway {

// The facts of a step on a machine that every plan needs. Made once and shared by the oracles of all capacities, but for
// those that cut a grant by themselves (StepTables::CutsGrants).
// Thread-safe.
class StepFacts {
 public:
  // `step` and `costs` must outlive it. `capacity`: as StepTables.
  StepFacts(const TrainingStep& step, const CostModel& costs, int device = 0, Bytes capacity = kEndlessBytes);
  const StepTables& tables() const { return tables_; }
  const CostModel& costs() const { return *costs_; }
  // Computed at the first call; rates once for each scope of parts. They take a second for some networks.
  const LaunchMenus& menus() const;
  const LaunchPartRates& part_rates(PartScope parts, const TileCounts& tiles) const;

 private:
  const CostModel* costs_;
  StepTables tables_;
  mutable std::once_flag menus_once_;
  mutable LaunchMenus menus_;
  mutable OnceCache<std::pair<PartScope, TileCounts>, LaunchPartRates> rates_;
};

// Judges plans for a step on a machine with `capacity` bytes of device memory. Thread-safe, deterministic.
class Oracle {
 public:
  Oracle(std::shared_ptr<const StepFacts> facts, Bytes capacity);
  // Throws std::logic_error if `verify` finds the lowered Program unsafe, which is a bug of Spillway.
  // REQUIRES: the plan was checked against the step (CheckPlan).
  Evaluation Evaluate(const Plan& plan, const EvaluateOptions& options = {}) const;
  // LowerBounds within the scope; computed once for each scope.
  Bounds BoundsIn(const Scope& scope) const;
  const StepFacts& facts() const { return *facts_; }
  Bytes capacity() const { return capacity_; }

 private:
  std::shared_ptr<const StepFacts> facts_;
  Bytes capacity_;
  mutable OnceCache<Scope, Bounds> bounds_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_EVALUATE_ORACLE_H_
