// On which rungs `best` searches: what lies close together in memory has its long searches in common.
#include "sim/strategies/best/rungs.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <vector>

#include "tests/sim/zoo_place.h"

namespace spillway {
namespace {

constexpr Bytes kGiB = Bytes{1} << 30;
constexpr std::size_t kChoices = 100;

// What the planner asks of it, for ResNet-18.
struct Ordered {
  ZooPlace place{"resnet18", 64, LoadMachine("v100-x86-pcie3")};
  Problem problem;
  StepFacts facts;
  Allowed allowed;
  Rungs rungs;
  SharedSpaces shared;
  SearchSpace whole;

  explicit Ordered(Bytes capacity, const char* runtime = "arena")
      : problem(place.At(capacity, runtime)),
        facts(place.step, place.costs),
        rungs(problem),
        shared(problem, facts, allowed),
        whole(facts, problem.runtime, rungs.Fine(kLowestRung), SmallOn(rungs.Fine(0)), allowed, {}) {}

  std::vector<SearchOrder> Shared(Bytes need) {
    return OrdersOver(whole, rungs, need, {problem, kChoices}, false, &shared);
  }
  std::vector<SearchOrder> Own() { return OrdersOver(whole, rungs, 0, {problem, kChoices}, false, nullptr); }
};

bool SearchAlike(const SearchOrder& a, const SearchOrder& b) {
  const auto gap_by = [](const GapTables::Gap& x, const GapTables::Gap& y) {
    return x.tensor == y.tensor && x.after == y.after && x.before == y.before && x.in == y.in && x.out == y.out;
  };
  return a.rung == b.rung && a.seed == b.seed && a.search.percent == b.search.percent &&
         a.search.hottest == b.search.hottest && a.search.from == b.search.from &&
         std::equal(a.space->tables.gaps.begin(), a.space->tables.gaps.end(), b.space->tables.gaps.begin(),
                    b.space->tables.gaps.end(), gap_by);
}

std::vector<SearchOrder> OnCoarse(const std::vector<SearchOrder>& orders) {
  std::vector<SearchOrder> coarse;
  std::copy_if(orders.begin(), orders.end(), std::back_inserter(coarse),
               [](const SearchOrder& order) { return order.search.coarse; });
  return coarse;
}

TEST_CASE("long searches are the same for all capacities between two coarse rungs", "[rungs]") {
  Ordered less(kGiB * 2 + 1), more(kGiB * 2 + kGiB / 16 - 1);
  REQUIRE(less.rungs.Coarse(0) == more.rungs.Coarse(0));
  REQUIRE(less.rungs.Fine(0) < more.rungs.Fine(0));
  const std::vector<SearchOrder> those = OnCoarse(less.Shared(0)), these = OnCoarse(more.Shared(0));
  REQUIRE(those.size() == 4);
  REQUIRE(these.size() == 4);
  for (std::size_t k = 0; k < those.size(); ++k) CHECK(SearchAlike(those[k], these[k]));
}

TEST_CASE("with a coarse rung more memory the searches on the highest one with less are made again", "[rungs]") {
  Ordered less(kGiB * 2), more(kGiB * 2 + kGiB / 8);
  REQUIRE(more.rungs.Coarse(1) == less.rungs.Coarse(0));
  const std::vector<SearchOrder> those = OnCoarse(less.Shared(0)), these = OnCoarse(more.Shared(0));
  int again = 0;
  for (const SearchOrder& one : those) {
    if (one.rung != less.rungs.Coarse(0)) continue;
    CHECK(
        std::any_of(these.begin(), these.end(), [&one](const SearchOrder& other) { return SearchAlike(one, other); }));
    ++again;
  }
  CHECK(again == 2);
}

TEST_CASE("searches go to the fine ladder where a coarse rung does not hold every op", "[rungs]") {
  Ordered tight(kGiB * 2 + kGiB / 16 - 1);
  const Bytes need = tight.rungs.Coarse(0) + 1;
  REQUIRE(tight.rungs.Fine(0) >= need);
  const std::vector<SearchOrder> orders = tight.Shared(need);
  REQUIRE_FALSE(orders.empty());
  for (const SearchOrder& order : orders) {
    CHECK(order.space == &tight.whole);
    CHECK(order.rung >= need);
    CHECK(order.rung <= tight.problem.capacity);
  }
  CHECK(tight.Shared(tight.problem.capacity + 1).empty());
}

TEST_CASE("where there is little to choose both lists are searched") {
  Ordered place(kGiB * 3);
  const std::size_t usual = place.Shared(0).size();
  const std::vector<SearchOrder> both =
      OrdersOver(place.whole, place.rungs, 0, {place.problem, 10}, false, &place.shared);
  CHECK(OnCoarse(both).size() == 4);
  CHECK(both.size() == usual + 4);
}

TEST_CASE("searches on neither ladder go around the rung that they are made for", "[rungs]") {
  Ordered place(kGiB * 3);
  for (const SearchOrder& order : place.Shared(0)) {
    CHECK(std::find(order.around.begin(), order.around.end(), order.rung) == order.around.end());
    CHECK(order.around.size() >= static_cast<std::size_t>(kRungsAround) - 1);
  }
}

TEST_CASE("without addresses all searches are made for one rung", "[rungs]") {
  Ordered pool(kGiB * 2 + 12345, "paging");
  REQUIRE_FALSE(pool.rungs.AddressesMatter());
  for (const SearchOrder& order : pool.Own()) {
    CHECK(order.rung == pool.rungs.Fine(0));
    CHECK(order.around.empty());
    CHECK_FALSE(order.search.coarse);
  }
}

}  // namespace
}  // namespace spillway
