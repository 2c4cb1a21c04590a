// swap-all and swap-all-unscheduled: every map leaves the device. They differ in when swap-ins are issued: as early as
// there is room (PoocH section 4.3), or one layer ahead of need (its starting point). swap-all-parts: the same with ops that
// do not fit by themselves in streamed parts.
#include "sim/strategies/pooch/pooch_model.h"
#include "sim/strategies/pooch/search.h"
#include "sim/strategies/shared/streaming.h"

namespace spillway {
namespace {

Planned SwapEverything(const Problem& problem, const char* name, SwapInRule rule) {
  const PoochModel model = MakeModel(problem);
  Search search(model, rule);
  const Classes classes = search.AllSwap();
  const Simulation simulation = search.Simulate(classes);
  if (!simulation.feasible) return DoesNotFit(problem, model.profile(), simulation);
  if (rule == SwapInRule::kWhenRoom) DelaySwapIns(search.scratch);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, name, "pooch");
  planned.plan.evaluations = search.simulations;
  AddDecisions(search, classes, {}, planned.plan);
  return planned;
}

}  // namespace

Planned PlanSwapAllUnscheduled(const Problem& problem) {
  return SwapEverything(problem, "swap-all-unscheduled", SwapInRule::kOneAhead);
}

Planned PlanSwapAll(const Problem& problem) { return SwapEverything(problem, "swap-all", SwapInRule::kWhenRoom); }

Planned PlanSwapAllParts(const Problem& problem) {
  const auto facts = std::make_shared<const StepFacts>(*problem.step, *problem.costs, problem.device, problem.capacity);
  return FitByStreaming(problem, facts, "swap-all-parts", MayDivide::kWhatDoesNotFit);
}

}  // namespace spillway
