#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/text/lists.h"
#include "sim/planning/problem.h"
#include "sim/strategies/best/gap_model.h"

namespace spillway {

namespace {

GapDecision DecisionOf(const GapTables::Gap& gap, GapWay way, const std::string& reason) {
  GapDecision decision{.tensor = gap.tensor, .after = gap.after, .before = gap.before, .reason = reason};
  decision.action = way == GapWay::kSwap ? GapAction::kSwap : GapAction::kRecompute;
  decision.keep_passed = way != GapWay::kRecomputeAnew;
  return decision;
}

OpDecision DecisionOf(const GapTables& tables, OpId op, std::uint8_t row) {
  const GapTables::Op& o = tables.ops[Index(op)];
  const GapTables::Way& way = tables.ways[Index(o.ways.begin) + row];
  OpDecision decision{.op = op, .algorithm = way.algorithm, .workspace = way.workspace};
  if (o.grouped >= 0) decision = tables.grouped[Index(o.grouped)];
  if (way.division < 0) return decision;
  decision.workspace = 0;
  decision.parts = tables.divisions[Index(way.division)];
  return decision;
}

// In memory that is planned ahead, in list order, bytes are free when the copy out has ended, and no sooner.
GapDecision SwapOf(const GapModel& model, const GapModel::CopyIn& copy, const Runtime& runtime,
                   const std::string& reason) {
  const GapTables::Gap& gap = model.tables().gaps[Index(copy.gap)];
  GapDecision decision = DecisionOf(gap, GapWay::kSwap, reason);
  decision.in_at = model.LatestIssue(copy);
  if (model.tables().values[Index(gap.value)].on_host) {
    decision.out_after = gap.after;
    return decision;
  }
  decision.out_after = gap.made;
  // One that is still on its way out when it may come back leaves as usual: kernels would wait for it.
  const OpId leaves = model.LeavesBefore(copy.gap) - 1;
  const bool stays = leaves > gap.after && leaves < decision.in_at;
  if (IsPlannedAhead(runtime.memory) && stays) decision.leaves_after = leaves;
  return decision;
}

// What brings it back are the copies of parts.
GapDecision StreamedDecision(const GapTables::Gap& gap, const std::string& reason) {
  GapDecision decision = DecisionOf(gap, GapWay::kSwap, reason);
  decision.out_after = gap.made;
  decision.in_at = gap.before;
  return decision;
}

// The one that is decided, or else the fastest in as much workspace.
std::uint8_t WayOf(const GapTables& tables, const OpDecision& decision) {
  const GapTables::Rows& rows = tables.ops[Index(decision.op)].ways;
  Bytes workspace = decision.workspace;
  for (const OpPart& part : decision.parts) workspace = std::max(workspace, part.workspace);
  const auto same = [&](const GapTables::Way& way) {
    if (way.division >= 0) return decision.parts == tables.divisions[Index(way.division)];
    return decision.parts.empty() && way.algorithm == decision.algorithm;
  };
  std::int32_t best = rows.begin;
  Nanos least = kEndless;
  for (std::int32_t w = rows.begin; w < rows.end; ++w) {
    const GapTables::Way& way = tables.ways[Index(w)];
    if (way.workspace > RoundToUnit(workspace)) continue;
    const Nanos time = same(way) && w > rows.begin ? 0 : way.time;
    if (time >= least) continue;
    least = time;
    best = w;
  }
  return static_cast<std::uint8_t>(best - rows.begin);
}

// Whether the plan lets the tensor of that open gap stay.
bool Serves(const GapTables::Gap& gap, const GapDecision& decision) {
  return gap.again == kNoOp && decision.leaves_after != kNoOp && decision.leaves_after >= gap.until - 1;
}

// The ways of the op's recomputations where they are others than a plan without them has: of an op in parts the last one.
std::vector<OpAgain> WaysAgain(const GapTables& tables, OpId op, std::uint8_t row, std::vector<std::uint8_t> again) {
  const GapTables::Op& o = tables.ops[Index(op)];
  if (again.empty()) return {};
  const auto way_of = [&](std::uint8_t k) -> const GapTables::Way& { return tables.ways[Index(o.again.begin) + k]; };
  const bool in_parts = way_of(o.DiffersAgain() ? 0 : row).division >= 0;
  if (in_parts) again = {again.back()};
  while (again.size() > 1 && again[again.size() - 2] == again.back()) again.pop_back();
  const bool usual = again.size() == 1 && again.front() == (o.DiffersAgain() ? 0 : row);
  if (usual && !(o.DiffersAgain() && row > 0)) return {};
  std::vector<OpAgain> ways;
  for (const std::uint8_t k : again) ways.push_back({way_of(k).algorithm, way_of(k).workspace});
  return ways;
}

// Of those that do not run as usual, for the first time or again.
std::vector<OpDecision> OpDecisions(const GapModel& model, const GapChoices& choices) {
  const GapTables& tables = model.tables();
  std::map<OpId, std::vector<std::uint8_t>> again;
  for (const auto& [op, row] : model.again()) again[op].push_back(row);
  std::vector<OpDecision> decisions;
  for (OpId op = 0; Index(op) < tables.ops.size(); ++op) {
    const std::uint8_t row = choices.ops[Index(op)];
    const GapTables::Op& o = tables.ops[Index(op)];
    const auto found = again.find(op);
    std::vector<OpAgain> ways =
        found == again.end() ? std::vector<OpAgain>{} : WaysAgain(tables, op, row, found->second);
    const bool usual = row == 0 && o.grouped < 0 && tables.ways[Index(o.ways.begin)].division < 0;
    if (usual && ways.empty()) continue;
    decisions.push_back(DecisionOf(tables, op, row));
    decisions.back().again = std::move(ways);
  }
  return decisions;
}

// The op that makes the gap's tensor, of several the last one before the gap.
OpId LastWriter(const GapTables& tables, const GapTables::Gap& gap) {
  const GapTables::Rows& writers = tables.values[Index(gap.value)].writers;
  OpId last = kNoOp;
  for (std::int32_t w = writers.begin; w < writers.end; ++w) {
    if (tables.writers[Index(w)].op <= gap.after) last = tables.writers[Index(w)].op;
  }
  return last;
}

// Made for later entries.
bool IsEarly(const Recomputation& entry) { return !entry.keep || entry.leaves_after != kNoOp; }

// Whether the entry recomputes the tensor of that open gap ahead of what the gap serves.
bool ComesBack(const GapTables& tables, const GapTables::Gap& gap, const Recomputation& entry) {
  if (entry.before != gap.again || !IsEarly(entry) || entry.run != LastWriter(tables, gap)) return false;
  return gap.again == gap.until || entry.leaves_after >= gap.until - 1;
}

// Decisions on gaps with an open end, one for each tensor, and the schedule of the recomputations that they serve.
class OpenGaps {
 public:
  OpenGaps(const GapTables& tables, const GapChoices& choices, std::string reason)
      : tables_(tables), choices_(choices), reason_(std::move(reason)) {}

  void AddTo(Plan& plan) {
    for (std::size_t g = 0; g < tables_.gaps.size(); ++g) {
      const GapTables::Gap& gap = tables_.gaps[g];
      if (gap.serves < 0 || choices_.gaps[g] == GapWay::kKeep) continue;
      if (choices_.gaps[Index(gap.serves)] == GapWay::kRecompute) Serve(gap);
    }
    for (auto& [tensor, decision] : decisions_) plan.gaps.push_back(std::move(decision));
    std::stable_sort(entries_.begin(), entries_.end(), [](const Recomputation& a, const Recomputation& b) {
      return std::tuple(a.before, IsEarly(b)) < std::tuple(b.before, IsEarly(a));
    });
    plan.recompute.insert(plan.recompute.end(), entries_.begin(), entries_.end());
  }

 private:
  GapDecision& DecisionFor(TensorId tensor, OpId last_use) {
    GapDecision decision{.tensor = tensor, .after = last_use, .action = GapAction::kRecompute, .reason = reason_};
    return decisions_.try_emplace(tensor, std::move(decision)).first->second;
  }

  void Stay(TensorId tensor, OpId last_use, OpId leaves_after) {
    GapDecision& decision = DecisionFor(tensor, last_use);
    decision.leaves_after = std::max(decision.leaves_after, leaves_after);
  }

  // Once for all that it serves.
  void ComeBack(const Recomputation& early) {
    for (Recomputation& entry : entries_) {
      if (!IsEarly(entry) || entry.before != early.before || entry.run != early.run) continue;
      entry.keep = entry.keep || early.keep;
      entry.leaves_after = std::max(entry.leaves_after, early.leaves_after);
      return;
    }
    entries_.push_back(early);
  }

  void Serve(const GapTables::Gap& gap) {
    const GapTables::Gap& served = tables_.gaps[Index(gap.serves)];
    if (gap.again == kNoOp) {
      Stay(gap.tensor, gap.after, gap.until - 1);
    } else {
      Recomputation early{.before = gap.again, .run = LastWriter(tables_, gap), .keep = gap.again < gap.until};
      if (early.keep) early.leaves_after = gap.until - 1;
      ComeBack(early);
      for (std::int32_t row = gap.dying.begin; row < gap.dying.end; ++row) {
        Stay(tables_.TensorOf(tables_.sources[Index(row)]), gap.again - 1, gap.again - 1);
      }
    }
    entries_.push_back({.before = gap.until, .run = LastWriter(tables_, served)});
  }

  const GapTables& tables_;
  const GapChoices& choices_;
  const std::string reason_;
  std::map<TensorId, GapDecision> decisions_;
  std::vector<Recomputation> entries_;
};

}  // namespace

GapChoices AllKept(const GapTables& tables) {
  GapChoices kept{std::vector<GapWay>(tables.gaps.size(), GapWay::kKeep),
                  std::vector<std::uint8_t>(tables.ops.size(), 0)};
  for (std::size_t g = 0; g < tables.gaps.size(); ++g) {
    if (tables.gaps[g].streamed) kept.gaps[g] = GapWay::kSwap;
  }
  return kept;
}

Plan PlanOf(const Problem& problem, GapModel& model, const GapChoices& unsettled, const std::string& reason) {
  const GapTables& tables = model.tables();
  const GapChoices choices = model.Settled(unsettled);
  Plan plan = StartPlan(problem, "best", "arena");
  plan.capacity = model.capacity();
  plan.ops = OpDecisions(model, choices);
  // Copies in are issued in order of need; what a plan ahead lists first starts on its way out first.
  std::vector<GapModel::CopyIn> copies = model.copies_in();
  if (IsPlannedAhead(plan.runtime.memory)) {
    std::sort(copies.begin(), copies.end(), [](const auto& a, const auto& b) { return a.gap < b.gap; });
  }
  for (const GapModel::CopyIn& copy : copies) {
    plan.gaps.push_back(SwapOf(model, copy, plan.runtime, reason));
  }
  for (std::size_t g = 0; g < tables.gaps.size(); ++g) {
    const GapWay way = choices.gaps[g];
    if (tables.gaps[g].streamed) plan.gaps.push_back(StreamedDecision(tables.gaps[g], reason));
    if (way == GapWay::kKeep || way == GapWay::kSwap || tables.gaps[g].IsOpen()) continue;
    plan.gaps.push_back(DecisionOf(tables.gaps[g], way, reason));
  }
  OpenGaps(tables, choices, reason).AddTo(plan);
  return plan;
}

GapChoices ChoicesOf(const GapTables& tables, const Plan& plan) {
  GapChoices choices = AllKept(tables);
  for (const GapDecision& decision : plan.gaps) {
    for (std::size_t g = 0; g < tables.gaps.size(); ++g) {
      const GapTables::Gap& gap = tables.gaps[g];
      if (gap.streamed || gap.tensor != decision.tensor || gap.before != decision.before) continue;
      const bool swaps = decision.action == GapAction::kSwap;
      if (gap.serves >= 0 && (swaps || !Serves(gap, decision))) continue;
      if (!swaps && !gap.may_recompute) continue;
      choices.gaps[g] = swaps ? GapWay::kSwap : decision.keep_passed ? GapWay::kRecompute : GapWay::kRecomputeAnew;
    }
  }
  for (std::size_t g = 0; g < tables.gaps.size(); ++g) {
    const GapTables::Gap& gap = tables.gaps[g];
    const auto comes_back = [&](const Recomputation& entry) { return ComesBack(tables, gap, entry); };
    if (gap.again != kNoOp && std::any_of(plan.recompute.begin(), plan.recompute.end(), comes_back))
      choices.gaps[g] = GapWay::kRecompute;
  }
  for (const OpDecision& decision : plan.ops) {
    if (decision.streamed.empty() && !decision.tiles.Any()) choices.ops[Index(decision.op)] = WayOf(tables, decision);
  }
  return choices;
}

GapChoices ChoicesOf(const GapTables& tables, const CutBound& cut, const GapChoices& kept) {
  GapChoices choices = kept;
  for (std::size_t g = 0; g < tables.gaps.size(); ++g) {
    const GapTables::Gap& gap = tables.gaps[g];
    if (gap.streamed || gap.after >= cut.op || gap.before <= cut.op) continue;
    if (gap.may_recompute && Contains(cut.recomputed, gap.tensor)) choices.gaps[g] = GapWay::kRecompute;
    if (gap.may_swap && Contains(cut.copied, gap.tensor)) choices.gaps[g] = GapWay::kSwap;
  }
  return choices;
}

}  // namespace spillway
