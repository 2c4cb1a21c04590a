// A strategy's input and output: Problem (a step, costs, a capacity) and Planned (a plan, or why there is none).
#ifndef SPILLWAY_SIM_PLANNING_PROBLEM_H_
#define SPILLWAY_SIM_PLANNING_PROBLEM_H_

#include <cstdint>
#include <optional>
#include <string>

#include "sim/bounds/claimed_bound.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/strategy_parameters.h"

namespace spillway {

class PlanCache;     // sim/planning/plan_cache.h
class StepsInParts;  // model/step/accumulate.h

struct Problem {
  const TrainingStep* step = nullptr;
  const CostModel* costs = nullptr;  // and, through it, the machine
  Bytes capacity = 0;                // bytes of device memory to plan with
  int device = 0;                    // engines and curves support only the first device yet
  // Overrides the runtime of the modelled system, e.g. PoocH's decisions on our own runtime.
  bool use_runtime = false;
  Runtime runtime;
  const Runtime& RuntimeOr(const char* own) const;  // `own`: of the modelled system, by name
  Problem OnRuntimeOr(const char* own) const;       // the same problem, which overrides the runtime with that one
  BackwardUnits Units() const { return use_runtime ? runtime.backward_units : BackwardUnits::kLayers; }
  std::int64_t simulation_cap = 20000;  // searches that could go on for ever stop here
  PlanCache* plans = nullptr;           // plans and searches of the same run, to be shared; may be left out
  StrategyParameters parameters{};      // of those that Strategy::parameters lists
  // Of the step's network and batch, for plans that accumulate; nullptr: there is only `step`.
  StepsInParts* in_parts = nullptr;
  int threads = 1;  // the most threads for the search; the plan found does not depend on it
};

struct Planned {
  bool feasible = false;
  std::string reason;  // if not feasible: "needs 17.3 GB at op conv1:forward"
  Plan plan;
  // A bound that the strategy proved for all plans in the claim's scope, with or without a plan. Results take the
  // better of this bound and the general one.
  std::optional<ClaimedBound> bound{};
  std::optional<Scope> scope{};  // if the parameters change the set of plans searched: replaces Strategy::scope
};

// A Plan without decisions, named after the strategy and its parameters. Its runtime is the problem's if `use_runtime`
// is set, else the named one.
Plan StartPlan(const Problem& problem, const char* strategy, const char* runtime);

// An oracle for the problem's step, costs, device and capacity, with facts of its own. Step and costs must outlive it.
Oracle OracleOf(const Problem& problem);

// Evaluates one plan with an oracle made for it.
Evaluation Evaluate(const Plan& plan, const Problem& problem, const EvaluateOptions& options = {});

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_PROBLEM_H_
