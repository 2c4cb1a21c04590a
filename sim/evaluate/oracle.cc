// What all plans of a step on a machine share: made when first asked for, and kept.
#include "sim/evaluate/oracle.h"

namespace spillway {

StepFacts::StepFacts(const TrainingStep& step, const CostModel& costs, int device)
    : costs_(&costs), tables_(step, costs, device) {}

const LaunchMenus& StepFacts::menus() const {
  std::call_once(menus_once_, [this] { menus_ = MenusOf(tables_, *costs_); });
  return menus_;
}

const LaunchPartRates& StepFacts::part_rates(PartScope parts, const TileCounts& tiles) const {
  return rates_.Ref({parts, tiles}, [&] { return PartRatesOf(tables_, *costs_, parts, tiles); });
}

Oracle::Oracle(std::shared_ptr<const StepFacts> facts, Bytes capacity)
    : facts_(std::move(facts)), capacity_(capacity) {}

Bounds Oracle::BoundsIn(const Scope& scope) const {
  static const LaunchMenus kNoMenus;
  return bounds_.Get(scope, [&] {
    return LowerBounds(facts_->tables(), facts_->costs(), scope.LeavesNoChoice() ? kNoMenus : facts_->menus(),
                       facts_->part_rates(scope.parts, scope.tiles), capacity_, scope);
  });
}

}  // namespace spillway
