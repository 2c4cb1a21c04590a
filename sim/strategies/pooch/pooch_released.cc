// pooch-released: PoocH as its published code does it. The search over L_I is switched off there, so step 1 is greedy;
// swap-ins are issued in bursts; recomputation is weighed by its compute time alone, and what it passes is freed.
#include "sim/strategies/classify.h"
#include "sim/strategies/pooch/pooch_model.h"

namespace spillway {

Planned PlanPoochReleased(const Problem& problem) {
  const PoochModel model = MakeModel(problem);
  Search search(model, SwapInRule::kBursts);
  search.keep_passed = false;
  KeepOrSwap step1 = GreedyKeepOrSwap(search);
  if (!step1.simulation.feasible) return DoesNotFit(problem, model.profile(), step1.simulation);
  std::vector<std::string> notes;
  ChooseRecompute(search, RecomputeOverhead::kCompute, step1.classes, notes);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "pooch-released", "pooch");
  search.Simulate(step1.classes);
  DelaySwapIns(search.scratch);
  AddDecisions(search, step1.classes, notes, planned.plan);
  planned.plan.evaluations = search.simulations;
  return planned;
}

}  // namespace spillway
