// Plans drawn at random: any decision that a plan may make, far beyond what strategies do.
#ifndef SPILLWAY_TESTS_RANDOM_PLAN_H_
#define SPILLWAY_TESTS_RANDOM_PLAN_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "model/cost/op_tiles.h"
#include "model/kernels/kernel_form.h"
#include "model/util/random.h"
#include "sim/plan/plan.h"

namespace spillway {

// The last op up to `until` that writes the tensor.
inline OpId LastWriter(const TrainingStep& step, TensorId tensor, OpId until) {
  OpId last = kNoOp;
  for (OpId op = 0; op <= until; ++op) {
    const std::vector<TensorId>& writes = step.ops[static_cast<std::size_t>(op)].writes;
    if (std::find(writes.begin(), writes.end(), tensor) != writes.end()) last = op;
  }
  return last;
}

// Those of a plan's `decisions`, of the kind `where`, that FindMistakes refuses are left out again.
template <typename Decision>
void EraseMistaken(PlanMistake::Where where, const TrainingStep& step, const Plan& plan,
                   std::vector<Decision>& decisions) {
  std::set<std::size_t> mistaken;
  for (const PlanMistake& mistake : FindMistakes(plan, step)) {
    if (mistake.where == where) mistaken.insert(mistake.index);
  }
  std::size_t index = 0;
  std::erase_if(decisions, [&](const Decision&) { return mistaken.contains(index++); });
}

// Lets about a third of what leaves stay in its gap for a while; a copy out may start in the middle of that.
inline void StayForAWhile(const TrainingStep& step, Random& random, Plan& plan) {
  for (GapDecision& gap : plan.gaps) {
    if (gap.after == kNoOp || random.Below(3) != 0) continue;
    gap.leaves_after = random.Between(gap.after, gap.before - 1);
    if (gap.action != GapAction::kSwap) continue;
    gap.in_at = std::max(gap.in_at, gap.leaves_after + 1);
    const bool on_host = step.tensors[static_cast<std::size_t>(gap.tensor)].Traits().on_host;
    if (!on_host && random.Below(2) == 0) gap.out_after = random.Between(gap.out_after, gap.leaves_after);
  }
}

// Opens a gap behind the last use of about a third of what moves.
inline void AddRandomOpenGaps(const TrainingStep& step, Random& random, Plan& plan) {
  const Uses uses(step);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    if (uses.of[t].empty() || random.Below(3) != 0) continue;
    GapDecision gap{.tensor = static_cast<TensorId>(t), .after = uses.of[t].back(), .reason = ""};
    gap.action = random.Below(2) == 0 ? GapAction::kSwap : GapAction::kRecompute;
    if (random.Below(4) != 0) gap.leaves_after = random.Between(gap.after, static_cast<OpId>(step.ops.size()) - 1);
    if (gap.action == GapAction::kSwap) gap.out_after = gap.after;
    plan.gaps.push_back(gap);
  }
  EraseMistaken(PlanMistake::Where::kGap, step, plan, plan.gaps);
}

// Lets about half of what outlives the step lie on the host until the next one. It comes back at any moment up to its first
// use, and leaves at any moment from its last one on.
inline void AddRandomNextStepGaps(const TrainingStep& step, Random& random, Plan& plan) {
  const Uses uses(step);
  const auto last_op = static_cast<OpId>(step.ops.size()) - 1;
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    const auto tensor = static_cast<TensorId>(t);
    if (!MayRestOnHost(step, tensor) || random.Below(2) == 0) continue;
    GapDecision gap{.tensor = tensor, .after = uses.of[t].back(), .before = kNextStep, .reason = ""};
    gap.in_at = random.Between(0, uses.of[t].front());
    if (random.Below(3) == 0) gap.leaves_after = random.Between(gap.after, last_op);
    const OpId writer = LastWriter(step, tensor, last_op);
    gap.out_after = writer == kNoOp ? gap.after : random.Between(writer, gap.Leaves());
    plan.gaps.push_back(gap);
  }
}

// Entries of a schedule for about half of the gaps that are recomputed, up to two each, at any moment within the gap, and
// for some values that no op uses any more. Some compute what nobody wants.
inline void AddRandomEntries(const TrainingStep& step, Random& random, Plan& plan) {
  const auto add = [&](OpId run, OpId first, OpId end) {  // `end`: the first op at which it need not be missing
    Recomputation entry{.before = random.Between(first, std::min(end, static_cast<OpId>(step.ops.size()) - 1)),
                        .run = run};
    entry.keep = entry.before == end || random.Below(2) == 0;
    if (entry.keep && entry.before < end && random.Below(3) == 0) {
      entry.leaves_after = random.Between(entry.before, end - 1);
    }
    plan.recompute.push_back(entry);
  };
  for (const GapDecision& gap : plan.gaps) {
    if (gap.action != GapAction::kRecompute) continue;
    for (std::uint32_t left = random.Below(4); left >= 2; --left) {
      add(LastWriter(step, gap.tensor, gap.after), gap.after + 1, gap.before);
    }
  }
  const Uses uses(step);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    if (uses.writers[t].empty() || random.Below(4) != 0 || uses.of[t].back() + 1 >= static_cast<OpId>(step.ops.size()))
      continue;
    add(uses.writers[t].back(), uses.of[t].back() + 1, static_cast<OpId>(step.ops.size()));
  }
  EraseMistaken(PlanMistake::Where::kRecomputation, step, plan, plan.recompute);
}

// Decides about `percent` of all gaps of all tensors, gradients included; what FindMistakes refuses is left out again.
// A copy out may start early, up to two ops before the gap, if the tensor is there since it was last written. About a third
// stays in its gap for a while.
inline Plan RandomPlan(const TrainingStep& step, const Runtime& runtime, std::uint32_t percent, Random& random) {
  Plan plan;
  plan.strategy = "random";
  plan.network = step.network;
  plan.batch = step.batch;
  plan.accumulate = step.parts;
  plan.runtime = runtime;
  const Uses uses(step);
  for (std::size_t t = 0; t < step.tensors.size(); ++t) {
    bool moved = false;
    for (std::size_t k = 0; k + 1 < uses.of[t].size(); ++k) {
      if (random.Below(100) >= percent) continue;
      GapDecision gap;
      gap.tensor = static_cast<TensorId>(t);
      gap.after = uses.of[t][k];
      gap.before = uses.of[t][k + 1];
      gap.action = random.Below(2) == 0 ? GapAction::kSwap : GapAction::kRecompute;
      if (gap.action == GapAction::kSwap) {
        const OpId written = LastWriter(step, gap.tensor, gap.after);
        gap.out_after = moved ? gap.after : random.Between(std::max({0, written, gap.after - 2}), gap.after);
        gap.in_at = random.Between(gap.after + 1, gap.before);
      } else {
        gap.keep_result = random.Below(2) == 0;
        gap.keep_passed = random.Below(2) == 0;
      }
      moved = true;
      plan.gaps.push_back(gap);
    }
  }
  EraseMistaken(PlanMistake::Where::kGap, step, plan, plan.gaps);
  Random apart(plan.gaps.size());  // so that what is drawn after this does not depend on it
  StayForAWhile(step, apart, plan);
  return plan;
}

// Divides about `percent` of the ops that have parts, into one to five, with any algorithm and a small workspace for some.
// LibraryParts: by what the library takes by itself, with workspace for anything small.
inline void AddRandomParts(const TrainingStep& step, std::uint32_t percent, Random& random, Plan& plan) {
  for (std::size_t op = 0; op < step.ops.size(); ++op) {
    const Op& o = step.ops[op];
    if (!HasAlgorithms(o.kind) || random.Below(100) >= percent) continue;
    const auto algorithms = static_cast<std::uint32_t>(AlgorithmNames(o.kind, o.pass).size());
    OpDecision decision{.op = static_cast<OpId>(op)};
    std::int64_t left = o.shape.in.n;
    while (left > 0) {
      const bool last = decision.parts.size() == 4;
      const auto samples = last ? left : 1 + static_cast<std::int64_t>(random.Below(static_cast<std::uint32_t>(left)));
      decision.parts.push_back({samples, static_cast<std::int32_t>(random.Below(algorithms + 1)),
                                random.Below(2) == 0 ? 0 : Bytes{1000} * random.Below(100)});
      left -= samples;
    }
    plan.ops.push_back(std::move(decision));
  }
}

// Lets about half of the forward ops that a plan decides about, and have a choice, run in another way when they run again.
inline void AddRandomAgain(const TrainingStep& step, Random& random, Plan& plan) {
  for (OpDecision& decision : plan.ops) {
    const Op& op = step.ops[static_cast<std::size_t>(decision.op)];
    if (!HasAlgorithms(op.kind) || op.pass != Pass::kForward || random.Below(2) == 0) continue;
    const auto algorithms = static_cast<std::uint32_t>(AlgorithmNames(op.kind, op.pass).size());
    decision.again = {{.algorithm = static_cast<std::int32_t>(random.Below(algorithms + 1)),
                       .workspace = random.Below(2) == 0 ? 0 : Bytes{1000} * random.Below(100)}};
  }
}

// Up to as many ranges of each axis as `most` and the op allow; about half of the ops are not cut.
inline TileCounts RandomTiles(const Op& op, const TileCounts& most, Random& random) {
  const TileCounts limit = Least(most, MostRanges(LaunchOf(op)));
  const auto draw = [&](std::int64_t count) {
    return random.Below(2) == 0 ? 1 : random.Between(1, static_cast<std::int32_t>(count));
  };
  if (random.Below(3) == 0 || !limit.Any()) return {};
  return {draw(limit.in_channels), draw(limit.out_channels), draw(limit.rows)};
}

// Cuts the ops that a plan has in parts further.
inline void AddRandomTiles(const TrainingStep& step, const TileCounts& most, Random& random, Plan& plan) {
  for (OpDecision& decision : plan.ops) {
    if (!decision.parts.empty())
      decision.tiles = RandomTiles(step.ops[static_cast<std::size_t>(decision.op)], most, random);
  }
}

inline void LibraryParts(Plan& plan) {
  for (OpDecision& decision : plan.ops) {
    for (OpPart& part : decision.parts) part = {.samples = part.samples, .workspace = kMiB};
  }
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RANDOM_PLAN_H_
