// lms-chainer and lms-torch: large model support by the framework's own memory management, of IBM's family; tflms is in
// tflms.cc.
//
//   lms-chainer   out-of-core Chainer (imaihal/chainer, branch 3.0.0rc1-trl-ooc-pr): behind each function all that it read
//                 leaves; when the backward pass of a break point begins, what the next one reads is brought back: one ahead,
//                 with no look at memory. A stream per direction.
//   lms-torch     PyTorch LMS (IBM/pytorch-large-model-support): the allocator pages whole tensors. Where an allocation fails
//                 it reclaims as few inactive ones as suffice; what an op wants comes back when the op begins. What was
//                 reclaimed in the last iteration is copied out ahead in this one, right behind its last use, so that in
//                 steady state nobody waits for it to leave, only for it to return.
//
// What lms-torch pages are values, gradients and parameters' gradients; parameters, which it could page too, always stay in
// our Plans. Which of several inactive tensors suffice is not published: here the smallest that does by itself, else the
// largest and again.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/shared/paging.h"

namespace spillway {
namespace {

// The first op of the unit before the one that `op` is in, but for the first unit of backward; of that one its own.
OpId OneUnitAhead(const TrainingStep& step, const std::vector<std::int32_t>& unit, OpId op) {
  const auto begins = [&](OpId at) {
    while (at > step.first_backward && unit[Index(at - 1)] == unit[Index(at)]) --at;
    return at;
  };
  const OpId own = begins(op);
  return own > step.first_backward ? begins(own - 1) : own;
}

}  // namespace

Planned PlanLmsChainer(const Problem& problem) {
  const TrainingStep& step = *problem.step;
  const Uses uses(step);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "lms-chainer", "chainer-ooc");
  const std::vector<std::int32_t> unit = UnitOfOps(step, planned.plan.runtime.backward_units);
  for (const TensorId map : step.maps) {
    const MapGap gap = ForwardBackwardGap(step, uses, map);
    if (gap.before == kNoOp) continue;
    planned.plan.gaps.push_back({.tensor = map,
                                 .after = gap.after,
                                 .before = gap.before,
                                 .action = GapAction::kSwap,
                                 .out_after = gap.after,
                                 .in_at = std::max(gap.after + 1, OneUnitAhead(step, unit, gap.before)),
                                 .reason = "read by a function that is done; back one break point ahead"});
  }
  std::stable_sort(planned.plan.gaps.begin(), planned.plan.gaps.end(),
                   [](const GapDecision& a, const GapDecision& b) { return a.before < b.before; });
  return planned;
}

Planned PlanLmsTorch(const Problem& problem) {
  const TrainingStep& step = *problem.step;
  const StepTables tables(step, *problem.costs, problem.device, problem.capacity);
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "lms-torch", "paging");
  Paging paging{.tables = &tables,
                .live = Lower(planned.plan, tables, 1).live_at,
                .capacity = problem.capacity,
                .may_leave = std::vector<bool>(step.tensors.size(), false),
                .victim = Victim::kFewest,
                .back_at = [](TensorId, const MapGap& gap) { return gap.before; }};
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    paging.may_leave[t] = step.tensors[t].Traits().may_move && !tables.persistent[t];
  }
  for (const PagedOut& out : PlayPaging(paging)) {
    planned.plan.gaps.push_back({.tensor = out.tensor,
                                 .after = out.gap.after,
                                 .before = out.gap.before,
                                 .action = GapAction::kSwap,
                                 .out_after = out.gap.after,
                                 .in_at = out.gap.before,
                                 .reason = fmt::format("reclaimed when {} did not fit", step.ops[Index(out.at)].name)});
  }
  std::stable_sort(planned.plan.gaps.begin(), planned.plan.gaps.end(),
                   [](const GapDecision& a, const GapDecision& b) { return a.before < b.before; });
  return planned;
}

}  // namespace spillway
