#include "sim/strategies/streaming.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "hw/text/lists.h"
#include "model/cost/op_parts.h"
#include "sim/plan/streams.h"
#include "sim/plan/tiles.h"
#include "sim/program/lower.h"
#include "sim/strategies/classify.h"

namespace spillway {

namespace {

// An op is cut into no more parts than these where it could stream more of its operands instead.
constexpr std::int64_t kMostParts = 64;
// Nor into more tiles than these: where so many do not help, its parameters are in the way.
constexpr std::int64_t kMostTilesByNeed = 4096;

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
      if (sets[Index(op)] > target_ && !tilings_.contains(op)) Divide(op);
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
  struct Tiling {
    std::int64_t samples = 0;  // of each part
    std::set<TensorId> streamed;
    TileCounts tiles{};  // of parts of one sample
  };

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
    for (const auto& [op, tiling] : tilings_) plan.ops.push_back(Decision(op, tiling));
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

  // Whether the op, and all forward writers of what it writes, can stream the tensor.
  bool MayStreamAt(OpId op, TensorId t) const {
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    if (!MayStream(step_.tensors[Index(t)]) || !HasSampleParts(step_.ops[Index(op)].kind)) return false;
    return !Contains(writers, op) || std::all_of(writers.begin(), writers.end(), [this](OpId writer) {
      return HasSampleParts(step_.ops[Index(writer)].kind);
    });
  }
  bool Streams(OpId op, TensorId t) const {
    const auto found = op == kNoOp ? tilings_.end() : tilings_.find(op);
    return found != tilings_.end() && found->second.streamed.contains(t);
  }

  // What the op may stream: first what a use before or behind it streams, as that is on the host anyhow, then results, then
  // the largest.
  std::vector<TensorId> InOrderOfStreaming(OpId op) const {
    std::vector<std::tuple<int, Bytes, TensorId>> ranked;
    for (const auto& [t, access, last] : tables_.Touches(op)) {
      if (!MayStreamAt(op, t)) continue;
      const bool there = Streams(tables_.uses.Previous(t, op), t) || Streams(tables_.uses.Next(t, op), t);
      ranked.emplace_back(there ? 0 : access == Access::kWrite ? 1 : 2, -tables_.bytes[Index(t)], t);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<TensorId> order;
    for (const auto& [rank, bytes, t] : ranked) order.push_back(t);
    return order;
  }

  // Lets the op stream what it must to fit, in the largest parts that do; one that streams already, all that it may, and then
  // in smaller parts.
  bool Divide(OpId op) {
    const std::vector<TensorId> order = InOrderOfStreaming(op);
    if (divide_ == MayDivide::kNothing || order.empty()) return false;
    const auto known = tilings_.find(op);
    Tiling tiling;
    if (known == tilings_.end()) {
      tiling = WhatMust(op, order);
    } else {
      tiling = known->second;
      const bool more = tiling.streamed.size() < order.size();
      if (!more && tiling.samples == 1 && !Refine(op, tiling)) return false;
      tiling.streamed.insert(order.begin(), order.end());
      tiling.samples = LargestPart(op, tiling, more ? 2 * tiling.samples : tiling.samples);
    }
    while (WorkingSet(op, tiling) > target_) {
      if (!Refine(op, tiling)) return false;
    }
    tilings_[op] = tiling;
    for (const TensorId t : tiling.streamed) StreamWhereWritten(op, t);
    return true;
  }

  // Cuts a sample into twice as many tiles: first of rows, then of output and of input channels, which are read for each
  // other.
  bool Refine(OpId op, Tiling& tiling) const {
    const TileCounts most = MostRanges(LaunchOf(step_.ops[Index(op)]));
    TileCounts& tiles = tiling.tiles;
    const std::int64_t all = step_.ops[Index(op)].shape.in.n * tiles.in_channels * tiles.out_channels * tiles.rows;
    if (2 * all > kMostTilesByNeed || WithoutTiles(op, tiling) > target_) return false;
    for (const auto& [count, limit] :
         {std::pair{&tiles.rows, most.rows}, std::pair{&tiles.out_channels, most.out_channels},
          std::pair{&tiles.in_channels, most.in_channels}}) {
      if (*count * 2 > limit) continue;
      *count *= 2;
      return true;
    }
    return false;
  }

  // What the op takes on the device however small its tiles are.
  Bytes WithoutTiles(OpId op, const Tiling& tiling) const {
    Bytes bytes = tables_.WorkingSet(op) - tables_.launches[tables_.launch[Index(op)]].workspace;
    for (const TensorId t : tiling.streamed) bytes -= tables_.bytes[Index(t)];
    return bytes;
  }

  Tiling Finest(OpId op) const {
    Tiling tiling{1, AllOf(op)};
    while (Refine(op, tiling)) {
    }
    return tiling;
  }

  // The first few of `order` that do, or all of them.
  Tiling WhatMust(OpId op, const std::vector<TensorId>& order) const {
    const std::int64_t batch = step_.ops[Index(op)].shape.in.n;
    Tiling tiling;
    for (const TensorId t : order) {
      tiling.streamed.insert(t);
      tiling.samples = LargestPart(op, tiling, batch);
      if (WorkingSet(op, tiling) <= target_ && tiling.samples * kMostParts >= batch) break;
    }
    return tiling;
  }

  // The other forward ops that write a tensor stream it, too.
  void StreamWhereWritten(OpId op, TensorId t) {
    const std::vector<OpId>& writers = tables_.uses.writers[Index(t)];
    if (!Contains(writers, op)) return;
    for (const OpId writer : writers) {
      Tiling& other = tilings_[writer];
      if (other.samples == 0) other.samples = tilings_[op].samples;
      other.streamed.insert(t);
    }
  }

  std::set<TensorId> AllOf(OpId op) const {
    const std::vector<TensorId> all = InOrderOfStreaming(op);
    return {all.begin(), all.end()};
  }

  // The largest power of two below `most`, at least 1, with which the op fits; 1 if none does.
  std::int64_t LargestPart(OpId op, Tiling tiling, std::int64_t most) const {
    tiling.samples = 1;
    while (tiling.samples * 2 < most) tiling.samples *= 2;
    while (tiling.samples > 1 && WorkingSet(op, tiling) > target_) tiling.samples /= 2;
    return tiling.samples;
  }

  Bytes WorkingSet(OpId op, const Tiling& tiling) const {
    const std::vector<OpDecision> one{Decision(op, tiling)};
    return tables_.WorkingSets(one)[Index(op)];
  }

  OpDecision Decision(OpId op, const Tiling& tiling) const {
    const Launch whole = LaunchOf(step_.ops[Index(op)]);
    const std::int64_t batch = whole.shape.in.n;
    OpDecision decision{.op = op};
    decision.streamed.assign(tiling.streamed.begin(), tiling.streamed.end());
    std::vector<std::int64_t> samples;
    for (std::int64_t done = 0; done < batch; done += tiling.samples) {
      samples.push_back(std::min(tiling.samples, batch - done));
    }
    if (!tiling.tiles.Any()) {
      decision.parts = PartsAsGranted(problem_, whole, samples);
      return decision;
    }
    for (const std::int64_t size : samples) decision.parts.push_back({.samples = size});
    decision.tiles = tiling.tiles;
    GrantTiles(problem_, step_.ops[Index(op)], decision);
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
    Bytes needs = divided ? WorkingSet(op, Finest(op)) : tables_.WorkingSets(plan.ops)[Index(op)];
    if (needs <= target_) needs = LowerItems(plan, tables_, 1).list_peak;
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
  Bytes target_;
  std::string fragmented_;  // what a layout said last
  Planned planned_;
  std::set<std::pair<TensorId, OpId>> swapped_;  // gaps, by the use that ends them
  std::map<OpId, Tiling> tilings_;               // of the ops that stream
};

}  // namespace

std::vector<OpPart> PartsAsGranted(const Problem& problem, const Launch& whole,
                                   const std::vector<std::int64_t>& samples) {
  const Bytes usual = problem.costs->Kernel(whole, problem.device).workspace;
  std::vector<OpPart> parts;
  for (const std::int64_t size : samples) {
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
                       MayDivide divide) {
  return Fitter(problem, facts, strategy, divide).Fit();
}

}  // namespace spillway
