#include "model/util/graph.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace spillway {

using Indices = std::vector<std::size_t>;

TEST_CASE("an order that is right is kept") {
  // 0 and 1 read nothing, 2 reads 0, 3 reads 1 and 2: many orders are right, the given one is.
  CHECK(OrderByInputs({{}, {}, {0}, {1, 2}}).order == Indices{0, 1, 2, 3});
  CHECK(OrderByInputs({}).order.empty());
  CHECK(OrderByInputs({{}, {0, 0}}).order == Indices{0, 1});  // two uses of one result
}

TEST_CASE("inputs listed too late come just before their first reader") {
  // 0 reads 2; 1 reads nothing; 3 reads 0 and 1.
  CHECK(OrderByInputs({{2}, {}, {}, {0, 1}}).order == Indices{2, 0, 1, 3});
}

TEST_CASE("a cycle is found and named once") {
  const TopologicalOrder self = OrderByInputs({{}, {1}});
  CHECK(self.order.empty());
  CHECK(self.cycle == Indices{1});
  // 1 reads 2, 2 reads 3, 3 reads 1; 0 and 4 are on the way in and out.
  const TopologicalOrder ring = OrderByInputs({{}, {0, 2}, {3}, {1}, {3}});
  CHECK(ring.order.empty());
  CHECK(ring.cycle == Indices{1, 2, 3});
}

TEST_CASE("every order of a small graph comes out right") {
  // A diamond and a tail, 0 <- 1, 0 <- 2, {1, 2} <- 3, 3 <- 4, under all 120 numberings.
  const std::vector<Indices> inputs{{}, {0}, {0}, {1, 2}, {3}};
  Indices number{0, 1, 2, 3, 4};
  do {
    InputLists renumbered(5);
    for (std::size_t node = 0; node < 5; ++node) {
      for (const std::size_t input : inputs[node]) renumbered[number[node]].push_back(number[input]);
    }
    const Indices order = OrderByInputs(renumbered).order;
    REQUIRE(order.size() == 5);
    Indices place(5);
    for (std::size_t i = 0; i < 5; ++i) place[order[i]] = i;
    for (std::size_t node = 0; node < 5; ++node) {
      for (const std::size_t input : renumbered[node]) CHECK(place[input] < place[node]);
    }
  } while (std::next_permutation(number.begin(), number.end()));
}

}  // namespace spillway
