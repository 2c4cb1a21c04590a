// Caches of a run: plans, and oracles with what they know of a step and a machine. Both are OnceCaches, which threads may
// share, and tell steps and costs apart by their addresses: these have to live as long as the cache, and as what it
// returns.
//
// Tested by plan_cache_test and oracle_test (tests/).
#ifndef SPILLWAY_SIM_PLANNING_PLAN_CACHE_H_
#define SPILLWAY_SIM_PLANNING_PLAN_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <typeindex>
#include <typeinfo>
#include <utility>

#include "model/util/once_cache.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/planning/strategy.h"

namespace spillway {

// The plans that were made already. Points that differ in the runtime alone ask most strategies the same question: their
// decisions depend on nothing of it but its backward units, and a search of a second is made once for nine of them.
// Points that differ in the memory share the rungs of their searches.
class PlanCache {
 public:
  // Returns or throws as strategy.plan(problem) does, on the problem's runtime.
  Planned Plan(const Strategy& strategy, const Problem& problem);

  // A cache that a strategy's searches share, of its own thread-safe type. Made at the first call; lives as long as
  // this.
  template <typename Cache>
  Cache& Shared() {
    const std::shared_ptr<void>& held = shared_.Ref(typeid(Cache), [] { return std::make_shared<Cache>(); });
    return *static_cast<Cache*>(held.get());
  }

 private:
  struct Question {
    explicit Question(const Strategy& strategy, const Problem& problem);
    bool operator==(const Question&) const = default;
    const Strategy* strategy;
    const TrainingStep* step;
    const CostModel* costs;
    Bytes capacity;
    int device;
    bool use_runtime;     // otherwise the plan has the runtime of the modelled system
    BackwardUnits units;  // of that runtime: what planners cut backward into
    std::int64_t simulation_cap;
    StrategyParameters parameters;
  };

  // Points that differ in the runtime alone lie close together: as many questions as a place with ten strategies and the
  // margins of their arenas asks, several times over.
  static constexpr std::size_t kMostPlans = 200;

  OnceCache<Question, Planned> plans_{kMostPlans};
  OnceCache<std::type_index, std::shared_ptr<void>> shared_;
};

// Oracles, with the facts that those of one step and machine share.
class OracleCache {
 public:
  // The oracle of the problem's step, costs, device and capacity.
  std::shared_ptr<const Oracle> For(const Problem& problem);

 private:
  struct Place {
    explicit Place(const Problem& problem) : step(problem.step), costs(problem.costs), device(problem.device) {}
    bool operator==(const Place&) const = default;
    const TrainingStep* step;
    const CostModel* costs;
    int device;
  };

  // Points of one place lie together; those of a sweep over machines or memories come back to none.
  static constexpr std::size_t kMostOracles = 16;

  OnceCache<Place, std::shared_ptr<const StepFacts>> facts_{kMostOracles};
  OnceCache<std::pair<Place, Bytes>, std::shared_ptr<const Oracle>> oracles_{kMostOracles};  // by place and capacity
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLANNING_PLAN_CACHE_H_
