#include "sim/strategies/best/effort.h"

#include <algorithm>

namespace spillway {

namespace {

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

Effort::Effort(const Problem& problem, std::size_t choices)
    : judgements(Allowance(problem, "simulations",
                           std::min(kJudgements, kJudgementsOfChoice * static_cast<std::int64_t>(choices)))),
      judged(Allowance(problem, "plans", kJudged)),
      few_choices(choices <= kFewChoices) {}

}  // namespace spillway
