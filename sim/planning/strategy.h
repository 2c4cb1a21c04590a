// A strategy: who decides. Each is one file under sim/strategies/ and one line of its table.inc.
//
// A strategy looks at the step, at costs and at how much memory there is, and returns a Plan. It says what, never how:
// no streams, no events. It may ask `evaluate` or any cheaper model of its own; what it returns is then judged by
// evaluate() in any case.
#ifndef SPILLWAY_SIM_PLANNING_STRATEGY_H_
#define SPILLWAY_SIM_PLANNING_STRATEGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/bounds/scope.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy_parameters.h"

namespace spillway {

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
  // Decides by the problem's runtime; else one plan serves all that have the same backward units
  // (sim/planning/plan_cache.h).
  bool reads_runtime = false;
  // Decides by what layers and convolutions there are, or cuts the batch: nothing for a recorded step, which has
  // neither.
  bool needs_layers = false;
  bool judges = false;  // all it returns by the full path, addresses included: it needs no headroom (PlanWithHeadroom)
  ForBest for_best = ForBest::kYes;
  // How much it decides, so that a row which a simpler strategy beats can say so: 0 one rule for all maps, 1 a class for
  // each map by rule or search over two of keep, swap and recompute, 2 a search over all three, 3 over ops as well;
  // -1: something else.
  int choices = 0;
  // What it chooses from, but for the copy streams, which are the runtime's: what the gap of its rows is measured
  // against.
  Scope scope{.copy_streams = 1};
  // What of its parameters does not go with a batch; "": nothing. nullptr: they go with any.
  std::string (*mistake)(const StrategyParameters& parameters, std::int64_t batch) = nullptr;
  std::vector<ParameterRow> parameters{};  // what it may be told, see Problem::parameters
};

// Asks a strategy for a plan with the headroom that an arena needs.
//
// A strategy counts bytes; an arena's layout needs up to some per cent more, depending on the plan. A plan that moves
// anything in an arena is therefore asked for again within 97, 94 and 91 % of the capacity (with a quarter of the
// simulations each, where a strategy counts them by capacity). Returned is the plan that evaluates fastest under the
// whole capacity. A pool has no addresses: its plan is returned as it is. A bound that comes with the plan is that of
// the whole capacity. Strategies that judge their plans themselves are asked once. `memo`: of the run that asks.
// REQUIRES: `oracle` is the problem's.
Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem, const Oracle& oracle, PlanCache& memo);
// With an oracle and a memo of its own.
Planned PlanWithHeadroom(const Strategy& strategy, const Problem& problem);

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_STRATEGY_H_
