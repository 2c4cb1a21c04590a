#include "sim/strategies/best/search_turns.h"

#include <algorithm>
#include <utility>

namespace spillway {

SearchTurns::SearchTurns(std::vector<SearchOrder> orders, Find find, ThreadPool& helpers)
    : orders_(std::move(orders)), find_(std::move(find)), helpers_(&helpers) {}

std::size_t SearchTurns::Usual() const {
  return static_cast<std::size_t>(
      std::count_if(orders_.begin(), orders_.end(), [](const SearchOrder& order) { return order.search.usual; }));
}

void SearchTurns::Begin(std::size_t first, std::size_t end) {
  for (std::size_t place = first; place < std::min(end, orders_.size()); ++place) {
    const SearchOrder& order = orders_[place];
    if (order.search.from == RungSearch::From::kFastest) continue;
    begun_.emplace(place, helpers_->Submit([find = find_, order](const std::stop_token& stop) {
      return find(order, nullptr, stop);
    }));
  }
}

FoundPlans SearchTurns::Take(std::size_t place, const GapChoices& fastest, bool insist) {
  const auto begun = begun_.find(place);
  if (begun != begun_.end()) {
    FoundPlans found = begun->second.Get();
    if (found.insisted && !insist) found = {};
    return found;
  }
  SearchOrder order = orders_[place];
  order.insist = insist;
  const bool from_there = order.search.from == RungSearch::From::kFastest;
  const auto find = [this, order, from_there, fastest](const std::stop_token& stop) {
    return find_(order, from_there ? &fastest : nullptr, stop);
  };
  return helpers_->Submit(find).Get();
}

}  // namespace spillway
