#include "sim/planning/random_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "model/util/random.h"
#include "sim/evaluate/oracle.h"
#include "sim/planning/problem.h"

namespace spillway {

namespace {

constexpr std::array<double, 3> kMoved{0.25, 0.6, 1};
constexpr std::array<double, 4> kRecomputed{0, 1.0 / 3, 2.0 / 3, 1};
constexpr std::array<const char*, 3> kEarlinessNames{"late", "near", "early"};
constexpr OpId kNearOps = 4;
constexpr double kStays = 0.2;  // share of what leaves that stays for up to kNearOps ops before

enum class Choice : std::uint8_t { kKeep, kSwap, kRecompute };

// Draws, and moves more where that does not fit.
class Drawer {
 public:
  Drawer(const Problem& problem, const DrawPlansOptions& options)
      : problem_(problem), oracle_(OracleOf(problem)), options_(options), random_(options.seed) {
    const TrainingStep& step = *problem.step;
    const Uses uses(step);
    for (const TensorId map : step.maps) {
      const MapGap gap = ForwardBackwardGap(step, uses, map);
      if (gap.before == kNoOp) continue;
      const bool input = step.tensors[static_cast<std::size_t>(map)].Traits().on_host;
      if (input && gap.after == kNoOp) continue;  // used by backward alone: brought in once in any case
      maps_.push_back({map, gap, input || !step.MayRecompute(map, gap.before)});
    }
  }

  std::vector<DrawnPlan> Draw() {
    std::vector<Stratum> strata = Strata();
    Shuffle(strata, random_);
    std::vector<DrawnPlan> drawn;
    const int tries = 2 * options_.plans;
    for (int k = 0; k < tries && static_cast<int>(drawn.size()) < options_.plans; ++k) {
      const Stratum& stratum = strata[static_cast<std::size_t>(k) % strata.size()];
      std::optional<Plan> plan = DrawOne(stratum);
      if (!plan) continue;
      const bool known = std::any_of(drawn.begin(), drawn.end(),
                                     [&](const DrawnPlan& other) { return other.plan.gaps == plan->gaps; });
      if (!known) drawn.push_back({std::move(*plan), stratum});
    }
    return drawn;
  }

 private:
  struct Map {
    TensorId tensor;
    MapGap gap;
    bool input;  // cannot be recomputed
  };

  std::optional<Plan> DrawOne(const Stratum& stratum) {
    std::vector<Choice> choices;
    for (const Map& map : maps_) {
      choices.push_back(random_.Chance(stratum.moved) ? Move(map, stratum.recomputed) : Choice::kKeep);
    }
    Earliness earliness = stratum.earliness;
    for (int attempt = 0; attempt < options_.attempts; ++attempt) {
      Plan plan = PlanOf(choices, earliness);
      if (Fits(plan)) return plan;
      if (!MoveMore(stratum, choices)) return std::nullopt;
    }
    return std::nullopt;
  }

  Choice Move(const Map& map, double recomputed) {
    return !map.input && random_.Chance(recomputed) ? Choice::kRecompute : Choice::kSwap;
  }

  // An eighth of what is kept, or when nothing is, of what is recomputed: that too may need more memory than swapping.
  bool MoveMore(const Stratum& stratum, std::vector<Choice>& choices) {
    std::vector<std::size_t> kept, recomputed;
    for (std::size_t m = 0; m < maps_.size(); ++m) {
      if (choices[m] == Choice::kKeep) kept.push_back(m);
      if (choices[m] == Choice::kRecompute) recomputed.push_back(m);
    }
    std::vector<std::size_t>& from = kept.empty() ? recomputed : kept;
    if (from.empty()) return false;
    Shuffle(from, random_);
    from.resize((from.size() + 7) / 8);
    for (const std::size_t m : from) choices[m] = kept.empty() ? Choice::kSwap : Move(maps_[m], stratum.recomputed);
    return true;
  }

  Plan PlanOf(const std::vector<Choice>& choices, Earliness earliness) {
    Plan plan;
    plan.strategy = "random";
    plan.network = problem_.step->network;
    plan.batch = problem_.step->batch;
    plan.accumulate = problem_.step->parts;
    plan.machine = problem_.costs->machine().name;
    plan.capacity = problem_.capacity;
    plan.runtime = problem_.runtime;
    for (std::size_t m = 0; m < maps_.size(); ++m) {
      if (choices[m] != Choice::kKeep) plan.gaps.push_back(DecisionOn(maps_[m], choices[m], earliness));
    }
    // Copies that may start at the same moment come in the order in which they are needed.
    std::stable_sort(plan.gaps.begin(), plan.gaps.end(),
                     [](const GapDecision& a, const GapDecision& b) { return a.before < b.before; });
    return plan;
  }

  GapDecision DecisionOn(const Map& map, Choice choice, Earliness earliness) {
    GapDecision decision;
    decision.tensor = map.tensor;
    decision.after = map.gap.after;
    decision.before = map.gap.before;
    decision.reason = "drawn at random";
    OpId first = map.gap.after + 1;  // of backward
    while (problem_.step->IsForward(first)) ++first;
    if (map.gap.after != kNoOp && random_.Chance(kStays)) {
      decision.leaves_after = random_.Between(map.gap.after, std::min(map.gap.after + kNearOps, first - 1));
    }
    if (choice == Choice::kRecompute) {
      decision.action = GapAction::kRecompute;
      return decision;
    }
    decision.out_after = map.gap.after;
    decision.in_at = map.gap.before;
    if (earliness == Earliness::kNear)
      decision.in_at = random_.Between(std::max(first, map.gap.before - kNearOps), map.gap.before);
    if (earliness == Earliness::kEarly) decision.in_at = random_.Between(first, map.gap.before);
    return decision;
  }

  bool Fits(const Plan& plan) const {
    if (!FindMistakes(plan, *problem_.step).empty()) return false;
    return oracle_.Evaluate(plan, {.verify = false, .bounds = false, .timeline = false}).feasible;
  }

  const Problem& problem_;
  const Oracle oracle_;
  const DrawPlansOptions& options_;
  Random random_;
  std::vector<Map> maps_;
};

}  // namespace

std::string Stratum::Text() const {
  return fmt::format("{:.0f} % moved, {:.0f} % of it recomputed, {}", 100 * moved, 100 * recomputed,
                     kEarlinessNames[static_cast<std::size_t>(earliness)]);
}

std::vector<Stratum> Strata() {
  std::vector<Stratum> strata;
  for (const double moved : kMoved) {
    for (const double recomputed : kRecomputed) {
      for (const Earliness earliness : {Earliness::kLate, Earliness::kNear, Earliness::kEarly}) {
        strata.push_back({moved, recomputed, earliness});
      }
    }
  }
  return strata;
}

std::vector<DrawnPlan> DrawPlans(const Problem& problem, const DrawPlansOptions& options) {
  return Drawer(problem, options).Draw();
}

}  // namespace spillway
