#include "sim/program/lower/lower.h"

#include <algorithm>
#include <cassert>

#include "sim/plan/parts.h"
#include "sim/program/lower/rematerialize.h"
#include "sim/program/lower/walk.h"

namespace spillway {

namespace {

bool IsSwappedIn(const GapDecision& gap) { return gap.action == GapAction::kSwap && gap.ComesBack(); }

// The first op before which the gap's swap-in may be issued.
OpId FirstIssue(const GapDecision& gap) {
  return gap.EndsInNextStep() ? gap.in_at : std::max(gap.in_at, gap.Leaves() + 1);
}

std::vector<OpId> PlannedIssueTimes(const Plan& plan, OpId never) {
  std::vector<OpId> issue;
  issue.reserve(plan.gaps.size());
  for (const GapDecision& gap : plan.gaps) {
    issue.push_back(IsSwappedIn(gap) ? gap.in_at : never);
  }
  return issue;
}

// By row of Plan::gaps: the op before which its swap-in is issued, as early as the plan asks and memory allows.
//
// `live` has the bytes at each op if every swap-in waits until it is needed. Swap-ins are moved forward in the order of
// their needs. One may be issued before op k if its bytes fit at every op from k on. Copies run in order: none
// overtakes another. Example, a limit of 10 bytes; 4 bytes are needed at op 5, and the plan asks for them before op 2:
//
//   op             2    3    4    5
//   live           5    7    6    9      at op 5 the 4 bytes are among them
//   with them      9   11   10           they fit at op 4, but not at op 3: issued before op 4
std::vector<OpId> IssueTimesWithin(Bytes limit, const Plan& plan, const StepTables& tables, std::vector<Bytes> live,
                                   const std::vector<OpId>& needed_at) {
  const OpId never = static_cast<OpId>(live.size());
  std::vector<OpId> issue(plan.gaps.size(), never);
  std::vector<std::uint32_t> order;
  for (std::uint32_t g = 0; g < plan.gaps.size(); ++g) {
    if (IsSwappedIn(plan.gaps[g]) && needed_at[g] != kNoOp) order.push_back(g);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return needed_at[a] < needed_at[b]; });
  OpId previous = 0;
  for (const std::uint32_t g : order) {
    const GapDecision& gap = plan.gaps[g];
    const Bytes bytes = RoundToUnit(MovedBytes(gap, tables.step->tensors[Index(gap.tensor)]));
    const OpId earliest = std::max(FirstIssue(gap), previous);
    OpId at = needed_at[g];
    while (at > earliest && (limit == 0 || live[Index(at - 1)] + bytes <= limit)) live[Index(--at)] += bytes;
    issue[g] = previous = at;
  }
  return issue;
}

// The ops [first, end) at which a swap-in may be wanted: from the first op before which anything is brought back, by
// copy or recomputation, to the last use of a swapped tensor; to the first use of one that begins the step on the host.
// Empty: nothing is swapped.
struct OpRange {
  OpId first = 0, end = 0;
};
OpRange OpsOfSwapIns(const Plan& plan, const StepTables& tables) {
  OpRange range{tables.step->first_backward, 0};  // where layers begin to fetch what they saved
  for (const GapDecision& gap : plan.gaps) {
    if (!gap.ComesBack()) continue;  // what it holds or copies in is for recomputations
    const bool swap = gap.action == GapAction::kSwap;
    range.first = std::min(range.first, swap ? gap.in_at : gap.before);
    const std::vector<OpId>& uses = tables.uses.of[Index(gap.tensor)];
    if (swap) range.end = std::max(range.end, (gap.EndsInNextStep() ? uses.front() : uses.back()) + 1);
  }
  for (const Recomputation& entry : plan.recompute) range.first = std::min(range.first, entry.before);
  return range;
}

Lowered Walk(const Plan& plan, const StepTables& tables, Bytes live_limit, Bytes room) {
  LowerWalk walk(plan, tables, room);
  const OpRange swap_ins = OpsOfSwapIns(plan, tables);
  if (plan.runtime.memory == MemoryModel::kPool) {
    walk.IssueSwapInsAt(PlannedIssueTimes(plan, static_cast<OpId>(tables.step->ops.size())));
  } else if (swap_ins.end > 0) {
    walk.RunUntil(swap_ins.first);
    walk.LookAhead(swap_ins.end);
    walk.IssueSwapInsAt(IssueTimesWithin(live_limit, plan, tables, walk.live_at(), walk.needed_at()));
  }
  return walk.TakeItems();
}

}  // namespace

Lowered LowerItems(const Plan& plan, const StepTables& tables, Bytes live_limit, Bytes room) {
  try {
    return Walk(plan, tables, live_limit, room);
  } catch (const RecomputesWithoutEnd& at) {
    Lowered endless;
    endless.list_peak = kEndlessBytes;
    endless.op = at.op;
    endless.live_at.assign(tables.step->ops.size(), kEndlessBytes);
    return endless;
  }
}

std::vector<Bytes> LiveAt(const Plan& plan, const StepTables& tables) {
  assert(plan.recompute.empty());
  const auto end = static_cast<OpId>(tables.step->ops.size());
  LowerWalk walk(plan, tables);
  if (plan.runtime.memory == MemoryModel::kPool) walk.IssueSwapInsAt(PlannedIssueTimes(plan, end));
  walk.LookAhead(end);
  return walk.live_at();
}

Lowered Lower(const Plan& plan, const StepTables& tables, Bytes live_limit, Bytes room) {
  Lowered lowered = LowerItems(plan, tables, live_limit, room);
  if (!lowered.Endless()) Synchronise(lowered.skeleton, lowered.program);
  return lowered;
}

}  // namespace spillway
