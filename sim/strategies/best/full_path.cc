#include "sim/strategies/best/full_path.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
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

// That the model has no objection to, the fastest first. Of more than `most` every second one is looked at, or every third
// and so on: each look takes time in proportion to the step.
std::vector<Move> SingleMoves(GapModel& model, const OpenChoices& open, GapChoices& choices, std::int64_t most) {
  std::vector<Move> moves;
  std::int64_t all = 0, number = 0;
  open.ForEach(choices, [&all](const Change&) { ++all; });
  const std::int64_t every = std::max<std::int64_t>(1, (all + most - 1) / most);
  open.ForEach(choices, [&](const Change& change) {
    if (number++ % every != 0) return;
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

// Plans that are entered in turn until so many were judged.
class Turns {
 public:
  Turns(std::int64_t most, Contest& contest, ThreadPool& helpers)
      : contest_(contest), helpers_(helpers), stop_(contest.judged() + most) {}
  bool IsOver() const { return contest_.judged() >= stop_; }

  // make(k): the k-th plan, if there is one, by how things are; won(k): they change by it. True: any has won. What was made
  // and judged ahead is made again where one before it wins.
  template <typename Make, typename Won>
  bool Take(std::size_t count, const std::string& by, Make make, Won won) {
    std::deque<Turn> ahead;
    bool any = false;
    for (std::size_t next = 0; !IsOver();) {
      for (; ahead.size() < helpers_.AtOnce() && next < count; ++next) {
        if (std::optional<Plan> plan = make(next)) ahead.push_back(Begin(next, std::move(*plan)));
      }
      if (ahead.empty()) break;
      Turn turn = std::move(ahead.front());
      ahead.pop_front();
      if (!contest_.Enter(*turn.plan, by, turn.judged.Get())) continue;
      any = true;
      won(turn.number);
      ahead.clear();
      next = turn.number + 1;
    }
    return any;
  }

 private:
  struct Turn {
    std::size_t number = 0;
    std::shared_ptr<const Plan> plan;
    Future<PlanJudgement> judged;
  };
  Turn Begin(std::size_t number, Plan plan) {
    auto shared = std::make_shared<const Plan>(std::move(plan));
    return {number, shared, helpers_.Submit([shared, &contest = contest_] { return contest.Judge(*shared); })};
  }

  Contest& contest_;
  ThreadPool& helpers_;
  const std::int64_t stop_;
};

struct Moment {
  std::size_t gap = 0;  // of the winner's
  OpId in_at = kNoOp;
};

// The moments that are looked at for each copy back of `plan`, in order.
std::vector<Moment> MomentsAround(const Plan& plan) {
  std::vector<Moment> moments;
  for (std::size_t k = 0; k < plan.gaps.size(); ++k) {
    const GapDecision& gap = plan.gaps[k];
    if (gap.action != GapAction::kSwap || gap.IsOpen() || IsStreamed(plan, gap)) continue;
    for (const OpId shift : kShifts) {
      moments.push_back({k, std::clamp<OpId>(gap.in_at + shift, gap.Leaves() + 1, gap.before)});
    }
  }
  return moments;
}

}  // namespace

void ImproveChoices(const Problem& problem, GapModel& model, const std::string& by, const SearchBudget& budget,
                    GapChoices choices, Contest& contest, ThreadPool& helpers) {
  const OpenChoices open(model.tables(), contest.allowed());
  Turns turns(budget.judged, contest, helpers);
  contest.Enter(PlanOf(problem, model, choices, by), by);
  for (bool won = true; won && !turns.IsOver();) {
    const std::vector<Move> moves = SingleMoves(model, open, choices, budget.judgements);
    const auto make = [&](std::size_t k) -> std::optional<Plan> {
      const Change back = Apply(moves[k].change, choices);
      std::optional<Plan> plan;
      if (model.Judge(choices).Fits()) plan = PlanOf(problem, model, choices, by);
      Apply(back, choices);
      return plan;
    };
    won = turns.Take(moves.size(), by, make, [&](std::size_t k) { Apply(moves[k].change, choices); });
  }
}

void ImproveMoments(std::int64_t most, Contest& contest, ThreadPool& helpers) {
  Turns turns(most, contest, helpers);
  for (bool won = true; won && !turns.IsOver();) {
    const std::vector<Moment> moments = MomentsAround(contest.plan());
    const auto make = [&](std::size_t k) -> std::optional<Plan> {
      const auto [gap, in_at] = moments[k];
      if (in_at == contest.plan().gaps[gap].in_at) return std::nullopt;
      Plan plan = contest.plan();
      plan.gaps[gap].in_at = in_at;
      return plan;
    };
    won = turns.Take(moments.size(), contest.by(), make, [](std::size_t) {});
  }
}

}  // namespace spillway
