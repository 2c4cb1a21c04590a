// The searches over one space, taken in turn; those that do not depend on what was found before them are begun ahead.
#ifndef SPILLWAY_SIM_STRATEGIES_BEST_SEARCH_TURNS_H_
#define SPILLWAY_SIM_STRATEGIES_BEST_SEARCH_TURNS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <stop_token>
#include <vector>

#include "model/util/thread_pool.h"
#include "sim/strategies/best/found_plans.h"

namespace spillway {

class SearchTurns {
 public:
  // What an order comes to, by any thread. `fastest`: from where it begins, where it says so; otherwise nullptr.
  using Find = std::function<FoundPlans(const SearchOrder&, const GapChoices* fastest, const std::stop_token&)>;
  // What `find` refers to must outlive the helpers.
  SearchTurns(std::vector<SearchOrder> orders, Find find, ThreadPool& helpers);

  const std::vector<SearchOrder>& orders() const { return orders_; }
  std::size_t Usual() const;  // so many come first
  // Orders [first, end), as far as there are so many.
  void Begin(std::size_t first, std::size_t end);
  // Once for each. `fastest`: so far. `insist`: no more than its order had; what only insisting has found is left out
  // without.
  FoundPlans Take(std::size_t place, const GapChoices& fastest, bool insist);

 private:
  std::vector<SearchOrder> orders_;
  Find find_;
  ThreadPool* helpers_;
  std::map<std::size_t, Future<FoundPlans>> begun_;
};

}  // namespace spillway

#endif  // SPILLWAY_SIM_STRATEGIES_BEST_SEARCH_TURNS_H_
