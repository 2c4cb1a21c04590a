// Strategies: who decides. Each is one file under sim/strategies/ and one line of its table.inc.
//
// A strategy looks at the step, at costs and at how much memory there is, and returns a Plan. It says what, never how:
// no streams, no events. It may ask `evaluate` or any cheaper model of its own; what it returns is then judged by
// evaluate() in any case.
#ifndef SPILLWAY_SIM_STRATEGY_H_
#define SPILLWAY_SIM_STRATEGY_H_

#include <optional>
#include <string>
#include <vector>

#include "model/cost/cost_model.h"
#include "sim/bounds/claimed_bound.h"
#include "sim/bounds/scope.h"
#include "sim/plan/plan.h"
#include "sim/strategy_parameters.h"

namespace spillway {

class PlanMemo;      // sim/memo.h
class RungMemo;      // sim/strategies/pooch/ladder.h
class StepsInParts;  // model/step/steps_in_parts.h

struct Problem {
  const TrainingStep* step = nullptr;
  const CostModel* costs = nullptr;  // and, through it, the machine
  Bytes capacity = 0;                // bytes of device memory to plan with
  int device = 0;                    // the first one: engines and curves count no other yet
  // Overrides the runtime of the modelled system, e.g. PoocH's decisions on our own runtime.
  bool use_runtime = false;
  Runtime runtime;
  std::int64_t simulation_cap = 20000;  // searches that could go on for ever stop here
  RungMemo* rungs = nullptr;            // what searches of the same run found, to be shared; may be left out
  PlanMemo* plans = nullptr;            // the same of plans, for who asks other strategies
  StrategyParameters parameters{};      // of those that Strategy::parameters lists
  // Of the step's network and batch, for plans that accumulate; nullptr: there is only `step`.
  StepsInParts* in_parts = nullptr;
  int threads = 1;  // that may look for a plan, at most; which one is found never depends on it
};

struct Planned {
  bool feasible = false;
  std::string reason;  // why not: "needs 17.3 GB at op conv1:forward" ...
  Plan plan;
  // Where it proved one, with a plan or without: of all plans in the claim's scope for the problem's step, costs and
  // capacity. Results take the better of this and the general one.
  std::optional<ClaimedBound> bound{};
  std::optional<Scope> scope{};  // what it chose from, where its parameters say so: in place of Strategy::scope
};

// Whether `best` begins with the strategy's plan, too.
enum class ForBest : std::uint8_t {
  kNo,
  kWhereOpsDoNotFit,  // it takes seconds, and is for steps of which the search over whole ops finds no plan
  kYes,
};

struct Strategy {
  const char* name;
  const char* description;  // one line
  const char* paper;
  Planned (*plan)(const Problem& problem);
  // Decides by the problem's runtime; else one plan serves all that have the same backward units (sim/memo.h).
  bool reads_runtime = false;
  // Decides by what layers and convolutions there are, or cuts the batch: nothing for a recorded step, which has neither.
  bool needs_layers = false;
  bool judges = false;  // all it returns by the full path, addresses included: it needs no margin (sim/margin.h)
  ForBest for_best = ForBest::kYes;
  // How much it decides, so that a row which a simpler strategy beats can say so: 0 one rule for all maps, 1 a class for
  // each map by rule or search over two of keep, swap and recompute, 2 a search over all three, 3 over ops as well;
  // -1: something else.
  int choices = 0;
  // What it chooses from, but for the copy streams, which are the runtime's: what the gap of its rows is measured against.
  Scope scope{.copy_streams = 1};
  // What of its parameters does not go with a batch; "": nothing. nullptr: they go with any.
  std::string (*mistake)(const StrategyParameters& parameters, std::int64_t batch) = nullptr;
  std::vector<ParameterRow> parameters{};  // what it may be told, see Problem::parameters
};

const std::vector<Strategy>& Strategies();
const Strategy* FindStrategy(const std::string& name);    // nullptr: there is none
const Strategy& StrategyByName(const std::string& name);  // UserError with the nearest name

// The runtimes of the modelled systems, by name: "pooch", "arena".
struct RuntimeEntry {
  const char* name;
  const char* description;
  Runtime runtime;
};
const std::vector<RuntimeEntry>& RuntimeTable();
const Runtime& RuntimeByName(const std::string& name);

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGY_H_
