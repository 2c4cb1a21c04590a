// pooch-parts: PoocH's classification where ops do not fit by themselves. Those stream what they must, as swap-all-parts has
// it (streaming.h); what is streamed somewhere, or is out of the way of an op that would not fit beside it, stays as it is
// there; all other maps are kept, swapped or recomputed by PoocH's search on a timeline that knows of both. The faster of that
// and swap-all-parts, by the full path. Where every op fits it is pooch, on our runtime.
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"
#include "sim/strategies/pooch/fixed_ops.h"
#include "sim/strategies/pooch/ladder.h"
#include "sim/strategies/pooch/pooch_model.h"
#include "sim/strategies/pooch/search.h"
#include "sim/strategies/shared/streaming.h"

namespace spillway {

Planned PlanPooch(const Problem& problem);  // pooch.cc

namespace {

constexpr const char* kName = "pooch-parts";

// Within what `base` streams and holds; not feasible: its timeline has no room, which counts what a layout need not.
Planned Classified(const Problem& problem, const StepFacts& facts, const Plan& base) {
  const FixedOps fixed(problem, facts.tables(), base);
  const PoochModel model(ProfileStep(*problem.step, *problem.costs, problem.capacity, problem.device,
                                     problem.runtime.backward_units, &fixed));
  Search search(model, SwapInRule::kWhenRoom);
  search.keep_passed = false;
  const Simulation all_swap = search.Simulate(search.AllSwap());
  if (!all_swap.feasible) return DoesNotFit(problem, model.profile(), all_swap);
  const LadderLimits limits = LimitsFor(*problem.step);
  KeepOrSwap found = SearchKeepOrSwap(search, limits.step1);
  ChooseRecomputeWithin(search, limits.step2, found.classes);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, kName, "arena");
  search.Simulate(found.classes);
  DelaySwapIns(search.scratch);
  AddDecisions(search, found.classes, {}, planned.plan);
  planned.plan.gaps.insert(planned.plan.gaps.end(), fixed.gaps().begin(), fixed.gaps().end());
  planned.plan.ops = base.ops;
  planned.plan.search =
      fmt::format("{} op{} in parts, the other maps classified", base.ops.size(), base.ops.size() == 1 ? "" : "s");
  planned.plan.evaluations = search.simulations;
  return planned;
}

Planned Renamed(Planned planned) {
  planned.plan.strategy = kName;
  return planned;
}

}  // namespace

Planned PlanPoochParts(const Problem& asked) {
  const Problem problem = asked.OnRuntimeOr("arena");
  Planned whole = PlanPooch(problem);
  if (whole.feasible) return Renamed(std::move(whole));
  const auto facts = std::make_shared<const StepFacts>(*problem.step, *problem.costs, problem.device, problem.capacity);
  Planned base = FitByStreaming(problem, facts, kName, MayDivide::kWhatDoesNotFit);
  if (!base.feasible) return base;
  base.plan.search = fmt::format("{} ops in parts, every map swapped", base.plan.ops.size());
  const Oracle oracle(facts, problem.capacity);
  const EvaluateOptions quick{.verify = false, .bounds = false, .timeline = false};
  Planned classified = Classified(problem, *facts, base.plan);
  if (!classified.feasible) return base;
  const Evaluation ours = oracle.Evaluate(classified.plan, quick), all = oracle.Evaluate(base.plan, quick);
  const bool better = ours.feasible && (!all.feasible || ours.step_time < all.step_time);
  return better ? std::move(classified) : std::move(base);
}

}  // namespace spillway
