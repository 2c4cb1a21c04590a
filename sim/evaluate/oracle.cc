// What all plans of a step on a machine share: made when first asked for, and kept.
#include "sim/evaluate/oracle.h"

namespace spillway {

StepFacts::StepFacts(const TrainingStep& step, const CostModel& costs, int device)
    : costs_(&costs), tables_(step, costs, device) {}

const LaunchMenus& StepFacts::menus() const {
  std::call_once(once_, [this] { menus_ = MenusOf(tables_, *costs_); });
  return menus_;
}

const LaunchPartRates& StepFacts::part_rates(PartScope parts, const TileCounts& tiles) const {
  const std::lock_guard lock(rates_mutex_);  // who asks for the same waits for it
  for (const Rates& known : rates_) {
    if (known.parts == parts && known.tiles == tiles) return known.rates;
  }
  rates_.push_back({parts, tiles, PartRatesOf(tables_, *costs_, parts, tiles)});
  return rates_.back().rates;
}

Oracle::Oracle(std::shared_ptr<const StepFacts> facts, Bytes capacity)
    : facts_(std::move(facts)), capacity_(capacity) {}

Bounds Oracle::BoundsIn(const Scope& scope) const {
  const std::lock_guard lock(mutex_);  // who asks for the same waits for it
  for (const auto& [known, bounds] : bounds_) {
    if (known == scope) return bounds;
  }
  static const LaunchMenus kNoMenus;
  bounds_.emplace_back(
      scope, LowerBounds(facts_->tables(), facts_->costs(), scope.LeavesNoChoice() ? kNoMenus : facts_->menus(),
                         facts_->part_rates(scope.parts, scope.tiles), capacity_, scope));
  return bounds_.back().second;
}

}  // namespace spillway
