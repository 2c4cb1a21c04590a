#include "sim/strategies/best/others.h"

#include <cstring>
#include <utility>

#include "sim/planning/headroom.h"
#include "sim/strategies/strategies.h"

namespace spillway {

std::vector<Asked> AskOthers(ForBest which, const Problem& problem, const Contest& contest, PlanCache& memo,
                             ThreadPool& helpers) {
  Problem plain = problem;
  plain.parameters = {};
  plain.in_parts = nullptr;
  std::vector<Asked> asked;
  for (const Strategy& strategy : Strategies()) {
    if (std::strcmp(strategy.name, "best") == 0 || strategy.for_best != which) continue;
    const auto ask = [plain, &strategy, &contest, &memo] {
      JudgedPlan answer{.planned = PlanWithHeadroom(strategy, plain, contest.oracle(), memo), .judged = {}};
      if (answer.planned.feasible) answer.judged = contest.Judge(answer.planned.plan);
      return answer;
    };
    asked.push_back({&strategy, helpers.Submit(ask)});
  }
  return asked;
}

}  // namespace spillway
