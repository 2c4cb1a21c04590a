#include "sim/strategies/shared/streaming.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "hw/text/lists.h"
#include "model/cost/op_tiles.h"
#include "sim/plan/parts.h"
#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/shared/stream_divisions.h"

namespace spillway {

namespace {

// Moves out what is in the way and divides what does not fit, where the plan so far needs most.
class Fitter {
 public:
  Fitter(const Problem& problem, const std::shared_ptr<const StepFacts>& facts, const char* strategy, MayDivide divide)
      : problem_(problem),
        oracle_(facts, problem.capacity),
        tables_(facts->tables()),
        step_(*problem.step),
        divide_(divide),
        divisions_(problem, tables_),
        target_(problem.capacity) {
    planned_.plan = StartPlan(problem, strategy, "arena");
    if (divide != MayDivide::kNothing) divisions_.DivideRefused();
    for (const TensorId map : step_.maps) SwapMap(map);
  }

  Planned Fit() {
    if (const OpId stuck = DivideWhatExceeds(); stuck != kNoOp) return NotDone(Reason(stuck, PlanNow()));
    while (true) {
      const Plan plan = PlanNow();
      const OpId op = WhereTooLarge(plan);
      if (op == kNoOp) {
        const Evaluation e = oracle_.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
        ++planned_.plan.evaluations;
        if (e.feasible) return Done(plan);
        fragmented_ = e.reason;
        const Bytes took = e.smallest_limit;
        if (took > 0 && (smallest_layout_ == 0 || took < smallest_layout_)) smallest_layout_ = took;
        if (e.reason.starts_with("host_memory") || !LowerTarget()) return NotDone("out_of_memory: " + fragmented_);
      } else if (!MoveAllAbove(op) && !Divide(op)) {
        return NotDone(Reason(op, plan));
      }
    }
  }

  Bytes smallest_layout() const { return smallest_layout_; }

 private:
  void SwapMap(TensorId map) {
    const MapGap gap = ForwardBackwardGap(step_, tables_.uses, map);
    if (gap.before != kNoOp) Swap(map, gap.after, gap.before, "every map is swapped");
  }

  // Planned ahead, copies come back as early as there is room; a pool issues them where the plan says.
  void Swap(TensorId t, OpId after, OpId before, std::string reason) {
    const bool arena = IsPlannedAhead(planned_.plan.runtime.memory);
    const OpId early = std::min(before, std::max(after + 1, step_.first_backward));
    planned_.plan.gaps.push_back({.tensor = t,
                                  .after = after,
                                  .before = before,
                                  .out_after = after,
                                  .in_at = arena ? early : before,
                                  .reason = std::move(reason)});
    swapped_.insert({t, before});
  }

  Plan PlanNow() const {
    Plan plan = planned_.plan;
    for (const auto& [op, decision] : divisions_.decisions()) plan.ops.push_back(decision);
    SwapWhereStreamed(step_, tables_.uses, "streamed on one side", plan);
    // Copies that may start at the same moment come in the order in which they are needed.
    std::stable_sort(plan.gaps.begin(), plan.gaps.end(),
                     [](const GapDecision& a, const GapDecision& b) { return a.before < b.before; });
    return plan;
  }

  // Ops that do not fit even beside nothing else. The largest of those that cannot be divided until they do.
  OpId DivideWhatExceeds() {
    std::vector<OpId> stuck;
    for (OpId op = 0; op < static_cast<OpId>(step_.ops.size()); ++op) {
      if (divisions_.Alone(op) > target_ && !divisions_.Has(op) && !Divide(op)) stuck.push_back(op);
    }
    const auto largest = std::max_element(stuck.begin(), stuck.end(),
                                          [this](OpId a, OpId b) { return divisions_.Alone(a) < divisions_.Alone(b); });
    return largest != stuck.end() && divisions_.Alone(*largest) > target_ ? *largest : kNoOp;
  }

  // The op at which the plan needs more than there is, if there is one. `live_` is then what it needs at each op.
  OpId WhereTooLarge(const Plan& plan) {
    live_ = divisions_.alone();
    if (LargestAboveTarget(live_) == kNoOp) live_ = LiveAt(plan, tables_);
    return LargestAboveTarget(live_);
  }
  OpId LargestAboveTarget(const std::vector<Bytes>& by_op) const {
    const auto largest = std::max_element(by_op.begin(), by_op.end());
    return *largest > target_ ? static_cast<OpId>(largest - by_op.begin()) : kNoOp;
  }

  // A layout needs more than is live: then there is less to fill.
  bool LowerTarget() {
    target_ -= problem_.capacity / 50;
    return target_ > problem_.capacity / 2;
  }

  // Swaps tensors in gaps over `op`, where most is needed, then over the op where most is needed now, until all ops fit or
  // at one of them nothing is left to swap. Whether anything was swapped.
  bool MoveAllAbove(OpId op) {
    bool moved = false;
    while (op != kNoOp && MoveSomething(op)) {
      moved = true;
      op = LargestAboveTarget(live_);
    }
    return moved;
  }

  // Swaps the largest tensor in a gap over the op that is still on the device.
  bool MoveSomething(OpId op) {
    TensorId largest = kNoTensor;
    for (TensorId t = 0; Index(t) < step_.tensors.size(); ++t) {
      const bool larger = largest == kNoTensor || tables_.bytes[Index(t)] > tables_.bytes[Index(largest)];
      if (larger && IsIdle(t, op)) largest = t;
    }
    if (largest == kNoTensor) return false;
    const OpId after = tables_.uses.Previous(largest, op), before = tables_.uses.Next(largest, op);
    Swap(largest, after, before, fmt::format("out of the way of {}", step_.ops[Index(op)].name));
    if (divisions_.Alone(op) > target_) return true;  // whatever is moved
    for (OpId at = after + 1; at < before; ++at) live_[Index(at)] -= tables_.bytes[Index(largest)];
    return true;
  }

  bool IsIdle(TensorId t, OpId op) const {
    if (!step_.tensors[Index(t)].Traits().may_move || tables_.persistent[Index(t)]) return false;
    const std::vector<OpId>& uses = tables_.uses.of[Index(t)];
    const OpId after = tables_.uses.Previous(t, op), before = tables_.uses.Next(t, op);
    if (after == kNoOp || before == kNoOp || std::binary_search(uses.begin(), uses.end(), op)) return false;
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    if (!writers.empty() && after < writers.back()) return false;
    return !swapped_.contains({t, before}) && !divisions_.Streams(after, t) && !divisions_.Streams(before, t);
  }

  bool Divide(OpId op) { return divide_ != MayDivide::kNothing && divisions_.Divide(op, target_); }

  Planned Done(const Plan& plan) {
    const std::int64_t evaluations = planned_.plan.evaluations;
    planned_.feasible = true;
    planned_.plan = plan;
    planned_.plan.evaluations = evaluations;
    return std::move(planned_);
  }

  Planned NotDone(const std::string& reason) {
    planned_.reason = reason;
    return std::move(planned_);
  }

  std::string Reason(OpId op, const Plan& plan) const {
    const bool divided = divide_ != MayDivide::kNothing && HasSampleParts(step_.ops[Index(op)]);
    Bytes needs = divided ? divisions_.InSmallestParts(op, target_) : divisions_.Alone(op);
    if (needs <= target_) {
      const std::vector<Bytes> live = LiveAt(plan, tables_);
      needs = *std::max_element(live.begin(), live.end());
    }
    if (needs <= problem_.capacity) return "out_of_memory: " + fragmented_;
    const auto [wanted, usable] = FormatBytesApart(needs, problem_.capacity);
    return fmt::format("out_of_memory: {} needs {} with all else on the host{}, {} are usable",
                       step_.ops[Index(op)].name, wanted, divided ? " in the smallest parts" : "", usable);
  }

  const Problem& problem_;
  const Oracle oracle_;
  const StepTables& tables_;
  const TrainingStep& step_;
  const MayDivide divide_;
  Divisions divisions_;
  Bytes target_;
  std::string fragmented_;  // what a layout said last
  Bytes smallest_layout_ = 0;
  Planned planned_;
  std::vector<Bytes> live_;  // by op: what the plan so far needs; where ops do not fit by themselves, only that
  std::set<std::pair<TensorId, OpId>> swapped_;  // gaps, by the use that ends them
};

}  // namespace

std::vector<OpPart> PartsAsGranted(const Problem& problem, const Launch& whole,
                                   const std::vector<std::int64_t>& samples) {
  const Bytes usual = problem.costs->Kernel(whole, problem.device).workspace;
  std::vector<OpPart> parts;
  for (const std::int64_t size : samples) {
    if (parts.size() > 1 && parts.back().samples == size) {
      parts.push_back(parts.back());
      continue;
    }
    const Launch part = PartOf(whole, size, parts.empty());
    parts.push_back({size, 0, std::max(usual, problem.costs->Kernel(part, problem.device).workspace)});
  }
  return parts;
}

void GrantTiles(const Problem& problem, const Op& op, OpDecision& decision) {
  const Bytes usual = problem.costs->Kernel(LaunchOf(op), problem.device).workspace;
  const auto launches = LaunchesOfParts(decision, op);
  for (std::size_t k = 0; k < launches.size(); ++k) {
    decision.parts[k].workspace = usual;
    for (const Launch& launch : launches[k]) {
      const Bytes wanted = problem.costs->Kernel(launch, problem.device).workspace;
      decision.parts[k].workspace = std::max(decision.parts[k].workspace, wanted);
    }
  }
}

Planned FitByStreaming(const Problem& problem, const std::shared_ptr<const StepFacts>& facts, const char* strategy,
                       MayDivide divide, Bytes* smallest_layout) {
  Fitter fitter(problem, facts, strategy, divide);
  Planned planned = fitter.Fit();
  if (smallest_layout != nullptr) *smallest_layout = fitter.smallest_layout();
  return planned;
}

// Ops in the order of what they take whole: behind one that takes less than was found, all do. Of a kind, one is looked at.
Bytes LeastAlone(const Problem& problem, const std::shared_ptr<const StepFacts>& facts, MayDivide divide) {
  const Divisions whole(problem, facts->tables());
  std::vector<OpId> order(whole.alone().size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](OpId a, OpId b) { return whole.Alone(a) > whole.Alone(b); });
  Bytes least = 0;
  std::set<std::pair<std::uint32_t, Bytes>> seen;
  for (const OpId op : order) {
    if (whole.Alone(op) <= least) break;
    if (!seen.insert({facts->tables().launch[Index(op)], whole.Alone(op)}).second) continue;
    const bool divided = divide != MayDivide::kNothing && whole.CanStream(op);
    const Bytes alone = divided ? std::min(whole.Alone(op), whole.InSmallestParts(op, kEndlessBytes)) : whole.Alone(op);
    least = std::max(least, alone);
  }
  return least;
}

}  // namespace spillway
