#include "sim/strategies/best/robust.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/stats/quantile.h"
#include "sim/uncertainty/uncertainty.h"

namespace spillway {

namespace {

constexpr Bytes kShares = 256;
constexpr std::size_t kOfEachShare = 3;
constexpr Nanos kClose = 10;  // a tenth slower at most
constexpr std::size_t kMostClose = 64;
constexpr double kPercentile = 0.9;

struct LateAndMedian {
  Nanos p90 = 0, median = 0;
};

// Over the draws.
LateAndMedian TimesOf(const Plan& plan, const Oracle& oracle, const Problem& problem) {
  const Evaluation judged = oracle.Evaluate(plan, {.verify = false, .bounds = false});
  const std::vector<Nanos> times = DrawStep(judged, plan, *problem.costs, problem.capacity).times;
  const std::vector<double> drawn(times.begin(), times.end());
  return {static_cast<Nanos>(Quantile(drawn, kPercentile)), static_cast<Nanos>(Median(drawn))};
}

bool Faster(const RankedPlan& a, const RankedPlan& b) { return a.time < b.time; }

struct RobustChoice {
  std::size_t index = 0;  // into the plans
  Nanos p90 = 0, median = 0;
  Nanos fastest_p90 = 0, fastest_median = 0;  // of the first plan
};

// By the draws that intervals of results are made of.
RobustChoice ChooseRobust(const std::vector<RankedPlan>& plans, const Oracle& oracle, const Problem& problem,
                          ThreadPool& helpers) {
  std::vector<Future<LateAndMedian>> times;
  for (const RankedPlan& ranked : plans) {
    times.push_back(helpers.Submit([plan = ranked.plan, &oracle, &problem] { return TimesOf(plan, oracle, problem); }));
  }
  RobustChoice choice;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const auto [p90, median] = times[i].Get();
    if (i == 0) choice = {.p90 = p90, .median = median, .fastest_p90 = p90, .fastest_median = median};
    if (p90 >= choice.p90) continue;
    choice.index = i;
    choice.p90 = p90;
    choice.median = median;
  }
  return choice;
}

}  // namespace

void Shortlist::Enter(Nanos time, Bytes copied, const Plan& plan, const std::string& by) {
  const auto of_share = static_cast<Bytes>(static_cast<double>(copied) / static_cast<double>(all_) * kShares);
  std::vector<RankedPlan>& known = by_share_[of_share];
  const auto place =
      std::upper_bound(known.begin(), known.end(), time, [](Nanos t, const RankedPlan& k) { return t < k.time; });
  if (static_cast<std::size_t>(place - known.begin()) >= kOfEachShare) return;
  known.insert(place, {time, plan, by});
  if (known.size() > kOfEachShare) known.pop_back();
}

std::vector<RankedPlan> Shortlist::Close() const {
  std::vector<RankedPlan> close;
  for (const auto& [share, plans] : by_share_) close.insert(close.end(), plans.begin(), plans.end());
  std::stable_sort(close.begin(), close.end(), Faster);
  std::erase_if(close, [&](const RankedPlan& ranked) { return ranked.time > close[0].time + close[0].time / kClose; });
  close.resize(std::min(close.size(), kMostClose));
  return close;
}

Plan RobustPlan(const Shortlist& shortlist, const Oracle& oracle, const Problem& problem, ThreadPool& helpers,
                std::string& which) {
  std::vector<RankedPlan> close = shortlist.Close();
  const RobustChoice choice = ChooseRobust(close, oracle, problem, helpers);
  const auto percent = [](Nanos now, Nanos then) {
    return 100.0 * static_cast<double>(now - then) / static_cast<double>(then);
  };
  which = fmt::format(
      "of {} close ones the least 90th percentile {}: {:+.2f} % beside the fastest, in the median {:+.2f} %",
      close.size(), close[choice.index].by, percent(choice.p90, choice.fastest_p90),
      percent(choice.median, choice.fastest_median));
  return std::move(close[choice.index].plan);
}

}  // namespace spillway
