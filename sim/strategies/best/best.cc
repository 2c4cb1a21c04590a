// best: what no published planner decides together. It is never behind another strategy of the table on the same runtime
// that runs the whole batch at once (all but accumulate), since it begins with all their plans; goes on with searches of its own, over classes of maps and over how ops run; and
// judges everything by the full path.
//
// The classes of maps are searched at the capacity that there is and on a ladder of smaller ones that are the same
// whatever the capacity (pooch/ladder.h), since the timeline model knows no addresses.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/bounds/cut_bound.h"
#include "sim/margin.h"
#include "sim/memo.h"
#include "sim/strategies/best/local_search.h"
#include "sim/strategies/classify.h"
#include "sim/strategies/pooch/ladder.h"

namespace spillway {
namespace {

constexpr const char* kName = "best";
constexpr const char* kBySearch = "found by local search";
constexpr int kRungBits = 5;
constexpr int kMostRungs = 4;
constexpr int kCutsForStart = 2;   // instants looked at
constexpr int kCutsForClaim = 24;  // the same, for the bound that is claimed
constexpr std::int64_t kSimulations = 6000;
constexpr std::int64_t kJudged = 400;
// Workspaces that ops are granted up to, where that makes them faster.
constexpr Bytes kGrants[] = {64 * kMiB, 256 * kMiB, kGiB, 4 * kGiB};

Allowed AllowedBy(const StrategyParameters& told) {
  return {.swap = told.Flag("swap", true),
          .recompute = told.Flag("recompute", true),
          .algorithms = told.Flag("algorithms", true),
          .parts = told.Flag("parts", true)};
}

Scope ScopeFor(const Allowed& allowed, const Runtime& runtime) {
  Scope scope{.copy_streams = runtime.copy_streams, .copy_chunk = runtime.copy_chunk};
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
        scope_(ScopeFor(contest_.allowed(), problem.runtime)),
        simulations_(std::min(problem.parameters.Number("simulations", kSimulations), problem.simulation_cap)) {}

  Planned Run() {
    AskEveryStrategy();
    if (!Done()) SearchClasses();
    if (!Done()) ImproveWinner();
    return Result();
  }

 private:
  bool Done() { return contest_.decided() && contest_.time() <= oracle_.BoundsIn(scope_).Best(); }
  void AskEveryStrategy();
  void SearchClasses();
  void SearchView(ClassView view);
  void ImproveWinner();
  std::vector<OpDecision> OpsWithin(Bytes grant) const;
  std::vector<std::vector<OpDecision>> WaysToRun() const;
  CutBound CutOf(const ClassView& view) const;
  void Claim(Planned& planned) const;
  Planned Result();

  const Problem& problem_;  // on the runtime that is planned for
  PlanMemo& memo_;
  Oracle oracle_;
  Contest contest_;
  const Scope scope_;
  const std::int64_t simulations_;
};

void Planner::AskEveryStrategy() {
  Problem plain = problem_;
  plain.parameters = {};
  plain.in_parts = nullptr;  // the whole batch at once
  for (const Strategy& strategy : Strategies()) {
    if (std::strcmp(strategy.name, kName) == 0) continue;
    const Planned planned = PlanWithMargin(strategy, plain, oracle_, memo_);
    if (planned.feasible) contest_.Enter(planned.plan, fmt::format("by {}", strategy.name));
  }
}

// For every op that is faster within the grant, and within what its operands leave of the memory, than usual.
std::vector<OpDecision> Planner::OpsWithin(Bytes grant) const {
  const StepTables& tables = oracle_.facts().tables();
  std::vector<OpDecision> ops;
  for (OpId op = 0; op < static_cast<OpId>(tables.launch.size()); ++op) {
    const std::uint32_t row = tables.launch[Index(op)];
    const Launch& usual = tables.launches[row];
    const Bytes room = problem_.capacity - tables.WorkingSet(op) + usual.workspace;
    Nanos least = problem_.costs->Kernel(usual, tables.device).time;
    OpDecision decision{.op = op};
    bool faster = false;
    for (const MenuEntry& entry : oracle_.facts().menus()[row]) {
      if (entry.workspace > std::min(grant, room) || entry.cost.time >= least) continue;
      least = entry.cost.time;
      decision.algorithm = entry.algorithm;
      decision.workspace = entry.workspace;
      faster = true;
    }
    if (faster) ops.push_back(decision);
  }
  return ops;
}

std::vector<std::vector<OpDecision>> Planner::WaysToRun() const {
  std::vector<std::vector<OpDecision>> ways(1);
  if (!contest_.allowed().algorithms) return ways;
  for (const Bytes grant : kGrants) {
    std::vector<OpDecision> ops = OpsWithin(grant);
    if (ops != ways.back()) ways.push_back(std::move(ops));
  }
  return ways;
}

// With every op as the view has it.
CutBound Planner::CutOf(const ClassView& view) const {
  const StepTables& tables = oracle_.facts().tables();
  const Scope usual{.copy_streams = scope_.copy_streams, .copy_chunk = scope_.copy_chunk};
  BoundProblem bound = BoundProblemOf(tables, *problem_.costs, {}, {}, view.capacity, usual);
  for (const OpDecision& decision : view.ops) {
    Launch launch = tables.launches[tables.launch[Index(decision.op)]];
    launch.algorithm = decision.algorithm;
    launch.workspace = decision.workspace;
    bound.ways[Index(decision.op)] = {{problem_.costs->Kernel(launch, tables.device).time, decision.workspace}};
  }
  return BestCut(bound, kCutsForStart);
}

// From what wins so far, from as much kept as fits, and from what the bound's best cut keeps.
void Planner::SearchView(ClassView view) {
  const CutBound cut = CutOf(view);
  ClassPlans plans(problem_, std::move(view));
  std::vector<Classes> starts{Classes(plans.profile().maps.size(), MapClass::kKeep), plans.ClassesOf(cut)};
  if (contest_.decided()) starts.push_back(plans.ClassesOf(contest_.plan()));
  for (Classes& classes : starts) {
    if (!plans.MakeFit(contest_.allowed(), classes)) continue;
    const Simulation found = ImproveInModel(plans, contest_.allowed(), simulations_, classes);
    if (found.feasible) contest_.Enter(plans.PlanOf(classes, kBySearch), kBySearch);
  }
}

// Single decisions of what wins so far, on the full path.
void Planner::ImproveWinner() {
  const Plan& winner = contest_.plan();
  const bool whole = std::all_of(winner.ops.begin(), winner.ops.end(), [](const auto& op) { return op.parts.empty(); });
  if (!contest_.decided() || !whole) return;
  const bool keep_passed =
      std::all_of(winner.gaps.begin(), winner.gaps.end(), [](const GapDecision& gap) { return gap.keep_passed; });
  ClassPlans plans(problem_, {winner.ops, winner.capacity, keep_passed});
  Classes classes = plans.ClassesOf(winner);
  const std::int64_t most = std::min(problem_.parameters.Number("plans", kJudged), problem_.simulation_cap);
  if (plans.MakeFit(contest_.allowed(), classes)) ImproveOnFullPath(plans, kBySearch, most, classes, contest_);
  ImproveOps(most, contest_);
}

void Planner::SearchClasses() {
  for (const std::vector<OpDecision>& ops : WaysToRun()) {
    for (const bool keep_passed : {true, false}) SearchView({ops, problem_.capacity, keep_passed});
    Bytes rung = RungBelow(problem_.capacity - 1, kRungBits);
    for (int k = 0; k < kMostRungs; ++k, rung = RungBelow(rung - 1, kRungBits)) SearchView({ops, rung, true});
  }
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
  planned.plan.strategy = kName + problem_.parameters.Label();
  planned.plan.capacity = problem_.capacity;
  planned.plan.evaluations = contest_.judged();
  planned.plan.search = fmt::format("{} plans judged, the fastest {}", contest_.judged(), contest_.by());
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
