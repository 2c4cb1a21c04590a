#include <algorithm>
#include <utility>

#include "hw/text/lists.h"
#include "model/cost/menu.h"
#include "model/cost/op_tiles.h"
#include "sim/strategies/best/divided_ways.h"

namespace spillway {

namespace {

constexpr std::int64_t kMostParts = 64;
constexpr Bytes kTileShare = 32;    // of the memory, for all tiles of a group
constexpr int kDepthOfBrought = 2;  // one part that runs, one that is copied in

bool SamePhase(const TrainingStep& step, OpId a, OpId b) {
  return step.IsForward(a) == step.IsForward(b) && step.IsBackward(a) == step.IsBackward(b);
}

class Grouper {
 public:
  Grouper(const StepTables& tables, Bytes most) : tables_(tables), step_(*tables.step), most_(most) {
    for (std::size_t t = 0; t < tables.bytes.size(); ++t) always_ += tables.persistent[t] ? tables.bytes[t] : 0;
  }

  std::vector<PartGroup> Run() {
    for (OpId op = 0; Index(op) < step_.ops.size(); ++op) {
      const bool in_last = !groups_.empty() && op < groups_.back().end;
      if (in_last || tables_.WorkingSet(op) <= most_ || !HasParts(op)) continue;
      PartGroup group{.first = op, .end = op + 1, .inner = {}, .brought = {}};
      Grow(group);
      if (Need(group) <= most_ && group.parts > 1 && AllStream(group) && AllTaken(group)) Add(std::move(group));
    }
    return std::move(groups_);
  }

 private:
  bool HasParts(OpId op) const {
    const Op& o = step_.ops[Index(op)];
    return HasSampleParts(o) && o.shape.in.n == step_.batch;
  }
  bool HaveParts(OpId first, OpId last) const {
    for (OpId op = first; op <= last; ++op) {
      if (!HasParts(op)) return false;
    }
    return SamePhase(step_, first, last);
  }
  bool HasSamples(TensorId t) const {
    const Tensor& tensor = step_.tensors[Index(t)];
    return !tables_.persistent[Index(t)] && MayStream(tensor) && tensor.shape.n == step_.batch;
  }
  // It is made, and used up, by ops in a row that run in parts.
  bool MayBeInner(TensorId t) const {
    const std::vector<OpId>& uses = tables_.uses.of[Index(t)];
    return HasSamples(t) && uses.size() > 1 && SamePhase(step_, uses.front(), uses.back()) &&
           !Contains(step_.ops[Index(uses.front())].reads, t) && HaveParts(uses.front(), uses.back());
  }
  // It is made before, and the group is the last to use it.
  bool MayBeBrought(TensorId t, const PartGroup& group) const {
    const std::vector<OpId>& uses = tables_.uses.of[Index(t)];
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    return HasSamples(t) && !step_.tensors[Index(t)].Traits().on_host && !writers.empty() &&
           writers.back() < group.first && uses.back() < group.end;
  }

  bool MayBringAll(const PartGroup& group) const {
    return std::all_of(group.brought.begin(), group.brought.end(), [&](TensorId t) { return MayBeBrought(t, group); });
  }

  // Each step by what makes the group take least.
  void Grow(PartGroup& group) const {
    while (Need(group) > most_) {
      PartGroup best = group;
      for (const TensorId t : Whole(group)) {
        if (!MayBeInner(t)) continue;
        const std::vector<OpId>& uses = tables_.uses.of[Index(t)];
        PartGroup wider = group;
        wider.first = std::min(group.first, uses.front());
        wider.end = std::max(group.end, uses.back() + 1);
        if (!HaveParts(wider.first, wider.end - 1) || !MayBringAll(wider)) continue;
        FindTiles(wider);
        if (Need(wider) < Need(best)) best = std::move(wider);
      }
      if (best == group && !BringLargest(best)) return;
      group = std::move(best);
    }
  }

  bool BringLargest(PartGroup& group) const {
    TensorId largest = kNoTensor;
    for (const TensorId t : Whole(group)) {
      const bool larger = largest == kNoTensor || tables_.bytes[Index(t)] > tables_.bytes[Index(largest)];
      if (larger && MayBeBrought(t, group)) largest = t;
    }
    if (largest == kNoTensor) return false;
    group.brought.push_back(largest);
    FindTiles(group);
    return true;
  }

  // All that only its ops use is inner.
  void FindTiles(PartGroup& group) const {
    group.inner.clear();
    for (TensorId t = 0; Index(t) < tables_.bytes.size(); ++t) {
      const std::vector<OpId>& uses = tables_.uses.of[Index(t)];
      if (!MayBeInner(t) || uses.front() < group.first || uses.back() >= group.end) continue;
      group.inner.push_back(t);
    }
    for (std::int64_t parts = 2; parts <= std::min(kMostParts, step_.batch); ++parts) {
      if (step_.batch % parts != 0) continue;
      group.parts = parts;
      if (TileBytes(tables_, group) <= most_ / kTileShare && AllTaken(group)) break;
    }
  }

  // The library takes the parts of ops that it refuses whole.
  bool AllTaken(const PartGroup& group) const {
    return std::none_of(tables_.refused.begin(), tables_.refused.end(), [&](OpId op) {
      if (op < group.first || op >= group.end) return false;
      const Launch whole = LaunchOf(step_.ops[Index(op)]);
      return tables_.costs->Kernel(PartOf(whole, step_.batch / group.parts, false), tables_.device).calls == 0;
    });
  }

  // What is there whole.
  std::vector<TensorId> Whole(const PartGroup& group) const {
    std::vector<TensorId> whole;
    for (OpId op = group.first; op < group.end; ++op) {
      for (const auto& [t, access, last] : tables_.Touches(op)) {
        const bool tiled = Contains(group.inner, t) || Contains(group.brought, t);
        if (!tiled && !tables_.persistent[Index(t)] && !Contains(whole, t)) whole.push_back(t);
      }
    }
    return whole;
  }

  // Bytes at once, without workspaces.
  Bytes Need(const PartGroup& group) const {
    Bytes need = always_ + (group.parts > 0 ? TileBytes(tables_, group) : 0);
    for (const TensorId t : Whole(group)) need += tables_.bytes[Index(t)];
    return need;
  }

  bool AllStream(const PartGroup& group) const {
    for (OpId op = group.first; op < group.end; ++op) {
      if (DecisionInGroup(tables_, group, op).streamed.empty()) return false;
    }
    return true;
  }

  // The earlier one stays where two share ops.
  void Add(PartGroup group) {
    if (groups_.empty() || groups_.back().end <= group.first) groups_.push_back(std::move(group));
  }

  const StepTables& tables_;
  const TrainingStep& step_;
  const Bytes most_;
  Bytes always_ = 0;
  std::vector<PartGroup> groups_;
};

}  // namespace

std::vector<PartGroup> GroupsOver(const StepTables& tables, Bytes most) {
  return tables.step->recorded() ? std::vector<PartGroup>{} : Grouper(tables, most).Run();
}

Bytes TileBytes(const StepTables& tables, const PartGroup& group) {
  const auto tile = [&](TensorId t) { return RoundToUnit(tables.step->tensors[Index(t)].bytes / group.parts); };
  Bytes bytes = 0;
  for (const TensorId t : group.inner) bytes += tile(t);
  for (const TensorId t : group.brought) bytes += kDepthOfBrought * tile(t);
  return bytes;
}

std::vector<DividedWay> WaysInParts(const CostModel& costs, const Launch& whole, std::int64_t parts, int device) {
  const std::int64_t samples = whole.shape.in.n / parts;
  Launch first = PartOf(whole, samples, true);
  std::vector<DividedWay> ways;
  for (const MenuEntry& entry : ParetoSet(costs.Menu(PartOf(whole, samples, false), device))) {
    first.algorithm = entry.algorithm;
    first.workspace = entry.workspace;
    const Cost cost = costs.Kernel(first, device);
    if (cost.workspace > entry.workspace) continue;
    DividedWay way{.time = cost.time + (parts - 1) * entry.cost.time,
                   .workspace = entry.workspace,
                   .slowdown = entry.cost.copy_slowdown,
                   .parts = {}};
    way.parts.assign(static_cast<std::size_t>(parts), {samples, entry.algorithm, entry.workspace});
    ways.push_back(std::move(way));
  }
  return ways;
}

OpDecision DecisionInGroup(const StepTables& tables, const PartGroup& group, OpId op) {
  OpDecision decision{.op = op};
  decision.depth = group.brought.empty() ? 1 : kDepthOfBrought;
  decision.fused = op != group.first;
  for (const StepTables::Touch& touch : tables.Touches(op)) {
    if (Contains(group.inner, touch.tensor) || Contains(group.brought, touch.tensor))
      decision.streamed.push_back(touch.tensor);
  }
  return decision;
}

}  // namespace spillway
