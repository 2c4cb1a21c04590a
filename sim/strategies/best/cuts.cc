#include "sim/strategies/best/cuts.h"

#include <vector>

#include "sim/bounds/bounds.h"

namespace spillway {

namespace {

constexpr int kInstantsToClaim = 24, kInstantsToStart = 12;

BoundProblem ProblemOf(const StepFacts& facts, const Scope& scope, Bytes capacity) {
  static const LaunchMenus kNone;
  const LaunchMenus& menus = scope.LeavesNoChoice() ? kNone : facts.menus();
  return BoundProblemOf(facts.tables(), facts.costs(), menus, {}, capacity, scope);
}

}  // namespace

CutBound CutToClaim(const StepFacts& facts, const Scope& scope, Bytes capacity) {
  return BestCut(ProblemOf(facts, scope, capacity), kInstantsToClaim);
}

CutBound CutToStartFrom(const StepFacts& facts, const Scope& scope, Bytes capacity) {
  BoundProblem problem = ProblemOf(facts, scope, capacity);
  for (std::vector<OpWay>& ways : problem.ways) {
    for (OpWay& way : ways) way.beside_copies = static_cast<double>(way.time);
  }
  return BestCut(problem, kInstantsToStart);
}

}  // namespace spillway
