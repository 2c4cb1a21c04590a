#include "sim/strategies/best/rungs.h"

#include <algorithm>
#include <utility>

#include "sim/strategies/pooch/ladder.h"

namespace spillway {

namespace {

constexpr int kFineBits = 7, kCoarseBits = 5;
constexpr Bytes kSmallShare = 4096;  // of the memory

bool HasAddresses(const Runtime& runtime) {
  return runtime.memory == MemoryModel::kArena || runtime.pool == PoolKind::kAddresses;
}

// Where that rung holds every op.
void PlaceOnCoarse(SearchOrder& order, Bytes rung, Bytes need, SharedSpaces& shared) {
  if (rung < need) return;
  order.space = &shared.On(rung);
  order.rung = rung;
  order.seed = static_cast<std::uint64_t>(rung);
}

constexpr std::int64_t kJudgements = 200'000;
constexpr std::int64_t kJudgementsOfChoice = 1200;  // for each gap and op that it has a choice of, at most
constexpr std::int64_t kJudged = 60;
constexpr std::size_t kFewChoices = 64;
constexpr std::int64_t kUsualOps = 500;  // in larger steps all are fewer

// A smaller cap than the usual one is one for everything.
std::int64_t Capped(const Problem& problem, std::int64_t count) {
  const std::int64_t usual = Problem().simulation_cap;
  return std::max<std::int64_t>(1, count * std::min(problem.simulation_cap, usual) / usual);
}

// Each takes time in proportion to the step.
std::int64_t FewerWhereLarge(const Problem& problem, std::int64_t count) {
  const auto ops = static_cast<std::int64_t>(problem.step->ops.size());
  return ops <= kUsualOps ? count : std::max<std::int64_t>(1, count * kUsualOps / ops);
}

std::int64_t Allowance(const Problem& problem, const char* parameter, std::int64_t usual) {
  return FewerWhereLarge(problem, Capped(problem, problem.parameters.Number(parameter, usual)));
}

}  // namespace

Rungs::Rungs(const Problem& problem) : capacity_(problem.capacity), addresses_(HasAddresses(problem.runtime)) {}

Bytes Rungs::Rung(int k, int bits) const {
  Bytes rung = RungBelow(capacity_, bits);
  for (; addresses_ && k > 0; --k) rung = RungBelow(rung - 1, bits);
  return rung;
}

Bytes Rungs::Fine(int k) const { return Rung(k, kFineBits); }
Bytes Rungs::Coarse(int k) const { return Rung(k, kCoarseBits); }

const SearchSpace& SharedSpaces::On(Bytes rung) {
  constexpr Bytes kLower = 8;  // gaps count over what is that share of it lower: plans are made for less, too
  const WaysLookedAt whole{.algorithms = allowed_.algorithms, .divided = false, .groups = {}};
  return spaces_.try_emplace(rung, facts_, problem_.runtime, rung - rung / kLower, SmallOn(rung), allowed_, whole)
      .first->second;
}

SearchBudget::SearchBudget(const Problem& problem, std::size_t choices)
    : judgements(Allowance(problem, "simulations",
                           std::min(kJudgements, kJudgementsOfChoice * static_cast<std::int64_t>(choices)))),
      judged(Allowance(problem, "plans", kJudged)),
      few_choices(choices <= kFewChoices) {}

Bytes SmallOn(Bytes rung) { return rung / kSmallShare; }

std::vector<SearchOrder> OrdersOver(const SearchSpace& space, const Rungs& rungs, Bytes need,
                                    const SearchBudget& budget, bool insist, SharedSpaces* shared) {
  const SearchList with_shared = budget.few_choices ? SearchList::kBoth : SearchList::kShared;
  std::vector<Bytes> fine;
  for (int k = 0; k <= kLowestRung && rungs.Fine(k) >= need; ++k) fine.push_back(rungs.Fine(k));
  std::vector<SearchOrder> orders;
  const int lowest = static_cast<int>(fine.size()) - 1;
  for (RungSearch search : RungSearches(shared == nullptr ? SearchList::kOwn : with_shared)) {
    const int listed = search.rung;
    if (search.usual) search.rung = std::min(search.rung, lowest);
    if (lowest < 0 || search.rung > lowest) break;
    SearchOrder order{&space, search, fine[Index(search.rung)], {}, budget.judgements, orders.size(), insist};
    if (search.coarse) PlaceOnCoarse(order, rungs.Coarse(listed), need, *shared);
    for (int k = 0; rungs.AddressesMatter() && k <= std::min(kRungsAround - 1, lowest); ++k) {
      if (fine[Index(k)] != order.rung) order.around.push_back(fine[Index(k)]);
    }
    orders.push_back(std::move(order));
  }
  return orders;
}

}  // namespace spillway
