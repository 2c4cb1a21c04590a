// recompute-all: every map but the input is dropped after forward and computed again where backward needs it, back to
// the nearest map on the device (PoocH's setting of that name).
//
// PoocH frees what it recomputes on the way to another map. On a network with joins that takes time exponential in
// their number: both inputs of an addition start from the same map, and each start computes it anew. So maps that
// several forward ops read stay once they are computed, as the ends of the segments of sublinear-memory methods do;
// the others are freed after each use.
#include <cstddef>
#include <vector>

#include "hw/text/lists.h"
#include "sim/planning/problem.h"

namespace spillway {
namespace {

// By tensor: forward ops that read it without writing it in place.
std::vector<int> CountReaders(const TrainingStep& step) {
  std::vector<int> readers(step.tensors.size(), 0);
  for (OpId op = 0; op < step.first_backward; ++op) {
    const Op& o = step.ops[static_cast<std::size_t>(op)];
    for (TensorId t : o.reads) readers[static_cast<std::size_t>(t)] += Contains(o.writes, t) ? 0 : 1;
  }
  return readers;
}

}  // namespace

Planned PlanRecomputeAll(const Problem& problem) {
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "recompute-all", "pooch");
  const TrainingStep& step = *problem.step;
  const Uses uses(step);
  const std::vector<int> readers = CountReaders(step);
  for (TensorId t : step.maps) {
    const MapGap ends = ForwardBackwardGap(step, uses, t);
    if (ends.before == kNoOp || step.tensors[static_cast<std::size_t>(t)].Traits().on_host) continue;
    if (!step.MayRecompute(t, ends.before)) continue;
    GapDecision gap;
    gap.tensor = t;
    gap.after = ends.after;
    gap.before = ends.before;
    gap.action = GapAction::kRecompute;
    const bool shared = readers[static_cast<std::size_t>(t)] > 1;
    gap.keep_result = shared || !step.MayRecompute(t, uses.of[Index(t)].back());
    gap.reason = shared            ? "read by several ops: stays once computed"
                 : gap.keep_result ? "not to be had again later: stays once computed"
                                   : "freed after each use";
    planned.plan.gaps.push_back(std::move(gap));
  }
  return planned;
}

}  // namespace spillway
