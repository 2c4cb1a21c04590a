// The plans of a run that were made already. Points that differ in the runtime alone ask most strategies the same
// question: their decisions depend on nothing of it but its backward units, and a search of a second is made once for
// nine of them. Points that differ in the memory share the rungs of their searches.
#ifndef SPILLWAY_SIM_PLAN_MEMO_H_
#define SPILLWAY_SIM_PLAN_MEMO_H_

#include <cstddef>
#include <cstdint>

#include "sim/answers.h"
#include "sim/strategies/pooch/ladder.h"
#include "sim/strategy.h"

namespace spillway {

// May be shared by threads: who asks for a plan that is being made waits for it. It holds what was asked last.
class PlanMemo {
 public:
  // What strategy.plan(problem) returns or throws, on the problem's runtime. The step and the costs are told apart by
  // their addresses and have to live as long as the memo.
  Planned Plan(const Strategy& strategy, const Problem& problem);

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

  Answers<Question, Planned> plans_{kMostPlans};
  RungMemo rungs_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_PLAN_MEMO_H_
