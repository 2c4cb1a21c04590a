// The full path from a Plan to figures: lower, layout, verify, simulate, count. The planners' oracle and the judge of
// what they return.
#ifndef SPILLWAY_SIM_EVALUATE_ORACLE_H_
#define SPILLWAY_SIM_EVALUATE_ORACLE_H_

#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/bounds/bounds.h"
#include "sim/evaluate/evaluation.h"
#include "sim/program/step_tables.h"

namespace spillway {

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

}  // namespace spillway

#endif  // SPILLWAY_SIM_EVALUATE_ORACLE_H_
