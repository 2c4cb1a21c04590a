#include "sim/strategies/best/full_path.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "hw/text/lists.h"

namespace spillway {

namespace {

// Ops by which a copy back is moved.
constexpr OpId kShifts[] = {-1, 1, -3, 3, -10, 10, -30};

struct Move {
  Change change;
  Nanos expected = 0;  // by the model
};

// That the model has no objection to, the fastest first.
std::vector<Move> SingleMoves(GapModel& model, const OpenChoices& open, GapChoices& choices) {
  std::vector<Move> moves;
  open.ForEach(choices, [&](const Change& change) {
    const Change back = Apply(change, choices);
    const GapJudgement judged = model.Judge(choices);
    if (judged.Fits()) moves.push_back({change, judged.time});
    Apply(back, choices);
  });
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) { return a.expected < b.expected; });
  return moves;
}

// What comes in part by part has no moment of its own.
bool IsStreamed(const Plan& plan, const GapDecision& gap) {
  return std::any_of(plan.ops.begin(), plan.ops.end(), [&gap](const OpDecision& decision) {
    return decision.op == gap.before && Contains(decision.streamed, gap.tensor);
  });
}

}  // namespace

void ImproveChoices(const Problem& problem, GapModel& model, const std::string& by, std::int64_t most,
                    GapChoices choices, Contest& contest) {
  const OpenChoices open(model.tables(), contest.allowed());
  const std::int64_t stop = contest.judged() + most;
  contest.Enter(PlanOf(problem, model, choices, by), by);
  for (bool won = true; won && contest.judged() < stop;) {
    won = false;
    for (const Move& move : SingleMoves(model, open, choices)) {
      if (contest.judged() >= stop) break;
      const Change back = Apply(move.change, choices);
      if (model.Judge(choices).Fits() && contest.Enter(PlanOf(problem, model, choices, by), by)) {
        won = true;
      } else {
        Apply(back, choices);
      }
    }
  }
}

void ImproveMoments(std::int64_t most, Contest& contest) {
  const std::int64_t stop = contest.judged() + most;
  for (bool won = true; won && contest.judged() < stop;) {
    won = false;
    for (std::size_t k = 0; k < contest.plan().gaps.size() && contest.judged() < stop; ++k) {
      const GapDecision gap = contest.plan().gaps[k];
      if (gap.action != GapAction::kSwap || IsStreamed(contest.plan(), gap)) continue;
      for (const OpId shift : kShifts) {
        const OpId moment = std::clamp<OpId>(gap.in_at + shift, gap.Leaves() + 1, gap.before);
        if (moment == contest.plan().gaps[k].in_at || contest.judged() >= stop) continue;
        Plan plan = contest.plan();
        plan.gaps[k].in_at = moment;
        won = contest.Enter(plan, contest.by()) || won;
      }
    }
  }
}

}  // namespace spillway
