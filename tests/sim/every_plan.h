// Every plan of a small network that decides on its maps between forward and backward, in every way.
#ifndef SPILLWAY_TESTS_SIM_EVERY_PLAN_H_
#define SPILLWAY_TESTS_SIM_EVERY_PLAN_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hw/text/lists.h"
#include "sim/evaluate/evaluation.h"
#include "sim/planning/problem.h"
#include "tests/sim/small_dags.h"

namespace spillway {

// Backward ops want a workspace of one unit.
inline Machine MachineWithWorkspace() {
  Machine machine = HandMachine();
  CostLaw law;
  law.op = OpKind::kLinear;
  law.pass = Pass::kBackward;
  law.flop_fraction = 1;
  law.workspace = kAllocationUnit;
  machine.devices[0].laws.push_back(law);
  return machine;
}

inline Plan EmptyPlan(const TrainingStep& step) {
  Plan plan;
  plan.strategy = "exhaustive";
  plan.network = step.network;
  plan.batch = step.batch;
  return plan;
}

enum class Choices {
  kFew,   // keep, swap, recompute: as early as may be and kept, or as late and freed, in turn
  kEnds,  // both of these
  kAll,   // swap-ins before every op
  kPass,  // and what recomputation passes kept or freed
  kStay,  // instead, what is swapped leaves behind every op before its swap-in, copied out as soon as it is made or left
};

inline GapDecision Gap(TensorId map, const MapGap& ends, GapAction action) {
  GapDecision gap;
  gap.tensor = map;
  gap.after = ends.after;
  gap.before = ends.before;
  gap.action = action;
  return gap;
}

inline OpId MadeBy(const TrainingStep& step, TensorId map) {
  OpId made = kNoOp;
  for (std::size_t op = 0; op < step.ops.size(); ++op) {
    if (Contains(step.ops[op].writes, map)) made = static_cast<OpId>(op);
  }
  return made;
}

// The last one of `all`, with every way to be copied out and to leave.
inline void AddStaying(OpId made, std::vector<GapDecision>& all) {
  const GapDecision plain = all.back();
  all.pop_back();
  std::vector<OpId> out_after = {plain.after};
  if (made != kNoOp && made != plain.after) out_after.push_back(made);
  for (const OpId out : out_after) {
    for (OpId leaves = plain.after; leaves < plain.in_at; ++leaves) {
      all.push_back(plain);
      all.back().out_after = out;
      if (leaves > plain.after) all.back().leaves_after = leaves;
    }
  }
}

// What may be done with one map. The first choice, nothing, is left out.
inline std::vector<GapDecision> ChoicesFor(const TrainingStep& step, const Uses& uses, TensorId map, Choices choices) {
  std::vector<GapDecision> all;
  const MapGap ends = ForwardBackwardGap(step, uses, map);
  if (ends.before == kNoOp) return all;
  const bool odd = map % 2 != 0;
  for (OpId in_at = ends.after + 1; in_at <= ends.before; ++in_at) {
    const bool first = in_at == ends.after + 1, last = in_at == ends.before;
    const bool wanted = choices >= Choices::kAll || (choices == Choices::kEnds ? first || last : odd ? first : last);
    if (!wanted) continue;
    all.push_back(Gap(map, ends, GapAction::kSwap));
    all.back().out_after = ends.after;
    all.back().in_at = in_at;
    if (choices == Choices::kStay) AddStaying(MadeBy(step, map), all);
  }
  if (step.tensors[Index(map)].use == TensorClass::kInput) return all;
  for (const bool keep : {true, false}) {
    if (choices == Choices::kFew && keep != odd) continue;
    all.push_back(Gap(map, ends, GapAction::kRecompute));
    all.back().keep_result = keep;
    if (choices != Choices::kPass) continue;
    all.push_back(all.back());
    all.back().keep_passed = !all.back().keep_passed;
  }
  return all;
}

// By map.
inline std::vector<std::vector<GapDecision>> ChoicesForMaps(const TrainingStep& step, Choices choices) {
  const Uses uses(step);
  std::vector<std::vector<GapDecision>> options;
  for (const TensorId map : step.maps) options.push_back(ChoicesFor(step, uses, map, choices));
  return options;
}

// Calls visit(plan) for every combination of one option, or none, of each list; the plan without any first.
template <typename Visit>
void ForEachCombination(const TrainingStep& step, const std::vector<std::vector<GapDecision>>& options, Visit visit) {
  std::vector<std::size_t> chosen(options.size(), 0);  // 0 = nothing
  for (;;) {
    Plan plan = EmptyPlan(step);
    for (std::size_t m = 0; m < options.size(); ++m) {
      if (chosen[m] > 0) plan.gaps.push_back(options[m][chosen[m] - 1]);
    }
    visit(plan);
    std::size_t m = 0;
    while (m < options.size() && chosen[m] == options[m].size()) chosen[m++] = 0;
    if (m == options.size()) return;
    ++chosen[m];
  }
}

// Calls visit(plan) for every combination, the in-core plan first.
template <typename Visit>
void ForEachPlan(const TrainingStep& step, Choices choices, Visit visit) {
  ForEachCombination(step, ChoicesForMaps(step, choices), visit);
}

// Its operands need not be on the device, so that it may do with less memory than what is compared with here.
inline bool Streams(const Plan& plan) {
  return std::any_of(plan.ops.begin(), plan.ops.end(), [](const OpDecision& op) { return !op.streamed.empty(); });
}

// Whether it is among all plans that the optimum is taken over: those that decide on maps between forward and backward,
// whole, without a schedule of recomputations, copied out behind the last use there unless all `stay`.
inline bool IsTried(const Plan& plan, const TrainingStep& step, Choices choices = Choices::kAll) {
  const Uses uses(step);
  return !Streams(plan) && plan.recompute.empty() &&
         std::all_of(plan.gaps.begin(), plan.gaps.end(), [&](const GapDecision& gap) {
           const MapGap ends = ForwardBackwardGap(step, uses, gap.tensor);
           const bool at_its_end =
               gap.action != GapAction::kSwap || gap.out_after == kNoOp || gap.out_after == gap.after;
           return gap.before == ends.before && (choices == Choices::kStay || (at_its_end && gap.leaves_after == kNoOp));
         });
}

// On networks as small as these a short search finds what a long one does.
inline void SearchLittle(const Strategy& strategy, Problem& problem) {
  problem.simulation_cap = 300;
  if (std::string_view(strategy.name) != "best") return;
  problem.parameters.Set("simulations", std::int64_t{1000});
  problem.parameters.Set("plans", std::int64_t{10});
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_SIM_EVERY_PLAN_H_
