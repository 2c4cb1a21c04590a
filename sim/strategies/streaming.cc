#include "sim/strategies/streaming.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "hw/text/lists.h"
#include "model/cost/op_parts.h"
#include "sim/plan/streams.h"
#include "sim/program/lower.h"
#include "sim/strategies/classify.h"

namespace spillway {

namespace {

// Moves out what is in the way and divides what does not fit, one thing at a time, where the plan so far needs most.
class Fitter {
 public:
  Fitter(const Problem& problem, const std::shared_ptr<const StepFacts>& facts, const char* strategy, MayDivide divide)
      : problem_(problem),
        oracle_(facts, problem.capacity),
        tables_(facts->tables()),
        step_(*problem.step),
        divide_(divide),
        target_(problem.capacity) {
    planned_.plan = StartPlan(problem, strategy, "arena");
    for (const TensorId map : step_.maps) SwapMap(map);
  }

  Planned Fit() {
    const std::vector<Bytes> sets = tables_.WorkingSets({});
    for (OpId op = 0; op < static_cast<OpId>(sets.size()); ++op) {
      if (sets[Index(op)] > target_ && !samples_.contains(op)) Divide(op);
    }
    while (true) {
      const Plan plan = PlanNow();
      const OpId op = WhereTooLarge(plan);
      if (op == kNoOp) {
        const Evaluation e = oracle_.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false});
        ++planned_.plan.evaluations;
        if (e.feasible) return Done(plan);
        fragmented_ = e.reason;
        if (!LowerTarget()) return NotDone("out_of_memory: " + fragmented_);
      } else if (!MoveSomething(op) && !Divide(op)) {
        return NotDone(Reason(op, plan));
      }
    }
  }

 private:
  void SwapMap(TensorId map) {
    const MapGap gap = ForwardBackwardGap(step_, tables_.uses, map);
    if (gap.before != kNoOp) Swap(map, gap.after, gap.before, "every map is swapped");
  }

  // In an arena copies come back as early as there is room; a pool issues them where the plan says.
  void Swap(TensorId t, OpId after, OpId before, std::string reason) {
    const bool arena = planned_.plan.runtime.memory == MemoryModel::kArena;
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
    for (const auto& [op, samples] : samples_) plan.ops.push_back(Decision(op, samples));
    SwapWhereStreamed(step_, tables_.uses, "streamed on one side", plan);
    // Copies that may start at the same moment come in the order in which they are needed.
    std::stable_sort(plan.gaps.begin(), plan.gaps.end(),
                     [](const GapDecision& a, const GapDecision& b) { return a.before < b.before; });
    return plan;
  }

  // The op at which the plan needs more than there is, if there is one.
  OpId WhereTooLarge(const Plan& plan) const {
    const std::vector<Bytes> sets = tables_.WorkingSets(plan.ops);
    const auto largest = std::max_element(sets.begin(), sets.end());
    if (*largest > target_) return static_cast<OpId>(largest - sets.begin());
    const Lowered lowered = LowerItems(plan, tables_, 1);
    return lowered.list_peak > target_ ? lowered.op : kNoOp;
  }

  // A layout needs more than is live: then there is less to fill.
  bool LowerTarget() {
    target_ -= problem_.capacity / 50;
    return target_ > problem_.capacity / 2;
  }

  // Swaps the largest tensor in a gap over the op that is still on the device.
  bool MoveSomething(OpId op) {
    TensorId largest = kNoTensor;
    for (TensorId t = 0; Index(t) < step_.tensors.size(); ++t) {
      const bool larger = largest == kNoTensor || tables_.bytes[Index(t)] > tables_.bytes[Index(largest)];
      if (larger && IsIdle(t, op)) largest = t;
    }
    if (largest == kNoTensor) return false;
    Swap(largest, tables_.uses.Previous(largest, op), tables_.uses.Next(largest, op),
         fmt::format("out of the way of {}", step_.ops[Index(op)].name));
    return true;
  }

  bool IsIdle(TensorId t, OpId op) const {
    if (!step_.tensors[Index(t)].Traits().may_move || tables_.persistent[Index(t)]) return false;
    const std::vector<OpId>& uses = tables_.uses.of[Index(t)];
    const OpId after = tables_.uses.Previous(t, op), before = tables_.uses.Next(t, op);
    if (after == kNoOp || before == kNoOp || std::binary_search(uses.begin(), uses.end(), op)) return false;
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    if (!writers.empty() && after < writers.back()) return false;
    return !swapped_.contains({t, before}) && !Streams(after, t) && !Streams(before, t);
  }

  // Whether all forward writers of what the op writes can stream it, too.
  bool MayStreamAt(OpId op, TensorId t) const {
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    if (!MayStream(step_.tensors[Index(t)])) return false;
    return !Contains(writers, op) || std::all_of(writers.begin(), writers.end(), [this](OpId writer) {
      return HasSampleParts(step_.ops[Index(writer)].kind);
    });
  }
  bool Streams(OpId op, TensorId t) const { return samples_.contains(op) && MayStreamAt(op, t); }

  // Lets the op stream, or in smaller parts; with it those that write a tensor before or behind it in place.
  bool Divide(OpId op) {
    if (divide_ == MayDivide::kNothing || !HasSampleParts(step_.ops[Index(op)].kind)) return false;
    const std::int64_t batch = step_.ops[Index(op)].shape.in.n;
    const auto known = samples_.find(op);
    std::int64_t samples = 1;
    while (samples * 2 < (known == samples_.end() ? batch : known->second)) samples *= 2;
    if (known != samples_.end() && (known->second == 1 || samples >= known->second)) return false;
    while (samples > 1 && WorkingSet(op, samples) > target_) samples /= 2;
    if (WorkingSet(op, samples) > target_ || Decision(op, samples).streamed.empty()) return false;
    samples_[op] = samples;
    for (const StepTables::Touch& touch : tables_.Touches(op)) {
      const std::vector<OpId>& writers = tables_.uses.writers[Index(touch.tensor)];
      if (touch.access == Access::kRead || !Contains(writers, op) || !MayStreamAt(op, touch.tensor)) continue;
      for (const OpId writer : writers) {
        if (!samples_.contains(writer)) samples_[writer] = std::max<std::int64_t>(1, samples);
      }
    }
    return true;
  }

  Bytes WorkingSet(OpId op, std::int64_t samples) const {
    const std::vector<OpDecision> one{Decision(op, samples)};
    return tables_.WorkingSets(one)[Index(op)];
  }

  OpDecision Decision(OpId op, std::int64_t samples) const {
    const Launch whole = LaunchOf(step_.ops[Index(op)]);
    const std::int64_t batch = whole.shape.in.n;
    OpDecision decision{.op = op};
    for (const StepTables::Touch& touch : tables_.Touches(op)) {
      if (MayStreamAt(op, touch.tensor)) decision.streamed.push_back(touch.tensor);
    }
    for (std::int64_t done = 0; done < batch; done += samples) {
      const Launch part = PartOf(whole, std::min(samples, batch - done), done == 0);
      decision.parts.push_back({part.shape.in.n, 0, problem_.costs->Kernel(part, problem_.device).workspace});
    }
    return decision;
  }

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
    const bool divided = divide_ != MayDivide::kNothing && HasSampleParts(step_.ops[Index(op)].kind);
    Bytes needs = divided ? WorkingSet(op, 1) : tables_.WorkingSets(plan.ops)[Index(op)];
    if (needs <= target_) needs = LowerItems(plan, tables_, 1).list_peak;
    if (needs <= problem_.capacity) return "out_of_memory: " + fragmented_;
    const auto [wanted, usable] = FormatBytesApart(needs, problem_.capacity);
    return fmt::format("out_of_memory: {} needs {} with all else on the host{}, {} are usable",
                       step_.ops[Index(op)].name, wanted, divided ? " in parts of one sample" : "", usable);
  }

  const Problem& problem_;
  const Oracle oracle_;
  const StepTables& tables_;
  const TrainingStep& step_;
  const MayDivide divide_;
  Bytes target_;
  std::string fragmented_;  // what a layout said last
  Planned planned_;
  std::set<std::pair<TensorId, OpId>> swapped_;  // gaps, by the use that ends them
  std::map<OpId, std::int64_t> samples_;         // of each part of the ops that stream
};

}  // namespace

Planned FitByStreaming(const Problem& problem, const std::shared_ptr<const StepFacts>& facts, const char* strategy,
                       MayDivide divide) {
  return Fitter(problem, facts, strategy, divide).Fit();
}

}  // namespace spillway
