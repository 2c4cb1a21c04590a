// superneurons-paper and superneurons-released: SuperNeurons by its own publications (Wang et al., SuperNeurons, PPoPP 2018,
// arXiv 1801.04380; linnanwang/superneurons-release), beside `superneurons`, which is how PoocH's authors modelled it.
//
// Checkpoints are the results of convolutions, fully connected layers, joins and concatenations, results that several layers
// read, and the input. What lies between two of them is a segment. It is dropped after forward and computed again:
//   - the whole segment at its first use in backward, to stay for the others (speed-centric), while what it holds and what
//     the backward ops of the layer want together are no more than the largest layer's backward wants by itself (l_peak);
//   - else what leads up to a map for each of its uses anew, freed behind it (memory-centric).
// Checkpoints stay in a cache. Only where something does not fit the one that was not used for longest goes to the host.
//
//   paper      copies out beside forward, back with the backward pass of the nearest convolution before the need; a stream
//              per direction
//   released   no prefetcher: copies out and in are calls that return when they are done, in when the tensor is used
//
// Each convolution runs by the fastest algorithm whose workspace is left at its step. As for all Plans, what was evicted at
// some point of a gap leaves at its beginning, which for the paper's asynchronous copies is what hides them; the released
// code's fixed pool of 3 GB is a build option and not modelled.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "hw/text/lists.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/shared/convolution_ways.h"
#include "sim/strategies/shared/paging.h"

namespace spillway {
namespace {

enum class SuperneuronsForm { kPaper, kReleased };

bool IsCheckpointKind(OpKind kind) {
  return kind == OpKind::kConvolution || kind == OpKind::kTransposedConvolution || kind == OpKind::kLinear ||
         kind == OpKind::kAdd || kind == OpKind::kConcat || kind == OpKind::kSoftmaxLoss;
}

class SuperneuronsPlanner {
 public:
  SuperneuronsPlanner(const Problem& problem, SuperneuronsForm form)
      : problem_(problem),
        step_(*problem.step),
        form_(form),
        tables_(step_, *problem.costs, problem.device, problem.capacity),
        convolutions_(ChoosablesOf(problem)),
        checkpoint_(step_.tensors.size(), false) {
    for (const TensorId map : step_.maps) checkpoint_[Index(map)] = IsCheckpoint(map);
    for (OpId op = step_.first_backward; op < step_.first_update; ++op) peak_ = std::max(peak_, BackwardBytes(op));
    const std::vector<std::int32_t>& unit = Units();
    OpId first = kNoOp;  // of the last convolution's backward before each op
    convolution_before_.assign(step_.ops.size(), kNoOp);
    for (OpId op = step_.first_backward; Index(op) < step_.ops.size(); ++op) {
      convolution_before_[Index(op)] = first;
      if (!step_.IsBackward(op) || step_.ops[Index(op)].kind != OpKind::kConvolution) continue;
      OpId begin = op;
      while (begin > step_.first_backward && unit[Index(begin - 1)] == unit[Index(op)]) --begin;
      first = begin;
    }
  }

  Planned Run() {
    const bool paper = form_ == SuperneuronsForm::kPaper;
    Planned planned;
    planned.feasible = true;
    Plan& plan = planned.plan;
    plan = StartPlan(problem_, paper ? "superneurons-paper" : "superneurons-released",
                     paper ? "paging" : "paging-synchronous");
    plan.ops = Algorithms(convolutions_, Ways::kLeastWorkspace);
    DropSegments(plan);
    const std::size_t dropped = plan.gaps.size();
    PageCheckpoints(plan);
    UpgradeWithin(problem_, tables_, convolutions_, plan);
    plan.search = fmt::format("{} maps in segments, {} evictions", dropped, plan.gaps.size() - dropped);
    return planned;
  }

 private:
  // Whether a checkpoint's op runs again where the value does, itself or for what nobody keeps on the way: behind a
  // convolution that nobody else reads, an activation's result is what there is to keep.
  bool RunsCheckpoint(TensorId value) const {
    for (const OpId writer : tables_.uses.writers[Index(value)]) {
      const Op& op = step_.ops[Index(writer)];
      if (IsCheckpointKind(op.kind)) return true;
      for (const TensorId source : op.reads) {
        const bool passes = source != value && step_.tensors[Index(source)].use == TensorClass::kTransient;
        if (passes && RunsCheckpoint(source)) return true;
      }
    }
    return false;
  }

  bool IsCheckpoint(TensorId map) const {
    if (tables_.uses.writers[Index(map)].empty() || RunsCheckpoint(map)) return true;
    std::vector<LayerId> readers;
    for (const OpId op : tables_.uses.of[Index(map)]) {
      if (step_.IsForward(op) && !Contains(step_.ops[Index(op)].writes, map))
        AddOnce(readers, step_.ops[Index(op)].layer);
    }
    return readers.size() > 1;
  }

  const std::vector<std::int32_t>& Units() const {
    return tables_.unit[static_cast<std::size_t>(BackwardUnits::kLayers)];
  }

  // What the operands of a layer's backward take, together, without what is there throughout; `op` is one of its ops.
  Bytes BackwardBytes(OpId op) const {
    const std::vector<std::int32_t>& unit = Units();
    while (op > step_.first_backward && unit[Index(op - 1)] == unit[Index(op)]) --op;
    std::vector<TensorId> operands;
    Bytes bytes = 0;
    for (OpId one = op; Index(one) < unit.size() && unit[Index(one)] == unit[Index(op)]; ++one) {
      for (const StepTables::Touch& touch : tables_.Touches(one)) {
        if (tables_.persistent[Index(touch.tensor)] || Contains(operands, touch.tensor)) continue;
        operands.push_back(touch.tensor);
        bytes += tables_.bytes[Index(touch.tensor)];
      }
    }
    return bytes;
  }

  void DropSegments(Plan& plan) const {
    Bytes segment = 0;
    for (const TensorId map : step_.maps) {
      if (checkpoint_[Index(map)]) {
        segment = 0;
        continue;
      }
      segment += tables_.bytes[Index(map)];
      const MapGap gap = ForwardBackwardGap(step_, tables_.uses, map);
      if (gap.before == kNoOp || gap.after == kNoOp) continue;
      const bool speed = segment + BackwardBytes(gap.before) <= peak_;
      plan.gaps.push_back({.tensor = map,
                           .after = gap.after,
                           .before = gap.before,
                           .action = GapAction::kRecompute,
                           .keep_result = speed,
                           .keep_passed = speed,
                           .reason = speed ? "in a segment that fits where the largest layer does: computed again once"
                                           : "in a larger segment: computed again for each use"});
    }
  }

  // Released: no sooner than it is used.
  OpId InAt(const MapGap& gap) const {
    if (form_ == SuperneuronsForm::kReleased || !step_.IsBackward(gap.before)) return gap.before;
    const OpId at = convolution_before_[Index(gap.before)];
    return at == kNoOp ? std::max(gap.after + 1, step_.first_backward) : std::max(at, gap.after + 1);
  }

  void PageCheckpoints(Plan& plan) const {
    const Paging paging{.tables = &tables_,
                        .live = Lower(plan, tables_, 1).live_at,
                        .capacity = problem_.capacity,
                        .may_leave = checkpoint_,
                        .victim = Victim::kLeastRecent,
                        .back_at = [this](TensorId, const MapGap& gap) { return InAt(gap); }};
    for (const PagedOut& out : PlayPaging(paging)) {
      plan.gaps.push_back(
          {.tensor = out.tensor,
           .after = out.gap.after,
           .before = out.gap.before,
           .action = GapAction::kSwap,
           .out_after = out.gap.after,
           .in_at = InAt(out.gap),
           .reason = fmt::format("not used for longest when {} did not fit", step_.ops[Index(out.at)].name)});
    }
    std::stable_sort(plan.gaps.begin(), plan.gaps.end(),
                     [](const GapDecision& a, const GapDecision& b) { return a.before < b.before; });
  }

  const Problem& problem_;
  const TrainingStep& step_;
  const SuperneuronsForm form_;
  const StepTables tables_;
  const std::vector<Choosable> convolutions_;
  std::vector<bool> checkpoint_;          // by tensor
  std::vector<OpId> convolution_before_;  // by op of backward: where the last convolution before it begins
  Bytes peak_ = 0;                        // l_peak
};

}  // namespace

Planned PlanSuperneuronsPaper(const Problem& problem) {
  return SuperneuronsPlanner(problem, SuperneuronsForm::kPaper).Run();
}
Planned PlanSuperneuronsReleased(const Problem& problem) {
  return SuperneuronsPlanner(problem, SuperneuronsForm::kReleased).Run();
}

}  // namespace spillway
