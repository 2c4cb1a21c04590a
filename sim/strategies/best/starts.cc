#include "sim/strategies/best/starts.h"

#include <cstring>
#include <utility>
#include <vector>

#include "sim/bounds/bounds.h"
#include "sim/strategies/strategies.h"

namespace spillway {

namespace {

constexpr int kInstantsToClaim = 24, kInstantsToStart = 12;
// Steps of more ops: other strategies plan once, for a part of the memory, in place of one headroom after another. The
// time of some grows with the square of the step. Both numbers are chosen, not measured.
constexpr std::size_t kManyOps = 10'000;
constexpr int kPercentOnce = 94;

BoundProblem ProblemOf(const StepFacts& facts, const Scope& scope, Bytes capacity) {
  static const LaunchMenus kNone;
  const LaunchMenus& menus = scope.LeavesNoChoice() ? kNone : facts.menus();
  return BoundProblemOf(facts.tables(), facts.costs(), menus, {}, capacity, scope);
}

}  // namespace

std::vector<Asked> AskOthers(ForBest which, const Problem& problem, const Contest& contest, PlanCache& memo,
                             ThreadPool& helpers) {
  Problem plain = problem;
  plain.parameters = {};
  plain.in_parts = nullptr;
  const bool many = problem.step->ops.size() > kManyOps;
  if (many) plain.capacity = problem.capacity / 100 * kPercentOnce;
  std::vector<Asked> asked;
  for (const Strategy& strategy : Strategies()) {
    if (std::strcmp(strategy.name, "best") == 0 || strategy.for_best != which) continue;
    const auto ask = [plain, many, &strategy, &contest, &memo] {
      JudgedPlan answer{
          .planned = many ? memo.Plan(strategy, plain) : PlanWithHeadroom(strategy, plain, contest.oracle(), memo),
          .judged = {}};
      if (answer.planned.feasible) answer.judged = contest.Judge(answer.planned.plan);
      return answer;
    };
    asked.push_back({&strategy, helpers.Submit(ask)});
  }
  return asked;
}

CutBound CutToClaim(const StepFacts& facts, const Scope& scope, Bytes capacity) {
  return BestCut(ProblemOf(facts, scope, capacity), kInstantsToClaim);
}

CutBound CutToStartFrom(const StepFacts& facts, const Scope& scope, Bytes capacity) {
  BoundProblem problem = ProblemOf(facts, scope, capacity);
  const auto slow_down_nothing = [](std::vector<OpWay>& ways) {
    for (OpWay& way : ways) way.beside_copies = static_cast<double>(way.time);
  };
  for (std::vector<OpWay>& ways : problem.ways) slow_down_nothing(ways);
  for (auto& [op, ways] : problem.again) slow_down_nothing(ways);
  return BestCut(problem, kInstantsToStart);
}

}  // namespace spillway
