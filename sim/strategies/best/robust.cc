#include "sim/strategies/best/robust.h"

#include <algorithm>
#include <utility>

#include "sim/uncertainty/quantile.h"
#include "sim/uncertainty/uncertainty.h"

namespace spillway {

namespace {

constexpr Bytes kShares = 256;
constexpr std::size_t kOfEachShare = 3;
constexpr Nanos kClose = 10;  // a tenth slower at most
constexpr std::size_t kMostClose = 64;
constexpr double kPercentile = 0.9;

bool Faster(const RankedPlan& a, const RankedPlan& b) { return a.time < b.time; }

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

RobustChoice ChooseRobust(const std::vector<RankedPlan>& plans, const Oracle& oracle, const Problem& problem) {
  RobustChoice choice;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Evaluation judged = oracle.Evaluate(plans[i].plan, {.verify = false, .bounds = false});
    const std::vector<Nanos> times = DrawStep(judged, plans[i].plan, problem).times;
    const std::vector<double> drawn(times.begin(), times.end());
    const auto p90 = static_cast<Nanos>(Quantile(drawn, kPercentile));
    const auto median = static_cast<Nanos>(Median(drawn));
    if (i == 0) choice = {.p90 = p90, .median = median, .fastest_p90 = p90, .fastest_median = median};
    if (p90 >= choice.p90) continue;
    choice.index = i;
    choice.p90 = p90;
    choice.median = median;
  }
  return choice;
}

}  // namespace spillway
