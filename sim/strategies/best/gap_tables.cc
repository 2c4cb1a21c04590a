#include "sim/strategies/best/gap_tables.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "hw/text/lists.h"
#include "sim/plan/carried.h"

namespace spillway {

namespace {

using Rows = GapTables::Rows;

std::int32_t Size(const auto& table) { return static_cast<std::int32_t>(table.size()); }

OpId LastWriter(const TrainingStep& step, const std::vector<OpId>& uses, TensorId tensor, OpId up_to) {
  OpId last = kNoOp;
  for (const OpId op : uses) {
    if (op <= up_to && Contains(step.ops[Index(op)].writes, tensor)) last = op;
  }
  return last;
}

}  // namespace

GapTables::GapTables(const StepFacts& facts, BackwardUnits units, Bytes capacity, Bytes small,
                     const WaysLookedAt& looked_at, CarriedGaps carried)
    : groups(looked_at.groups),
      ops(facts.tables().step->ops.size()),
      first_backward(facts.tables().step->first_backward),
      duplex(facts.costs().machine().links[facts.tables().link].duplex_factor),
      carried_(carried),
      value_of_(facts.tables().bytes.size(), -1) {
  AddOps(facts, units);
  AddGroups(facts);
  AddWays(facts, capacity, looked_at);
  AddMemory(facts);
  AddGaps(facts, capacity, small);
  if (groups.empty()) AddOpenGaps(facts, capacity, small);
  AddRooms(capacity);
  AddEvents(facts, units);
  AddSources(facts);
}

void GapTables::AddOps(const StepFacts& facts, BackwardUnits units) {
  const std::vector<std::int32_t>& unit = facts.tables().unit[static_cast<std::size_t>(units)];
  OpId end = Size(ops);
  for (OpId op = Size(ops) - 1; op >= 0; --op) {
    if (Index(op) + 1 < ops.size() && unit[Index(op)] != unit[Index(op) + 1]) end = op + 1;
    ops[Index(op)].unit_end = end;
  }
}

// REQUIRES: it is in a group.
std::int64_t GapTables::PartsOf(OpId op) const {
  const auto of = [op](const PartGroup& group) { return group.first <= op && op < group.end; };
  return std::find_if(groups.begin(), groups.end(), of)->parts;
}

bool GapTables::HasTiles(TensorId tensor, OpId user) const {
  const std::int32_t row = ops[Index(user)].grouped;
  return row >= 0 && Contains(grouped[Index(row)].streamed, tensor);
}

// The end of the last use, or of its group, that finds the tensor whole; kNoOp: none does.
OpId GapTables::LastWhole(const std::vector<OpId>& uses, TensorId tensor) const {
  for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
    if (!HasTiles(tensor, *use)) return ops[Index(*use)].group_last;
  }
  return kNoOp;
}

// Each tensor from its first use to its last.
void GapTables::AddMemory(const StepFacts& facts) {
  const StepTables& step = facts.tables();
  std::vector<Bytes> change(ops.size() + 1, 0);
  std::vector<Bytes> arrives(ops.size() + 1, 0);
  for (TensorId t = 0; t < Size(step.bytes); ++t) {
    const std::vector<OpId>& uses = step.uses.of[Index(t)];
    if (step.persistent[Index(t)]) {
      change[0] += step.bytes[Index(t)];
    } else if (!uses.empty()) {
      if (HasTiles(t, uses.front())) continue;
      arrives[Index(ops[Index(uses.front())].group_first)] += step.bytes[Index(t)];
      change[Index(LastWhole(uses, t)) + 1] -= step.bytes[Index(t)];
    }
  }
  for (const PartGroup& group : groups) {
    arrives[Index(group.first)] += TileBytes(step, group);
    change[Index(group.end)] -= TileBytes(step, group);
  }
  Bytes live = 0;
  for (std::size_t op = 0; op < ops.size(); ++op) {
    live += change[op];
    ops[op].before = live;
    live += arrives[op];
    ops[op].during = live;
  }
}

void GapTables::AddGaps(const StepFacts& facts, Bytes capacity, Bytes small) {
  const StepTables& step = facts.tables();
  std::vector<std::int32_t> over_before{0};
  for (const Op& op : ops) {
    Bytes most = 0;
    for (std::int32_t w = op.ways.begin; w < op.ways.end; ++w) most = std::max(most, ways[Index(w)].workspace);
    const bool over = op.during + most > capacity;
    over_before.push_back(over_before.back() + (over ? 1 : 0));
  }
  for (TensorId t = 0; t < Size(step.bytes); ++t) {
    const bool brought =
        std::any_of(groups.begin(), groups.end(), [t](const PartGroup& group) { return Contains(group.brought, t); });
    if (step.step->tensors[Index(t)].Traits().may_move && (brought || step.bytes[Index(t)] > small)) {
      AddGapsOf(facts, t, over_before);
    }
  }
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.after < b.after; });
}

void GapTables::AddGapsOf(const StepFacts& facts, TensorId tensor, const std::vector<std::int32_t>& over_before) {
  const TrainingStep& step = *facts.tables().step;
  const std::vector<OpId>& uses = facts.tables().uses.of[Index(tensor)];
  const std::vector<OpId>& written = facts.tables().uses.writers[Index(tensor)];
  OpId made_before = kNoOp;
  for (std::size_t k = 0; k + 1 < uses.size(); ++k) {
    const OpId after = uses[k], before = uses[k + 1];
    const bool unfinished = !written.empty() && after < written.back();
    const bool written_only = !Contains(step.ops[Index(before)].reads, tensor);
    if (HasTiles(tensor, before) && !HasTiles(tensor, after)) AddStreamedGap(facts, tensor, after, before);
    if (unfinished || written_only || HasTiles(tensor, before)) continue;
    if (!MayCarryGap(carried_, step, after, before)) continue;
    const OpId begin = ops[Index(after)].group_last + 1, end = ops[Index(before)].group_first;
    const bool fits = begin > end || over_before[Index(end)] == over_before[Index(begin)];
    if (fits && !IsOverTightRerun(after, before)) continue;
    Gap gap{.tensor = tensor, .after = after, .before = before, .made = LastWriter(step, uses, tensor, after)};
    // In a group of forward ops what it would be made from may be made by them.
    const bool fused_forward = step.IsForward(before) && before != ops[Index(before)].group_first;
    const bool by_forward = gap.made == kNoOp || step.IsForward(gap.made);
    const bool first = gaps.empty() || gaps.back().tensor != tensor;
    gap.stale = !first && gap.made != made_before;
    made_before = gap.made;
    if (!first && !gap.stale) gap.made = after;  // in the gap before it may be away
    gap.value = ValueOf(facts, tensor);
    gap.bytes = facts.tables().bytes[Index(tensor)];
    gap.may_swap = true;
    gap.may_recompute = !fused_forward && !written.empty() && written.front() <= after && by_forward &&
                        step.MayRecompute(tensor, before);
    const Bytes bytes = step.tensors[Index(tensor)].bytes;
    gap.in = facts.costs().Copy(bytes, Direction::kHostToDevice, facts.tables().device).time;
    gap.out = values[Index(gap.value)].on_host
                  ? 0
                  : facts.costs().Copy(bytes, Direction::kDeviceToHost, facts.tables().device).time;
    gaps.push_back(gap);
  }
}

void GapTables::AddStreamedGap(const StepFacts& facts, TensorId tensor, OpId after, OpId before) {
  const TrainingStep& step = *facts.tables().step;
  Gap gap{.tensor = tensor, .after = after, .before = before};
  const bool first = gaps.empty() || gaps.back().tensor != tensor;
  gap.made =
      first ? LastWriter(step, facts.tables().uses.of[Index(tensor)], tensor, after) : after;  // else it may be away
  gap.value = ValueOf(facts, tensor);
  gap.bytes = facts.tables().bytes[Index(tensor)];
  gap.streamed = true;
  const Bytes bytes = step.tensors[Index(tensor)].bytes;
  const std::int64_t parts = PartsOf(before);
  gap.in = parts * facts.costs().Copy(bytes / parts, Direction::kHostToDevice, facts.tables().device).time;
  gap.out = facts.costs().Copy(bytes, Direction::kDeviceToHost, facts.tables().device).time;
  values[Index(gap.value)].in = gap.in;
  gaps.push_back(gap);
}

std::int32_t GapTables::ValueOf(const StepFacts& facts, TensorId tensor) {
  std::int32_t& known = value_of_[Index(tensor)];
  const Tensor& t = facts.tables().step->tensors[Index(tensor)];
  if (known >= 0 || !t.Traits().may_move) return known;
  known = Size(values);
  Value value{.bytes = facts.tables().bytes[Index(tensor)]};
  value.on_host = t.Traits().on_host;
  const std::vector<OpId>& uses = facts.tables().uses.of[Index(tensor)];
  value.last = LastWhole(uses, tensor);
  value.transient = t.use == TensorClass::kTransient;
  value.in = value.on_host ? facts.costs().Copy(t.bytes, Direction::kHostToDevice, facts.tables().device).time : 0;
  values.push_back(value);
  tensors_.push_back(tensor);
  return known;
}

void GapTables::AddRooms(Bytes capacity) {
  Bytes known = ops.empty() ? 0 : ops.front().during;
  for (OpId op = 1; op < Size(ops); ++op) {
    known = std::max(known, ops[Index(op)].during);
    if (ops[Index(op)].during > known - capacity / kRoomShare) continue;
    known = ops[Index(op)].during;
    events.push_back({op, Event::Kind::kRoom, -1});
  }
}

void GapTables::AddEvents(const StepFacts& facts, BackwardUnits units) {
  const TrainingStep& step = *facts.tables().step;
  const std::vector<std::int32_t>& unit = facts.tables().unit[static_cast<std::size_t>(units)];
  const auto first_of_unit = [&](OpId op) {
    while (op > 0 && unit[Index(op)] == unit[Index(op) - 1]) --op;
    return op;
  };
  for (const TensorId t : facts.tables().inputs) {
    const std::vector<OpId>& uses = facts.tables().uses.of[Index(t)];
    if (uses.empty()) continue;
    events.push_back({ops[Index(uses.front())].group_first, Event::Kind::kUpload, Size(uploads)});
    uploads.push_back(
        facts.costs().Copy(step.tensors[Index(t)].bytes, Direction::kHostToDevice, facts.tables().device).time);
  }
  if (first_backward < Size(ops)) events.push_back({first_backward, Event::Kind::kBarrier, -1});
  for (const PartGroup& group : groups) events.push_back({group.end, Event::Kind::kRoom, -1});
  for (std::int32_t g = 0; g < Size(gaps); ++g) {
    const Gap& gap = gaps[Index(g)];
    if (gap.serves >= 0) {
      const bool again = gap.again != kNoOp;
      events.push_back({gap.until, Event::Kind::kServe, g});
      events.push_back({again ? gap.again : gap.after, again ? Event::Kind::kAgain : Event::Kind::kOpen, g});
      continue;
    }
    const OpId close = ops[Index(gap.before)].group_first, open = ops[Index(gap.after)].group_last;
    if (step.IsBackward(gap.before)) {
      events.push_back({ops[Index(first_of_unit(gap.before))].group_first, Event::Kind::kUnit, g});
    }
    events.push_back({close, Event::Kind::kClose, g});
    if (gap.made != kNoOp) events.push_back({ops[Index(gap.made)].group_last, Event::Kind::kMade, g});
    events.push_back({open, Event::Kind::kOpen, g});
  }
  // As copies out that start behind the same op do: those of gaps that begin there last.
  const auto at_its_gap = [this](const Event& event) {
    return event.kind == Event::Kind::kMade && gaps[Index(event.gap)].made == gaps[Index(event.gap)].after;
  };
  std::stable_sort(events.begin(), events.end(), [&](const Event& a, const Event& b) {
    return std::tuple(a.op, a.kind, at_its_gap(a)) < std::tuple(b.op, b.kind, at_its_gap(b));
  });
}

// Of every value what makes it, of that what it reads, and so on.
void GapTables::AddSources(const StepFacts& facts) {
  for (std::size_t v = 0; v < values.size(); ++v) {
    const TensorId tensor = tensors_[v];
    const std::int32_t begin = Size(writers);
    for (const OpId op : facts.tables().uses.writers[Index(tensor)]) AddWriter(facts, op, tensor);
    values[v].writers = {begin, Size(writers)};
  }
}

void GapTables::AddWriter(const StepFacts& facts, OpId op, TensorId tensor) {
  Writer writer{.op = op};
  const auto add = [&](Rows& rows, bool read) {
    rows.begin = Size(sources);
    for (const auto& [t, access, last] : facts.tables().Touches(op)) {
      if (t == tensor || (access != Access::kWrite) != read) continue;
      if (const std::int32_t value = ValueOf(facts, t); value >= 0) sources.push_back(value);
    }
    rows.end = Size(sources);
  };
  add(writer.inputs, true);
  add(writer.others, false);
  writers.push_back(writer);
}

}  // namespace spillway
