// best: what no published planner decides together. It is never behind another strategy of the table on the same runtime
// that runs the whole batch at once (all but accumulate, and some that take seconds: Strategy::for_best), since it begins
// with all their plans; goes on with a search of its own over all gaps of all tensors and over how ops run, whole first, and
// in parts where that is not close to the bound (search_space.h); and judges everything by the full path.
//
// The search is made for capacities that are the same whatever the capacity (rungs.h): what lies between two rungs
// has the same plans. More memory is not proved to be never slower; README.md of this folder says how often it was.
//
// What is entered, and in which order, is decided here, by one thread. Searches and the other strategies' plans are made by
// helpers, some of them before they are known to be wanted (model/util/thread_pool.h).
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "model/util/thread_pool.h"
#include "sim/planning/plan_cache.h"
#include "sim/strategies/best/found_plans.h"
#include "sim/strategies/best/full_path.h"
#include "sim/strategies/best/rungs.h"
#include "sim/strategies/best/search_space.h"
#include "sim/strategies/best/search_turns.h"
#include "sim/strategies/best/starts.h"

namespace spillway {
namespace {

constexpr const char* kName = "best";
constexpr const char* kBySearch = "found by local search";
constexpr double kClose = 1.03;  // times the bound
constexpr int kMostThreads = 8;  // more would mostly make what is dropped

class Planner {
 public:
  Planner(const Problem& problem, PlanCache& memo)
      : problem_(problem),
        memo_(memo),
        oracle_(OracleOf(problem)),
        contest_(oracle_, AllowedBy(problem.parameters, problem.runtime)),
        found_(oracle_, contest_.allowed()),
        scope_(ScopeFor(contest_.allowed(), problem.runtime)),
        rungs_(problem),
        whole_(SpaceOf({.algorithms = contest_.allowed().algorithms, .divided = false, .groups = {}})),
        shared_(problem, oracle_.facts(), contest_.allowed()),
        budget_(problem, whole_.open.gaps.size() + whole_.open.ops.size()),
        helpers_(std::min(problem.threads, kMostThreads)) {}

  Planned Run() {
    if (robust()) contest_.RememberShortlist();
    std::vector<Asked> others = AskOthers(ForBest::kYes, problem_, contest_, memo_, helpers_);
    {
      SearchTurns whole = Begin(whole_, false);
      EnterOthers(others);
      if (!Done()) Search(whole, false);
    }
    if (candidates_.empty() && !Done()) {
      SearchTurns whole = Begin(whole_, true);
      Search(whole, true);
    }
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
  // What was found is about as fast as can be.
  bool IsClose() const {
    return found_.decided() &&
           static_cast<double>(found_.time()) <= kClose * static_cast<double>(oracle_.BoundsIn(scope_).Best());
  }
  void EnterOthers(std::vector<Asked>& others);
  SearchSpace SpaceOf(const WaysLookedAt& looked_at) const;
  GapChoices AllKept(const SearchSpace& space) const;
  GapChoices StartOf(const SearchOrder& order) const;
  GapChoices Fastest(const SearchSpace& space) const;
  std::vector<SearchOrder> Orders(const SearchSpace& space, bool insist);
  SearchTurns Begin(const SearchSpace& space, bool insist);
  void Search(SearchTurns& turns, bool insist);
  void Enter(const SearchSpace& space, const FoundPlans& found);
  void SearchParts();
  void ImproveFound();
  Plan Leanest(const SearchSpace& space) const;
  void Claim(Planned& planned) const;
  Planned Result();

  const Problem& problem_;  // on the runtime that is planned for
  PlanCache& memo_;
  Oracle oracle_;
  Contest contest_, found_;  // of all plans; of those that were found by search
  const Scope scope_;
  const Rungs rungs_;
  const SearchSpace whole_;
  SharedSpaces shared_;
  std::deque<SearchSpace> in_parts_;
  const SearchBudget budget_;
  std::string reason_in_parts_;  // why what streams does not run either
  struct Candidate {
    const SearchSpace* space = nullptr;
    GapChoices choices;
    Bytes rung = 0;
  };
  // By search: the fastest on the full path; where none runs there, all of them, in the order in which they were found.
  std::vector<Candidate> candidates_;
  ThreadPool helpers_;  // last: they use all of the above
};

void Planner::EnterOthers(std::vector<Asked>& others) {
  for (auto& [strategy, answer] : others) {
    const auto [planned, judged] = answer.Get();
    if (planned.feasible) contest_.Enter(planned.plan, fmt::format("by {}", strategy->name), judged);
    const bool said = reason_in_parts_.starts_with("working_set");
    if (strategy->for_best == ForBest::kYes || contest_.decided() || said) continue;
    reason_in_parts_ = planned.feasible ? contest_.last_reason() : planned.reason;
  }
}

SearchSpace Planner::SpaceOf(const WaysLookedAt& looked_at) const {
  return {oracle_.facts(),         problem_.runtime,   rungs_.Fine(kLowestRung),
          SmallOn(rungs_.Fine(0)), contest_.allowed(), looked_at};
}

// The model takes slower ways where there is no room for their workspaces.
GapChoices Planner::AllKept(const SearchSpace& space) const {
  return space.AllKeptWith([](const GapTables::Way& way) { return way.time; });
}

GapChoices Planner::StartOf(const SearchOrder& order) const {
  GapChoices kept = AllKept(*order.space);
  if (order.search.from != RungSearch::From::kCut) return kept;
  const CutBound cut = CutToStartFrom(oracle_.facts(), scope_, order.rung);
  return cut.op == kNoOp ? kept : ChoicesOf(order.space->tables, cut, kept);
}

GapChoices Planner::Fastest(const SearchSpace& space) const {
  if (candidates_.empty()) return AllKept(space);
  if (candidates_.front().space == &space) return candidates_.front().choices;
  const bool shares = found_.decided() && &space == &whole_;
  return shares ? ChoicesOf(space.tables, found_.plan()) : AllKept(space);
}

// On rungs that hold every op.
std::vector<SearchOrder> Planner::Orders(const SearchSpace& space, bool insist) {
  const std::vector<Bytes> needs = oracle_.facts().tables().WorkingSets(Leanest(space).ops);
  const Bytes need = *std::max_element(needs.begin(), needs.end());
  const bool shares = rungs_.AddressesMatter() && &space == &whole_;
  return OrdersOver(space, rungs_, need, budget_, insist, shares ? &shared_ : nullptr);
}

SearchTurns Planner::Begin(const SearchSpace& space, bool insist) {
  const auto find = [this](const SearchOrder& order, const GapChoices* fastest, const std::stop_token& stop) {
    return FindPlans(problem_, contest_, order, fastest != nullptr ? *fastest : StartOf(order), kBySearch, stop);
  };
  SearchTurns turns(Orders(space, insist), find, helpers_);
  turns.Begin(0, turns.Usual());
  return turns;
}

void Planner::Search(SearchTurns& turns, bool insist) {
  const std::size_t all = turns.orders().size(), usual = turns.Usual();
  for (std::size_t place = 0; place < all; ++place) {
    if (Done() || (place >= usual && (IsClose() || !rungs_.AddressesMatter()))) return;
    if (place == usual) turns.Begin(place, all);
    const SearchSpace& space = *turns.orders()[place].space;
    Enter(space, turns.Take(place, Fastest(space), insist));
  }
}

void Planner::Enter(const SearchSpace& space, const FoundPlans& found) {
  for (const FoundPlan& one : found.plans) {
    const bool won = found_.Enter(one.plan, kBySearch, one.judged);
    if (won || &one == found.plans.data()) contest_.Enter(one.plan, kBySearch, one.judged);
    if (won) candidates_.clear();
    if (won || !found_.decided()) candidates_.push_back({&space, one.choices, one.rung});
  }
}

// Where whole ops are not close to the bound, or there is no room for them.
void Planner::SearchParts() {
  std::vector<Asked> others;
  if (!found_.decided()) others = AskOthers(ForBest::kWhereOpsDoNotFit, problem_, contest_, memo_, helpers_);
  std::vector<SearchTurns> over_spaces;
  for (const WaysLookedAt& looked_at : InPartsTried(oracle_.facts().tables(), problem_.capacity)) {
    const SearchSpace& space = in_parts_.emplace_back(SpaceOf(looked_at));
    if (space.tables.InParts()) over_spaces.push_back(Begin(space, !found_.decided()));
  }
  EnterOthers(others);
  for (SearchTurns& turns : over_spaces) Search(turns, !found_.decided());
}

// Single decisions of the best that was found, on the full path. Where nothing that was found has addresses something close
// to it may.
void Planner::ImproveFound() {
  for (const Candidate& candidate : candidates_) {
    GapModel model(candidate.space->tables, problem_.runtime, candidate.rung);
    ImproveChoices(problem_, model, kBySearch, budget_, candidate.choices, found_, helpers_);
    if (found_.decided()) break;
  }
  const bool improved = !std::exchange(candidates_, {}).empty() && found_.decided();
  if (!improved) return;
  ImproveMoments(budget_.judged, found_, helpers_);
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
  const CutBound cut = CutToClaim(oracle_.facts(), scope_, problem_.capacity);
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
    planned.reason = reason_in_parts_.empty() ? contest_.last_reason() : reason_in_parts_;
    if (planned.reason.empty()) planned.reason = "out_of_memory: no plan is allowed";
    return planned;
  }
  planned.plan = contest_.plan();
  std::string which = fmt::format("the fastest {}", contest_.by());
  if (robust()) planned.plan = RobustPlan(*contest_.shortlist(), oracle_, problem_, helpers_, which);
  planned.plan.strategy = kName + problem_.parameters.Label();
  planned.plan.capacity = problem_.capacity;
  planned.plan.evaluations = contest_.judged();
  planned.plan.search = fmt::format("{} plans judged, {}", contest_.judged(), which);
  return planned;
}

}  // namespace

Planned PlanBest(const Problem& problem) {
  const Problem on_runtime = problem.OnRuntimeOr("arena");
  PlanCache own;
  return Planner(on_runtime, problem.plans == nullptr ? own : *problem.plans).Run();
}

}  // namespace spillway
