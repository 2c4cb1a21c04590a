// best: what no published planner decides together. It is never behind another strategy of the table on the same runtime
// that runs the whole batch at once (all but accumulate, and those that take seconds: Strategy::for_best), since it begins
// with all their plans; goes on with searches of
// its own, over classes of maps and over how ops run; and judges everything by the full path.
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
constexpr int kCutsForStart = 2;  // instants looked at
constexpr int kCutProbes = 6;     // memories
constexpr Bytes kLeastShareOfCut = 4;
constexpr int kCutsForClaim = 24;  // the same, for the bound that is claimed
constexpr std::int64_t kSimulations = 120'000;
constexpr std::int64_t kShareOfRungs = 2;  // of them
constexpr std::int64_t kSettling = 2000;   // from each start
constexpr Nanos kHopeless = 20;            // ways to run that begin more than a twentieth behind others are left alone
constexpr Nanos kAsInModel = 400;          // of the step that the full path may take longer
constexpr std::int64_t kJudged = 400;
constexpr std::int64_t kUsualOps = 500;  // in larger steps both are fewer
// Workspaces that ops are granted up to.
constexpr Bytes kGrants[] = {64 * kMiB, 256 * kMiB, kGiB, 4 * kGiB};

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
        scope_(ScopeFor(contest_.allowed(), problem.runtime)),
        simulations_(FewerWhereLarge(
            std::min(problem.parameters.Number("simulations", kSimulations), 6 * problem.simulation_cap))) {}

  Planned Run() {
    if (robust()) contest_.RememberShortlist();
    AskEveryStrategy();
    if (!Done()) SearchClasses();
    if (!Done()) ImproveWinner();
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
  void SearchClasses();
  bool SearchView(ClassView view, std::int64_t simulations);
  void ImproveWinner();
  std::vector<OpDecision> OpsWithin(Bytes grant) const;
  std::vector<std::vector<OpDecision>> WaysToRun() const;
  BoundProblem BoundOf(const ClassView& view) const;
  Classes ClassesOfCut(ClassPlans& plans) const;
  void Claim(Planned& planned) const;
  Plan Robust(std::string& which) const;
  Planned Result();

  const Problem& problem_;  // on the runtime that is planned for
  PlanMemo& memo_;
  Oracle oracle_;
  Contest contest_;
  const Scope scope_;
  const std::int64_t simulations_;
  Nanos least_settled_ = kNever;  // in the model, before annealing
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

// For every op that is faster within the grant, and within what its operands leave of the memory, than usual, or that
// usually takes more than the grant.
std::vector<OpDecision> Planner::OpsWithin(Bytes grant) const {
  const StepTables& tables = oracle_.facts().tables();
  std::vector<OpDecision> ops;
  for (OpId op = 0; op < static_cast<OpId>(tables.launch.size()); ++op) {
    const std::uint32_t row = tables.launch[Index(op)];
    const Launch& usual = tables.launches[row];
    const Bytes room = problem_.capacity - tables.WorkingSet(op) + usual.workspace;
    const Bytes most = std::min(grant, room);
    Nanos least = usual.workspace <= most ? problem_.costs->Kernel(usual, tables.device).time : kNever;
    OpDecision decision{.op = op};
    bool faster = false;
    for (const MenuEntry& entry : oracle_.facts().menus()[row]) {
      if (entry.workspace > most || entry.cost.time >= least) continue;
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
BoundProblem Planner::BoundOf(const ClassView& view) const {
  const StepTables& tables = oracle_.facts().tables();
  const Scope usual{.copy_streams = scope_.copy_streams, .copy_chunk = scope_.copy_chunk};
  BoundProblem bound = BoundProblemOf(tables, *problem_.costs, {}, {}, view.capacity, usual);
  for (const OpDecision& decision : view.ops) {
    Launch launch = tables.launches[tables.launch[Index(decision.op)]];
    launch.algorithm = decision.algorithm;
    launch.workspace = decision.workspace;
    bound.ways[Index(decision.op)] = {{problem_.costs->Kernel(launch, tables.device).time, decision.workspace}};
  }
  return bound;
}

// What the best cut keeps, of the largest memory where that fits as it is: the instant knows nothing of what must be there
// at others.
Classes Planner::ClassesOfCut(ClassPlans& plans) const {
  BoundProblem bound = BoundOf(plans.view());
  Bytes fits = bound.capacity / kLeastShareOfCut, beyond = bound.capacity;
  Classes best = plans.ClassesOf(BestCut(bound, kCutsForStart));
  if (plans.search().Fits(best)) return best;
  for (int k = 0; k < kCutProbes; ++k) {
    bound.capacity = fits + (beyond - fits) / 2;
    Classes classes = plans.ClassesOf(BestCut(bound, kCutsForStart));
    const bool fitted = plans.search().Fits(classes);
    (fitted ? fits : beyond) = bound.capacity;
    if (fitted) best = std::move(classes);
  }
  return best;
}

// From the best of what wins so far, as much kept as fits, and what the bound's best cut keeps. Whether that is all that the
// view has to say.
bool Planner::SearchView(ClassView view, std::int64_t simulations) {
  ClassPlans plans(problem_, std::move(view));
  std::vector<Classes> starts{Classes(plans.profile().maps.size(), MapClass::kKeep)};
  const bool whole = plans.view().capacity == problem_.capacity;  // all the memory that there is
  starts.push_back(whole ? ClassesOfCut(plans) : plans.ClassesOf(BestCut(BoundOf(plans.view()), kCutsForStart)));
  if (contest_.decided()) starts.push_back(plans.ClassesOf(contest_.plan()));
  Classes best;
  Nanos least = kNever;
  for (Classes& classes : starts) {
    if (!plans.MakeFit(contest_.allowed(), classes)) continue;
    const Simulation found = SettleInModel(plans, contest_.allowed(), kSettling, classes);
    contest_.Enter(plans.PlanOf(classes, kBySearch), kBySearch);  // whatever the model says: it knows no addresses
    if (found.total >= least) continue;
    least = found.total;
    best = std::move(classes);
  }
  if (least == kNever) return false;
  if (whole) least_settled_ = std::min(least_settled_, least);
  if (whole && least > least_settled_ + least_settled_ / kHopeless) return true;
  const Simulation found = ImproveInModel(plans, contest_.allowed(), simulations, best);
  contest_.Enter(plans.PlanOf(best, kBySearch), kBySearch);
  const bool copies = std::find(best.begin(), best.end(), MapClass::kSwap) != best.end();
  return !copies && contest_.decided() && contest_.time() <= found.total + found.total / kAsInModel;
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
  const std::int64_t most =
      FewerWhereLarge(std::min(problem_.parameters.Number("plans", kJudged), problem_.simulation_cap));
  if (plans.MakeFit(contest_.allowed(), classes)) ImproveOnFullPath(plans, kBySearch, most, classes, contest_);
  ImproveMoments(most, contest_);
  ImproveOps(most, contest_);
}

// In less memory too where what was found in all of it copies, or does not run as the model says: the model knows no
// addresses, and only one direction of copies at a time.
void Planner::SearchClasses() {
  const std::vector<std::vector<OpDecision>> all = WaysToRun();
  const std::int64_t share = simulations_ / static_cast<std::int64_t>(all.size());
  for (const std::vector<OpDecision>& ops : all) {
    bool done = SearchView({ops, problem_.capacity, true}, share - share / kShareOfRungs);
    if (!done) SearchView({ops, problem_.capacity, false}, 0);  // what is recomputed in passing freed
    Bytes rung = RungBelow(problem_.capacity - 1, kRungBits);
    for (int k = 0; k < kMostRungs && !done; ++k, rung = RungBelow(rung - 1, kRungBits)) {
      done = SearchView({ops, rung, true}, share / kShareOfRungs / kMostRungs);
    }
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
