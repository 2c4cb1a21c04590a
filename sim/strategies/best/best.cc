// best: what no published planner decides together. It is never behind another strategy of the table on the same runtime
// that runs the whole batch at once (all but accumulate, and some that take seconds: Strategy::for_best), since it begins
// with all their plans; goes on with a search of its own over all gaps of all tensors and over how ops run, whole first, and
// in parts where that is not close to the bound (search_space.h); and judges everything by the full path.
//
// The search is made for capacities that are the same whatever the capacity (pooch/ladder.h): what lies between two rungs
// has the same plans. More memory is not proved to be never slower; README tells how often it was.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <utility>

#include "sim/bounds/cut_bound.h"
#include "sim/margin.h"
#include "sim/memo.h"
#include "sim/strategies/best/full_path.h"
#include "sim/strategies/best/rung_searches.h"
#include "sim/strategies/best/search_space.h"
#include "sim/strategies/pooch/ladder.h"

namespace spillway {
namespace {

constexpr const char* kName = "best";
constexpr const char* kBySearch = "found by local search";
constexpr int kRungBits = 7;
constexpr int kCutsForClaim = 24, kCutsForStart = 12;  // instants looked at: for the bound that is claimed, for a start
constexpr Bytes kSmallShare = 4096;                    // of the memory: smaller tensors stay
constexpr std::int64_t kJudgements = 200'000;       // of the model, over whole ops, and as many over each other space
constexpr std::int64_t kJudgementsOfChoice = 1200;  // for each gap and op that it has a choice of, at most
constexpr std::int64_t kJudged = 60;                // plans, by the full path, around the best of them
constexpr std::int64_t kUsualOps = 500;             // in larger steps all are fewer
constexpr double kClose = 1.03;                     // times the bound

class Planner {
 public:
  Planner(const Problem& problem, PlanMemo& memo)
      : problem_(problem),
        memo_(memo),
        oracle_(problem),
        contest_(oracle_, AllowedBy(problem.parameters)),
        found_(oracle_, contest_.allowed()),
        scope_(ScopeFor(contest_.allowed(), problem.runtime)),
        whole_(SpaceOf({.algorithms = contest_.allowed().algorithms, .divided = false, .groups = {}})),
        judgements_(FewerWhereLarge(Capped(problem.parameters.Number("simulations", UsualJudgements())))) {}

  Planned Run() {
    if (robust()) contest_.RememberShortlist();
    Ask(ForBest::kYes);
    if (!Done()) SearchRungs(whole_, false);
    if (candidates_.empty() && !Done()) SearchRungs(whole_, true);
    if (!Done()) ImproveFound();
    if (!Done() && !IsClose() && MayUseParts()) SearchParts();
    if (!Done()) ImproveFound();
    if (!contest_.decided()) contest_.Enter(Leanest(whole_), kBySearch);  // says why nothing runs
    return Result();
  }

 private:
  bool MayUseParts() const {
    const Allowed& allowed = contest_.allowed();
    return allowed.swap && allowed.algorithms && allowed.parts && !problem_.step->recorded();
  }
  bool robust() const { return problem_.parameters.Flag("robust", false); }
  // Nothing is faster, and nothing else wanted.
  bool Done() { return !robust() && contest_.decided() && contest_.time() <= oracle_.BoundsIn(scope_).Best(); }
  std::int64_t UsualJudgements() const {
    return std::min(kJudgements,
                    kJudgementsOfChoice * static_cast<std::int64_t>(whole_.open.gaps.size() + whole_.open.ops.size()));
  }
  // A smaller cap than the usual one is one for everything.
  std::int64_t Capped(std::int64_t count) const {
    const std::int64_t usual = Problem().simulation_cap;
    return std::max<std::int64_t>(1, count * std::min(problem_.simulation_cap, usual) / usual);
  }
  // What was found is about as fast as can be.
  bool IsClose() const {
    return found_.decided() &&
           static_cast<double>(found_.time()) <= kClose * static_cast<double>(oracle_.BoundsIn(scope_).Best());
  }
  // Each takes time in proportion to the step.
  std::int64_t FewerWhereLarge(std::int64_t count) const {
    const auto ops = static_cast<std::int64_t>(problem_.step->ops.size());
    return ops <= kUsualOps ? count : std::max<std::int64_t>(1, count * kUsualOps / ops);
  }
  void Ask(ForBest which);
  CutBound CutFor(Bytes capacity, int instants) const;
  SearchSpace SpaceOf(const WaysLookedAt& looked_at) const;
  GapChoices StartOf(const SearchSpace& space, const RungSearch& search) const;
  void SearchRungs(const SearchSpace& space, bool insist);
  void GoOnAround(const SearchSpace& space, int searched, int rungs, const GapChoices& choices, std::uint64_t seed);
  bool EnterFound(const SearchSpace& space, GapModel& model, const Annealed& found);
  void SearchParts();
  bool AddressesMatter() const;
  Bytes Rung(int k) const;
  void ImproveFound();
  Plan Leanest(const SearchSpace& space) const;
  void Claim(Planned& planned) const;
  Plan Robust(std::string& which) const;
  Planned Result();

  const Problem& problem_;  // on the runtime that is planned for
  PlanMemo& memo_;
  Oracle oracle_;
  Contest contest_, found_;  // of all plans; of those that were found by search
  const Scope scope_;
  const SearchSpace whole_;
  std::deque<SearchSpace> in_parts_;
  const std::int64_t judgements_;
  std::string reason_in_parts_;  // why what streams does not run either
  struct Candidate {
    const SearchSpace* space = nullptr;
    GapChoices choices;
    Bytes rung = 0;
  };
  // By search: the fastest on the full path; where none runs there, all of them, in the order in which they were found.
  std::vector<Candidate> candidates_;
};

void Planner::Ask(ForBest which) {
  Problem plain = problem_;
  plain.parameters = {};
  plain.in_parts = nullptr;  // the whole batch at once
  for (const Strategy& strategy : Strategies()) {
    if (std::strcmp(strategy.name, kName) == 0 || strategy.for_best != which) continue;
    const Planned planned = PlanWithMargin(strategy, plain, oracle_, memo_);
    if (planned.feasible) contest_.Enter(planned.plan, fmt::format("by {}", strategy.name));
    const bool said = reason_in_parts_.starts_with("working_set");
    if (which == ForBest::kYes || contest_.decided() || said) continue;
    reason_in_parts_ = planned.feasible ? contest_.last_reason() : planned.reason;
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

CutBound Planner::CutFor(Bytes capacity, int instants) const {
  static const LaunchMenus kNone;
  const StepFacts& facts = oracle_.facts();
  const LaunchMenus& menus = scope_.LeavesNoChoice() ? kNone : facts.menus();
  return BestCut(BoundProblemOf(facts.tables(), facts.costs(), menus, {}, capacity, scope_), instants);
}

SearchSpace Planner::SpaceOf(const WaysLookedAt& looked_at) const {
  return {oracle_.facts(), problem_.runtime, Rung(kLowestRung), Rung(0) / kSmallShare, contest_.allowed(), looked_at};
}

GapChoices Planner::StartOf(const SearchSpace& space, const RungSearch& search) const {
  // The model takes slower ones where there is no room for their workspaces.
  const GapChoices kept = space.AllKeptWith([](const GapTables::Way& way) { return way.time; });
  if (search.from == RungSearch::From::kAllKept) return kept;
  if (search.from == RungSearch::From::kFastest) {
    const bool any = !candidates_.empty() && candidates_.front().space == &space;
    return any ? candidates_.front().choices : kept;
  }
  const CutBound cut = CutFor(Rung(search.rung), kCutsForStart);
  return cut.op == kNoOp ? kept : ChoicesOf(space.tables, cut, kept);
}

void Planner::SearchRungs(const SearchSpace& space, bool insist) {
  const std::vector<Bytes> needs = oracle_.facts().tables().WorkingSets(Leanest(space).ops);
  const Bytes need = *std::max_element(needs.begin(), needs.end());
  int rungs = 0;  // that hold every op
  while (rungs <= kLowestRung && Rung(rungs) >= need) ++rungs;
  if (rungs == 0) return;
  std::uint64_t seed = 0;
  for (RungSearch search : RungSearches()) {
    if (seed < kUsualSearches) search.rung = std::min(search.rung, rungs - 1);
    if (search.rung >= rungs) return;
    if (Done() || (seed >= kUsualSearches && (IsClose() || !AddressesMatter()))) return;
    GapModel model(space.tables, problem_.runtime, Rung(search.rung));
    const Annealed found = SearchRung(model, space.open, StartOf(space, search), search, judgements_, seed, insist);
    if (found.found && !EnterFound(space, model, found)) {
      contest_.Enter(PlanOf(problem_, model, found.choices, kBySearch), kBySearch);
    }
    if (found.found && AddressesMatter()) GoOnAround(space, search.rung, rungs, found.choices, seed);
    ++seed;
  }
}

void Planner::GoOnAround(const SearchSpace& space, int searched, int rungs, const GapChoices& choices,
                         std::uint64_t seed) {
  for (int rung = 0; rung < std::min(kRungsAround, rungs); ++rung) {
    if (rung == searched) continue;
    GapModel model(space.tables, problem_.runtime, Rung(rung));
    const Annealed found = SearchAround(model, space.open, choices, judgements_, seed);
    if (found.found) EnterFound(space, model, found);
  }
}

// True: it is the fastest that was found so far.
bool Planner::EnterFound(const SearchSpace& space, GapModel& model, const Annealed& found) {
  const Plan plan = PlanOf(problem_, model, found.choices, kBySearch);
  const bool won = found_.Enter(plan, kBySearch);
  if (won) contest_.Enter(plan, kBySearch);
  if (won) candidates_.clear();
  if (won || !found_.decided()) candidates_.push_back({&space, found.choices, model.capacity()});
  return won;
}

// Where whole ops are not close to the bound, or there is no room for them.
void Planner::SearchParts() {
  if (!found_.decided()) Ask(ForBest::kWhereOpsDoNotFit);
  for (const WaysLookedAt& looked_at : InPartsTried(oracle_.facts().tables(), problem_.capacity)) {
    in_parts_.push_back(SpaceOf(looked_at));
    if (!in_parts_.back().tables.InParts()) continue;
    SearchRungs(in_parts_.back(), !found_.decided());
  }
}

// Single decisions of the best that was found, on the full path. Where nothing that was found has addresses something close
// to it may.
void Planner::ImproveFound() {
  const std::int64_t most = FewerWhereLarge(Capped(problem_.parameters.Number("plans", kJudged)));
  for (const Candidate& candidate : candidates_) {
    GapModel model(candidate.space->tables, problem_.runtime, candidate.rung);
    ImproveChoices(problem_, model, kBySearch, most, candidate.choices, found_);
    if (found_.decided()) break;
  }
  const bool improved = !std::exchange(candidates_, {}).empty() && found_.decided();
  if (!improved) return;
  ImproveMoments(most, found_);
  contest_.Enter(found_.plan(), kBySearch);
}

// Every op with the least workspace.
Plan Planner::Leanest(const SearchSpace& space) const {
  const GapChoices leanest = space.AllKeptWith([](const GapTables::Way& way) { return way.workspace; });
  GapModel model(space.tables, problem_.runtime, problem_.capacity);
  return PlanOf(problem_, model, leanest, kBySearch);
}

// Of all plans in the scope, by more instants than the general bounds look at.
void Planner::Claim(Planned& planned) const {
  const CutBound cut = CutFor(problem_.capacity, kCutsForClaim);
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
    planned.reason = reason_in_parts_.empty() ? contest_.last_reason() : reason_in_parts_;
    if (planned.reason.empty()) planned.reason = "out_of_memory: no plan is allowed";
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
