#include "sim/plan/plan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "hw/text/lists.h"

namespace spillway {

namespace {

void AddUse(std::vector<OpId>& uses, OpId op) {
  if (uses.empty() || uses.back() != op) uses.push_back(op);
}

// By layer: whether forward gives a feature map there that backward uses.
std::vector<bool> LayersOfMaps(const TrainingStep& step) {
  std::vector<bool> map(step.tensors.size(), false), used(step.tensors.size(), false), layers;
  for (const TensorId t : step.maps) map[Index(t)] = true;
  for (const Op& op : step.ops) {
    if (op.pass == Pass::kForward) continue;
    for (const TensorId t : op.reads) used[Index(t)] = true;
  }
  for (const Op& o : step.ops) {
    if (o.pass != Pass::kForward) continue;
    if (Index(o.layer) >= layers.size()) layers.resize(Index(o.layer) + 1, false);
    for (const TensorId t : o.writes) {
      if (map[Index(t)] && used[Index(t)]) layers[Index(o.layer)] = true;
    }
  }
  return layers;
}

}  // namespace

std::vector<std::int32_t> UnitOfOps(const TrainingStep& step, BackwardUnits units) {
  const std::vector<bool> of_map = LayersOfMaps(step);
  std::vector<std::int32_t> unit(step.ops.size(), 0);
  for (OpId op = 1; op < static_cast<OpId>(step.ops.size()); ++op) {
    const LayerId layer = step.ops[Index(op)].layer;
    const bool map = Index(layer) < of_map.size() && of_map[Index(layer)];
    const bool goes_on = units == BackwardUnits::kBreakPoints && step.IsBackward(op) && !map;
    const bool turns = step.IsForward(op) != step.IsForward(op - 1) || op == step.first_update;
    const bool cut = turns || (layer != step.ops[Index(op - 1)].layer && !goes_on);
    unit[Index(op)] = unit[Index(op - 1)] + (cut ? 1 : 0);
  }
  return unit;
}

Uses::Uses(const TrainingStep& step) : of(step.tensors.size()), writers(step.tensors.size()) {
  for (OpId op = 0; op < static_cast<OpId>(step.ops.size()); ++op) {
    for (TensorId t : step.ops[Index(op)].reads) AddUse(of[Index(t)], op);
    for (TensorId t : step.ops[Index(op)].writes) {
      AddUse(of[Index(t)], op);
      if (step.IsForward(op)) AddUse(writers[Index(t)], op);
    }
  }
}

OpId Uses::Next(TensorId tensor, OpId op) const {
  const std::vector<OpId>& uses = of[Index(tensor)];
  const auto next = std::upper_bound(uses.begin(), uses.end(), op);
  return next == uses.end() ? kNoOp : *next;
}

OpId Uses::Previous(TensorId tensor, OpId op) const {
  const std::vector<OpId>& uses = of[Index(tensor)];
  const auto next = std::lower_bound(uses.begin(), uses.end(), op);
  return next == uses.begin() ? kNoOp : *std::prev(next);
}

OpId FirstUse(const TrainingStep& step, TensorId tensor) {
  const auto uses = [tensor](const Op& op) { return Contains(op.reads, tensor) || Contains(op.writes, tensor); };
  const auto first = std::find_if(step.ops.begin(), step.ops.end(), uses);
  return first == step.ops.end() ? kNoOp : static_cast<OpId>(first - step.ops.begin());
}

bool MayRestOnHost(const TrainingStep& step, TensorId tensor) {
  if (!step.tensors[Index(tensor)].Traits().resident) return false;
  const OpId first = FirstUse(step, tensor);
  return first != kNoOp && Contains(step.ops[Index(first)].reads, tensor);
}

MapGap ForwardBackwardGap(const TrainingStep& step, const Uses& uses, TensorId map) {
  const std::vector<OpId>& all = uses.of[Index(map)];
  const auto before = std::find_if(all.begin(), all.end(), [&](OpId op) { return !step.IsForward(op); });
  if (before == all.end()) return {};
  return {uses.Previous(map, *before), *before};
}

std::vector<std::optional<GapAction>> MapActions(const Plan& plan, const TrainingStep& step) {
  std::map<std::pair<TensorId, OpId>, GapAction> action;  // by tensor and the use that ends the gap
  for (const GapDecision& gap : plan.gaps) action[{gap.tensor, gap.before}] = gap.action;
  for (const OpDecision& decision :
       plan.ops) {  // what backward streams is on the host before, with a decision or without
    for (const TensorId t : decision.streamed) action[{t, decision.op}] = GapAction::kSwap;
  }
  const Uses uses(step);
  std::vector<std::optional<GapAction>> of_maps;
  for (const TensorId map : step.maps) {
    const MapGap gap = ForwardBackwardGap(step, uses, map);
    const auto found = gap.before == kNoOp ? action.end() : action.find({map, gap.before});
    of_maps.push_back(found == action.end() ? std::nullopt : std::optional(found->second));
  }
  return of_maps;
}

ClassCounts CountClasses(const Plan& plan, const TrainingStep& step) {
  ClassCounts counts;
  for (const std::optional<GapAction>& action : MapActions(plan, step)) {
    ++(!action ? counts.keep : *action == GapAction::kSwap ? counts.swap : counts.recompute);
  }
  return counts;
}

}  // namespace spillway
