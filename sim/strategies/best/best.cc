// best: what no published planner decides together. It is never behind another strategy of the table on the same runtime
// that runs the whole batch at once (all but accumulate, and those that take seconds: Strategy::for_best), since it begins
// with all their plans; goes on with a search of its own over all gaps of all tensors and over how ops run; and judges
// everything by the full path.
//
// The search is made for capacities that are the same whatever the capacity (pooch/ladder.h), each from the same start, and
// so is what is improved afterwards: of two capacities the larger one has nearly all that the smaller one has.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/bounds/cut_bound.h"
#include "sim/margin.h"
#include "sim/memo.h"
#include "sim/strategies/best/full_path.h"
#include "sim/strategies/pooch/ladder.h"

namespace spillway {
namespace {

constexpr const char* kName = "best";
constexpr const char* kBySearch = "found by local search";
constexpr int kRungBits = 7;
constexpr int kSearches = 3;                   // of rungs, from the highest one down
constexpr int kCutsForClaim = 24;              // instants looked at for the bound that is claimed
constexpr Bytes kSmallShare = 4096;            // of the memory: smaller tensors stay
constexpr std::int64_t kJudgements = 180'000;  // of the model, by all searches
constexpr std::int64_t kSettling = 3000;       // around what each has found, at most
constexpr std::int64_t kJudged = 60;           // plans, by the full path, around the best of them
constexpr std::int64_t kUsualOps = 500;        // in larger steps all are fewer

Allowed AllowedBy(const StrategyParameters& told) {
  return {.swap = told.Flag("swap", true),
          .recompute = told.Flag("recompute", true),
          .algorithms = told.Flag("algorithms", true),
          .parts = told.Flag("parts", true)};
}

Scope ScopeFor(const Allowed& allowed, const Runtime& runtime) {
  Scope scope{.copy_streams = allowed.swap ? runtime.copy_streams : 0, .copy_chunk = runtime.copy_chunk};
  if (!allowed.algorithms) return scope;
  scope.algorithms = AlgorithmScope::kAny;
  scope.workspace = kMostWorkspace;
  return scope;
}

class Planner {
 public:
  Planner(const Problem& problem, PlanMemo& memo)
      : problem_(problem),
        memo_(memo),
        oracle_(problem),
        contest_(oracle_, AllowedBy(problem.parameters)),
        found_(oracle_, contest_.allowed()),
        scope_(ScopeFor(contest_.allowed(), problem.runtime)),
        tables_(oracle_.facts(), problem.runtime.backward_units, Rung(kSearches - 1), Rung(0) / kSmallShare),
        open_(tables_, contest_.allowed()),
        judgements_(FewerWhereLarge(
            std::min(problem.parameters.Number("simulations", kJudgements), 9 * problem.simulation_cap))) {}

  Planned Run() {
    if (robust()) contest_.RememberShortlist();
    AskEveryStrategy();
    if (!Done()) SearchRungs();
    if (!Done()) ImproveFound();
    return Result();
  }

 private:
  bool robust() const { return problem_.parameters.Flag("robust", false); }
  // Nothing is faster, and nothing else wanted.
  bool Done() { return !robust() && contest_.decided() && contest_.time() <= oracle_.BoundsIn(scope_).Best(); }
  // Each takes time in proportion to the step.
  std::int64_t FewerWhereLarge(std::int64_t count) const {
    const auto ops = static_cast<std::int64_t>(problem_.step->ops.size());
    return ops <= kUsualOps ? count : std::max<std::int64_t>(1, count * kUsualOps / ops);
  }
  void AskEveryStrategy();
  void SearchRungs();
  bool AddressesMatter() const;
  Bytes Rung(int k) const;
  void ImproveFound();
  void Claim(Planned& planned) const;
  Plan Robust(std::string& which) const;
  Planned Result();

  const Problem& problem_;  // on the runtime that is planned for
  PlanMemo& memo_;
  Oracle oracle_;
  Contest contest_, found_;  // of all plans; of those that were found by search
  const Scope scope_;
  const GapTables tables_;
  const OpenChoices open_;
  const std::int64_t judgements_;
  GapChoices best_found_;
  Bytes best_rung_ = 0;
};

void Planner::AskEveryStrategy() {
  Problem plain = problem_;
  plain.parameters = {};
  plain.in_parts = nullptr;  // the whole batch at once
  for (const Strategy& strategy : Strategies()) {
    if (std::strcmp(strategy.name, kName) == 0 || !strategy.for_best) continue;
    const Planned planned = PlanWithMargin(strategy, plain, oracle_, memo_);
    if (planned.feasible) contest_.Enter(planned.plan, fmt::format("by {}", strategy.name));
  }
}

bool Planner::AddressesMatter() const {
  return problem_.runtime.memory == MemoryModel::kArena || problem_.runtime.pool == PoolKind::kAddresses;
}

// Addresses take some bytes more than are live, depending on the plan: in arenas it is made for less memory, too.
Bytes Planner::Rung(int k) const {
  Bytes rung = RungBelow(problem_.capacity, kRungBits);
  for (; AddressesMatter() && k > 0; --k) rung = RungBelow(rung - 1, kRungBits);
  return rung;
}

void Planner::SearchRungs() {
  for (int k = 0; k < kSearches && !Done(); ++k) {
    GapModel model(tables_, problem_.runtime, Rung(k));
    const AnnealingOptions options{.judgements = judgements_ / kSearches, .seed = static_cast<std::uint64_t>(k)};
    Annealed found = Anneal(model, open_, AllKept(tables_), options);
    if (!found.found) continue;
    Settle(model, open_, kSettling, found);
    const Plan plan = PlanOf(problem_, model, found.choices, kBySearch);
    contest_.Enter(plan, kBySearch);
    if (found_.Enter(plan, kBySearch)) {
      best_found_ = std::move(found.choices);
      best_rung_ = Rung(k);
    }
  }
}

// Single decisions of the best that was found, on the full path.
void Planner::ImproveFound() {
  if (!found_.decided()) return;
  const std::int64_t most =
      FewerWhereLarge(std::min(problem_.parameters.Number("plans", kJudged), problem_.simulation_cap));
  GapModel model(tables_, problem_.runtime, best_rung_);
  ImproveChoices(problem_, model, kBySearch, most, best_found_, found_);
  ImproveMoments(most, found_);
  contest_.Enter(found_.plan(), kBySearch);
}

// Of all plans in the scope, by more instants than the general bounds look at.
void Planner::Claim(Planned& planned) const {
  const StepFacts& facts = oracle_.facts();
  static const LaunchMenus kNone;
  const CutBound cut =
      BestCut(BoundProblemOf(facts.tables(), facts.costs(), scope_.LeavesNoChoice() ? kNone : facts.menus(), {},
                             problem_.capacity, scope_),
              kCutsForClaim);
  if (cut.op == kNoOp) return;
  planned.bound = ClaimedBound{
      .time = cut.time, .scope = scope_, .how = "instant before " + problem_.step->ops[Index(cut.op)].name};
}

// `which` becomes how it compares with the fastest by the model.
Plan Planner::Robust(std::string& which) const {
  std::vector<RankedPlan> close = contest_.shortlist()->Close();
  const RobustChoice choice = ChooseRobust(close, oracle_, problem_);
  const auto percent = [](Nanos now, Nanos then) {
    return 100.0 * static_cast<double>(now - then) / static_cast<double>(then);
  };
  which = fmt::format(
      "of {} close ones the least 90th percentile {}: {:+.2f} % beside the fastest, in the median {:+.2f} %",
      close.size(), close[choice.index].by, percent(choice.p90, choice.fastest_p90),
      percent(choice.median, choice.fastest_median));
  return std::move(close[choice.index].plan);
}

Planned Planner::Result() {
  Planned planned;
  Claim(planned);
  planned.scope = scope_;
  planned.scope->parts = contest_.parts();
  planned.feasible = contest_.decided();
  if (!planned.feasible) {
    planned.reason = contest_.last_reason().empty() ? "out_of_memory: no plan is allowed" : contest_.last_reason();
    return planned;
  }
  planned.plan = contest_.plan();
  std::string which = fmt::format("the fastest {}", contest_.by());
  if (robust()) planned.plan = Robust(which);
  planned.plan.strategy = kName + problem_.parameters.Label();
  planned.plan.capacity = problem_.capacity;
  planned.plan.evaluations = contest_.judged();
  planned.plan.search = fmt::format("{} plans judged, {}", contest_.judged(), which);
  return planned;
}

}  // namespace

Planned PlanBest(const Problem& problem) {
  Problem on_runtime = problem;
  if (!problem.use_runtime) on_runtime.runtime = RuntimeByName("arena");
  on_runtime.use_runtime = true;
  PlanMemo own;
  return Planner(on_runtime, problem.plans == nullptr ? own : *problem.plans).Run();
}

}  // namespace spillway
