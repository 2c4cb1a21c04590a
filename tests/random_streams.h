// Plans in which ops stream operands, drawn at random: which ops, what of theirs, in which parts, how deep.
#ifndef SPILLWAY_TESTS_RANDOM_STREAMS_H_
#define SPILLWAY_TESTS_RANDOM_STREAMS_H_

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "hw/text/lists.h"
#include "model/cost/op_tiles.h"
#include "model/util/random.h"
#include "sim/plan/parts.h"
#include "tests/random_plan.h"

namespace spillway {

inline std::vector<TensorId> RandomOperands(const TrainingStep& step, const Op& op, Random& random) {
  std::vector<TensorId> streamed;
  const bool all = random.Below(3) == 0;
  for (const std::vector<TensorId>* list : {&op.reads, &op.writes}) {
    for (const TensorId t : *list) {
      const bool may = MayStream(step.tensors[Index(t)]) && !Contains(streamed, t);
      if (may && (all || random.Below(2) == 0)) streamed.push_back(t);
    }
  }
  return streamed;
}

inline std::vector<OpPart> RandomParts(std::int64_t samples, Random& random) {
  std::vector<OpPart> parts;
  while (samples > 0) {
    const auto most = static_cast<std::int32_t>(samples);
    const std::int64_t next = parts.size() == 5 ? samples : random.Between(1, most);
    parts.push_back({.samples = next, .workspace = 0});
    samples -= next;
  }
  return parts;
}

// About `percent` of the ops that can and `may`, in place of what the plan says of them; what only some of a tensor's forward writers
// would stream stays in place. Parts get no workspace (LibraryParts grants some), and are cut into tiles of up to `most`. Gaps
// follow.
inline void AddRandomStreams(
    const TrainingStep& step, std::uint32_t percent, Random& random, Plan& plan,
    const std::function<bool(const Op&)>& may = [](const Op&) { return true; }, const TileCounts& most = {}) {
  const Uses uses(step);
  std::vector<OpDecision> decisions;
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    const Op& o = step.ops[Index(op)];
    if (!HasSampleParts(o) || !may(o) || random.Below(100) >= percent) continue;
    decisions.push_back({.op = op,
                         .parts = RandomParts(o.shape.in.n, random),
                         .tiles = most.Any() ? RandomTiles(o, most, random) : TileCounts{},
                         .streamed = RandomOperands(step, o, random),
                         .depth = random.Between(1, 5)});
  }
  for (TensorId t = 0; Index(t) < step.tensors.size(); ++t) {
    std::size_t streaming = 0;
    for (const OpDecision& decision : decisions) {
      streaming += Contains(uses.writers[Index(t)], decision.op) && Contains(decision.streamed, t) ? 1 : 0;
    }
    if (streaming == uses.writers[Index(t)].size()) continue;
    for (OpDecision& decision : decisions) {
      if (Contains(uses.writers[Index(t)], decision.op)) std::erase(decision.streamed, t);
    }
  }
  std::set<OpId> taken;
  for (OpDecision& decision : decisions) {
    if (decision.streamed.empty()) continue;
    taken.insert(decision.op);
  }
  std::erase_if(plan.ops, [&](const OpDecision& decision) { return taken.contains(decision.op); });
  for (OpDecision& decision : decisions) {
    if (!decision.streamed.empty()) plan.ops.push_back(std::move(decision));
  }
  SwapWhereStreamed(step, uses, "streamed", plan);
}

// Those whose parts libraries compute as they do the whole: no products, no sums over samples.
inline bool ExactInParts(const Op& op) { return !AddsUpSamples(op) && !IsProduct(op.kind); }

// The same, every op that can, in tiles of up to `most` too.
inline void AddRandomTiledStreams(const TrainingStep& step, std::uint32_t percent, const TileCounts& most,
                                  Random& random, Plan& plan) {
  AddRandomStreams(
      step, percent, random, plan, [](const Op&) { return true; }, most);
}

}  // namespace spillway

#endif  // SPILLWAY_TESTS_RANDOM_STREAMS_H_
