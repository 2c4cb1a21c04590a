// chen-sqrt and chen-greedy: sublinear memory (Chen, Xu, Zhang and Guestrin, Training Deep Nets with Sublinear Memory
// Cost, arXiv 1604.06174). Some maps stay, as checkpoints; between two of them everything is dropped after forward, and
// computed again, once and all of it, when backward comes to the segment. Nothing is copied, and nothing is known of time.
//
// Checkpoints are chosen among the maps that every path from the input to the loss goes through: no segment is entered
// beside its checkpoint then. chen-sqrt keeps every k-th of n of them, k = floor(sqrt(n)). chen-greedy closes a segment
// when it has more than B bytes, and searches for the B that leads to the least memory as the published code does
// (mxnet-memonger, search_plan): from 0 three rounds of sqrt(kept x largest segment / 2), then a grid of six. What the
// memory comes to is asked of lowering.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/planning/problem.h"
#include "sim/program/lower/lower.h"
#include "sim/strategies/shared/forward_values.h"

namespace spillway {
namespace {

// `keep`: by value.
Plan PlanWith(const Problem& problem, const char* strategy, const std::vector<ForwardValue>& values,
              const std::vector<bool>& keep) {
  Plan plan = StartPlan(problem, strategy, "arena");
  for (std::size_t v = 0; v < values.size(); ++v) {
    const ForwardValue& value = values[v];
    if (keep[v] || value.IsInput() || !value.IsWantedAgain()) continue;
    if (!problem.step->MayRecompute(value.tensor, value.gap.before)) continue;
    plan.gaps.push_back({.tensor = value.tensor,
                         .after = value.gap.after,
                         .before = value.gap.before,
                         .action = GapAction::kRecompute,
                         .reason = "between two checkpoints"});
  }
  return plan;
}

struct Segments {
  std::vector<bool> keep;  // by value
  Bytes kept = 0;          // bytes of the checkpoints
  Bytes largest = 0;       // bytes of the largest segment that a checkpoint closes
  std::int64_t checkpoints = 0;
};

Segments SegmentsAbove(Bytes threshold, const TrainingStep& step, const std::vector<ForwardValue>& values) {
  Segments segments{.keep = std::vector<bool>(values.size(), false)};
  Bytes open = 0;
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (values[v].IsInput()) continue;
    const Bytes bytes = step.tensors[Index(values[v].tensor)].bytes;
    open += bytes;
    if (!values[v].candidate || open <= threshold) continue;
    segments.keep[v] = true;
    segments.kept += bytes;
    segments.largest = std::max(segments.largest, open);
    ++segments.checkpoints;
    open = 0;
  }
  return segments;
}

// The published search over thresholds, by the memory that each comes to.
class GreedySearch {
 public:
  GreedySearch(const Problem& problem, const std::vector<ForwardValue>& values)
      : problem_(problem), values_(values), tables_(*problem.step, *problem.costs, problem.device, problem.capacity) {}

  Plan Best() {
    Bytes threshold = 0;
    std::optional<Bytes> least_segment;
    for (int round = 0; round < 3; ++round) {
      const Segments found = Try(threshold);
      least_segment = std::min(least_segment.value_or(found.largest), found.largest);
      threshold =
          static_cast<Bytes>(std::sqrt(static_cast<double>(found.kept) * static_cast<double>(found.largest) / 2));
    }
    const Bytes most = static_cast<Bytes>(static_cast<double>(threshold) * std::sqrt(2));
    constexpr Bytes kTrials = 6;
    const Bytes step = (most - *least_segment) / kTrials;
    for (Bytes k = 1; step > 0 && k <= kTrials; ++k) Try(*least_segment + k * step);
    best_.evaluations = tried_;
    return best_;
  }

 private:
  Segments Try(Bytes threshold) {
    Segments segments = SegmentsAbove(threshold, *problem_.step, values_);
    Plan plan = PlanWith(problem_, "chen-greedy", values_, segments.keep);
    const Bytes peak = Lower(plan, tables_, 0).list_peak;
    if (tried_++ == 0 || peak < least_) {
      least_ = peak;
      best_ = std::move(plan);
      best_.search = fmt::format("{} checkpoints, segments above {}", segments.checkpoints, FormatBytes(threshold));
    }
    return segments;
  }

  const Problem& problem_;
  const std::vector<ForwardValue>& values_;
  StepTables tables_;
  Plan best_;
  Bytes least_ = 0;
  std::int64_t tried_ = 0;
};

// Every k-th of n candidates.
Plan EveryRoot(const Problem& problem, const char* strategy, const std::vector<ForwardValue>& values) {
  const auto candidates =
      std::count_if(values.begin(), values.end(), [](const ForwardValue& value) { return value.candidate; });
  const auto every = static_cast<std::int64_t>(std::sqrt(static_cast<double>(candidates)));
  std::vector<bool> keep(values.size(), false);
  std::int64_t seen = 0;
  for (std::size_t v = 0; v < values.size(); ++v) keep[v] = values[v].candidate && ++seen % every == 0;
  Plan plan = PlanWith(problem, strategy, values, keep);
  plan.search = fmt::format("a checkpoint every {} of {} candidates", every, candidates);
  return plan;
}

// Addresses included, within the problem's capacity; where neither fits, of what is live.
bool NeedsLess(const Plan& a, const Plan& b, const Oracle& oracle) {
  constexpr EvaluateOptions kPeakAlone{.verify = false, .bounds = false, .timeline = false};
  const Evaluation of_a = oracle.Evaluate(a, kPeakAlone), of_b = oracle.Evaluate(b, kPeakAlone);
  if (of_a.feasible != of_b.feasible) return of_a.feasible;
  if (of_a.feasible) return of_a.peak_bytes < of_b.peak_bytes;
  const StepTables& tables = oracle.facts().tables();
  return Lower(a, tables, 0).list_peak < Lower(b, tables, 0).list_peak;
}

}  // namespace

Planned PlanChenSqrt(const Problem& problem) {
  Planned planned;
  planned.feasible = true;
  planned.plan = EveryRoot(problem, "chen-sqrt", ForwardValuesOf(*problem.step));
  return planned;
}

Planned PlanChenGreedy(const Problem& problem) {
  const std::vector<ForwardValue> values = ForwardValuesOf(*problem.step);
  Planned planned;
  planned.feasible = true;
  planned.plan = GreedySearch(problem, values).Best();
  Plan root = EveryRoot(problem, "chen-greedy", values);
  root.evaluations = ++planned.plan.evaluations;
  if (NeedsLess(root, planned.plan, OracleOf(problem))) planned.plan = std::move(root);
  return planned;
}

}  // namespace spillway
