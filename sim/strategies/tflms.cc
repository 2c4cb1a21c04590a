// tflms: TensorFlow Large Model Support, version 2 (IBM/tensorflow-large-model-support, branch tflmsv2: lms.py, simulator.py).
//
// The graph is sorted into levels, an op's one more than the highest of what it reads. An edge between a value and an op that
// reads it is cut where it spans more than `threshold` levels: the value leaves behind its producer and comes back for that
// op, `ahead` levels before it. Ops within `groupby` levels of the first that it came back for share the copy.
//
// What is not given is tuned as published, by memory alone: a simulator walks the levels, counts what is alive at each (no
// workspaces, all ops of a level at once), takes a copy out for one level long whatever its size, and holds the peak against
// 0.9 of the memory. Three binary searches, one after the other: the largest threshold that fits, with it the largest `ahead`,
// with both the largest `groupby`. Where no threshold fits, copies out are made to block (sync 1), and are gone at once for
// the simulator; then all copies (sync 3), and what comes in comes no sooner than its reader, whatever `ahead` says. (Its sync
// 2, copies in alone, is not modelled: no runtime of ours has it.) Where that does not help either the least of all is taken,
// and may not fit. Time is not looked at. A runtime that is given says itself which copies block.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "hw/text/lists.h"
#include "sim/planning/problem.h"
#include "sim/program/step_tables.h"

namespace spillway {
namespace {

constexpr Bytes kMemoryRatioTenths = 9;

struct TflmsKnobs {
  std::int64_t threshold = 1, ahead = 1, groupby = 0;
  BlockingCopies sync = BlockingCopies::kNone;
};

class TflmsRewriter {
 public:
  TflmsRewriter(const TrainingStep& step, const StepTables& tables)
      : step_(step), tables_(tables), level_(step.ops.size(), 1) {
    std::vector<std::int64_t> made(step.tensors.size(), 0);  // by tensor: the level of its last writer so far
    for (std::size_t op = 0; op < step.ops.size(); ++op) {
      for (const TensorId t : step.ops[op].reads) level_[op] = std::max(level_[op], made[Index(t)] + 1);
      for (const TensorId t : step.ops[op].writes) made[Index(t)] = std::max(made[Index(t)], level_[op]);
      levels_ = std::max(levels_, level_[op]);
    }
  }
  std::int64_t levels() const { return levels_; }

  std::vector<GapDecision> Gaps(const TflmsKnobs& knobs) const {
    std::vector<GapDecision> gaps;
    ForEachCut(knobs, [&](TensorId t, OpId after, OpId before, std::int64_t span) {
      gaps.push_back({.tensor = t,
                      .after = after,
                      .before = before,
                      .action = GapAction::kSwap,
                      .out_after = after,
                      .in_at = InAt(after, before, knobs.ahead),
                      .reason = fmt::format("an edge of {} levels", span)});
    });
    std::stable_sort(gaps.begin(), gaps.end(),
                     [](const GapDecision& a, const GapDecision& b) { return a.before < b.before; });
    return gaps;
  }

  // The published simulator's.
  bool Fits(const TflmsKnobs& knobs, Bytes capacity) const {
    std::vector<Bytes> change(static_cast<std::size_t>(levels_) + 2, 0);
    const auto alive = [&change](std::int64_t from, std::int64_t to, Bytes bytes) {  // both included
      if (from > to) return;
      change[static_cast<std::size_t>(from)] += bytes;
      change[static_cast<std::size_t>(to) + 1] -= bytes;
    };
    for (std::size_t t = 0; t < step_.tensors.size(); ++t) {
      const std::vector<OpId>& uses = tables_.uses.of[t];
      if (tables_.persistent[t]) {
        alive(1, levels_, tables_.bytes[t]);
      } else if (!uses.empty()) {
        std::int64_t first = levels_, last = 1;
        for (const OpId op : uses) first = std::min(first, Level(op)), last = std::max(last, Level(op));
        alive(first, last, tables_.bytes[t]);
      }
    }
    const std::int64_t out_takes = knobs.sync == BlockingCopies::kNone ? 1 : 0;
    ForEachCut(knobs, [&](TensorId t, OpId after, OpId before, std::int64_t) {
      alive(Level(after) + out_takes + 1, std::max<std::int64_t>(1, Level(before) - knobs.ahead) - 1,
            -tables_.bytes[Index(t)]);
    });
    Bytes live = 0, peak = 0;
    for (const Bytes bytes : change) peak = std::max(peak, live += bytes);
    return peak <= capacity / 10 * kMemoryRatioTenths;
  }

 private:
  std::int64_t Level(OpId op) const { return level_[Index(op)]; }

  template <typename Visit>
  void ForEachCut(const TflmsKnobs& knobs, const Visit& visit) const {
    for (TensorId t = 0; t < static_cast<TensorId>(step_.tensors.size()); ++t) {
      const Tensor& tensor = step_.tensors[Index(t)];
      if (!tensor.Traits().may_move || tensor.Traits().of_parameters || tables_.persistent[Index(t)]) continue;
      VisitCuts(t, knobs, visit);
    }
  }

  template <typename Visit>
  void VisitCuts(TensorId t, const TflmsKnobs& knobs, const Visit& visit) const {
    const std::vector<OpId>& uses = tables_.uses.of[Index(t)];
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    std::int64_t made = 0,
                 came_for = -1;  // levels: of the last writer, of the first op that the last copy back was for
    for (std::size_t k = 0; k + 1 < uses.size(); ++k) {
      const OpId after = uses[k], before = uses[k + 1];
      if (Contains(step_.ops[Index(after)].writes, t)) made = Level(after), came_for = -1;
      const bool finished = writers.empty() || after >= writers.back();
      const bool reads = Contains(step_.ops[Index(before)].reads, t);
      const std::int64_t span = Level(before) - made;
      if (!finished || !reads || span <= knobs.threshold) continue;
      if (came_for >= 0 && Level(before) - came_for <= knobs.groupby) continue;
      came_for = Level(before);
      visit(t, after, before, span);
    }
  }

  // Behind the last op that is `ahead` levels before the one that reads it, or more; 0: right before that one.
  OpId InAt(OpId after, OpId before, std::int64_t ahead) const {
    if (ahead == 0) return before;
    OpId at = before - 1;
    while (at > after && Level(at) > Level(before) - ahead) --at;
    return at + 1;
  }

  const TrainingStep& step_;
  const StepTables& tables_;
  std::vector<std::int64_t> level_;  // by op, from 1
  std::int64_t levels_ = 1;
};

// The largest value from `least` to `most` that fits, taken for granted that smaller ones do.
template <typename Fits>
std::int64_t LargestThatFits(std::int64_t least, std::int64_t most, const Fits& fits) {
  while (least < most) {
    const std::int64_t middle = least + (most - least + 1) / 2;
    if (fits(middle)) {
      least = middle;
    } else {
      most = middle - 1;
    }
  }
  return least;
}

class TflmsTuner {
 public:
  TflmsTuner(const Problem& problem, const TflmsRewriter& rewriter) : problem_(problem), rewriter_(rewriter) {
    knobs_.threshold = Given("threshold", 1);
    knobs_.ahead = Given("ahead", 1);
    knobs_.groupby = Given("groupby", 0);
  }

  TflmsKnobs Run() {
    if (problem_.use_runtime) {
      knobs_ = With(problem_.runtime.blocking_copies);
    } else {
      ChooseSync();
    }
    Tune("threshold", &TflmsKnobs::threshold, 1);
    if (knobs_.sync != BlockingCopies::kAll) Tune("ahead", &TflmsKnobs::ahead, 1);
    Tune("groupby", &TflmsKnobs::groupby, 0);
    return knobs_;
  }
  std::int64_t simulations() const { return simulations_; }
  bool fits() const { return fits_; }  // unless a runtime was given: by some sync, what is given and least of the rest

 private:
  std::int64_t Given(const char* name, std::int64_t otherwise) const {
    return problem_.parameters.Number(name, otherwise);
  }
  bool Fits(const TflmsKnobs& knobs) {
    ++simulations_;
    return rewriter_.Fits(knobs, problem_.capacity);
  }
  TflmsKnobs With(BlockingCopies sync) const {
    TflmsKnobs knobs = knobs_;
    knobs.sync = sync;
    if (sync == BlockingCopies::kAll) knobs.ahead = 0;
    return knobs;
  }
  void ChooseSync() {
    for (const BlockingCopies sync : {BlockingCopies::kNone, BlockingCopies::kSwapOuts, BlockingCopies::kAll}) {
      if (!Fits(With(sync))) continue;
      knobs_ = With(sync);
      return;
    }
    knobs_ = With(BlockingCopies::kAll);
    fits_ = false;
  }
  void Tune(const char* name, std::int64_t TflmsKnobs::*knob, std::int64_t least) {
    if (Given(name, -1) >= 0) return;
    knobs_.*knob = LargestThatFits(least, rewriter_.levels(), [&](std::int64_t value) {
      TflmsKnobs tried = knobs_;
      tried.*knob = value;
      return Fits(tried);
    });
  }

  const Problem& problem_;
  const TflmsRewriter& rewriter_;
  TflmsKnobs knobs_;
  std::int64_t simulations_ = 0;
  bool fits_ = true;
};

const char* TflmsSyncText(BlockingCopies sync) {
  if (sync == BlockingCopies::kNone) return "";
  return sync == BlockingCopies::kSwapOuts ? ", copies out block" : ", all copies block";
}

}  // namespace

Planned PlanTflms(const Problem& problem) {
  const StepTables tables(*problem.step, *problem.costs, problem.device, problem.capacity);
  const TflmsRewriter rewriter(*problem.step, tables);
  TflmsTuner tuner(problem, rewriter);
  const TflmsKnobs knobs = tuner.Run();
  Planned planned;
  planned.feasible = true;
  planned.plan = StartPlan(problem, "tflms", "paging");
  if (!problem.use_runtime) planned.plan.runtime.blocking_copies = knobs.sync;
  planned.plan.gaps = rewriter.Gaps(knobs);
  planned.plan.search = fmt::format("threshold {}, ahead {}, groupby {} of {} levels{}{}", knobs.threshold, knobs.ahead,
                                    knobs.groupby, rewriter.levels(), TflmsSyncText(knobs.sync),
                                    tuner.fits() ? "" : "; its simulator finds none that fits");
  planned.plan.evaluations = tuner.simulations();
  return planned;
}

}  // namespace spillway
