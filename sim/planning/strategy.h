// A strategy makes plans. Each strategy is one file under sim/strategies/ and one line of table.inc there.
//
// A strategy gets a step, its costs and the memory, and returns a Plan: decisions, without streams or events. It may
// ask `evaluate`, or any cheaper model of its own. Its plan is evaluated by the full path in any case.
#ifndef SPILLWAY_SIM_PLANNING_STRATEGY_H_
#define SPILLWAY_SIM_PLANNING_STRATEGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/bounds/scope.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy_parameters.h"

namespace spillway {

// The use of the strategy's plan as a start of the search of `best`.
enum class ForBest : std::uint8_t {
  kNo,
  kWhereOpsDoNotFit,  // only if the search over whole ops finds no plan, because the strategy takes seconds
  kYes,
};

struct Strategy {
  const char* name;
  const char* description;  // one line
  const char* paper;
  Planned (*plan)(const Problem& problem);
  // true: the plan depends on the problem's runtime. false: one plan serves all runtimes with the same backward units
  // (sim/planning/plan_cache.h).
  bool reads_runtime = false;
  // true: the strategy needs layers, convolutions or a divisible batch, which a recorded step does not have.
  bool needs_layers = false;
  // True: it evaluates its plans by the full path with addresses, and needs no headroom (PlanWithHeadroom).
  bool judges = false;
  ForBest for_best = ForBest::kYes;
  // How much the strategy decides, so that a result can tell when a simpler strategy beats it. 0: one rule for all
  // maps. 1: a class for each map, by rule or by search over two of keep, swap and recompute. 2: a search over all
  // three. 3: over ops as well. -1: something else.
  int choices = 0;
  // The plans that it chooses from; the gap of its rows refers to bounds in this scope. The runtime sets the copy
  // streams.
  Scope scope{.copy_streams = 1};
  // Returns the reason why the parameters do not suit the batch, or "". nullptr: they suit any batch.
  std::string (*mistake)(const StrategyParameters& parameters, std::int64_t batch) = nullptr;
  std::vector<ParameterRow> parameters{};  // the parameters that a user may set (Problem::parameters)
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
