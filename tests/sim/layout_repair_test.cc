// Moves of what sticks out, by hand, and the live bytes of orders by brute force.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "model/util/random.h"
#include "sim/program/layout/live_curve.h"
#include "sim/program/layout/repair.h"

namespace spillway {
namespace {

constexpr std::int64_t kSteps = 1000;

// As in repair.h: b, a and e, which sticks out of 30 bytes.
const std::vector<Lifetime> kThree = {{.buffer = 0, .bytes = 10, .first = 0, .last = 20},
                                      {.buffer = 1, .bytes = 10, .first = 0, .last = 40},
                                      {.buffer = 2, .bytes = 20, .first = 20, .last = 40}};
const Repair::Offsets kStacked = {0, 10, 20};

TEST_CASE("what sticks out takes a place below, and who is in its way another") {
  Repair repair(kThree, 0, 30, kStacked);
  CHECK(repair.peak() == 40);
  repair.Run(kSteps);
  CHECK(repair.peak() == 30);
  CHECK(repair.best() == Repair::Offsets{0, 20, 0});
}

TEST_CASE("what has no place within the capacity stays, and so does what lies below the base") {
  for (const Bytes capacity : {0, 10, 19}) {
    Repair repair(kThree, 0, capacity, kStacked);
    repair.Run(kSteps);
    CHECK(repair.best() == kStacked);
  }
  Repair above(kThree, 20, 39, kStacked);
  above.Run(kSteps);
  CHECK(above.best() == kStacked);
}

TEST_CASE("no steps, no moves") {
  Repair repair(kThree, 0, 30, kStacked);
  repair.Run(0);
  CHECK(repair.best() == kStacked);
}

TEST_CASE("the most bytes live during a buffer's life are those that adding up all finds") {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<Lifetime> all;
    for (std::int32_t k = 0; k < random.Between(1, 40); ++k) {
      const std::int32_t first = 2 * k;  // no two begin at once
      all.push_back(
          {.buffer = 0, .bytes = random.Between(1, 9), .first = first, .last = first + random.Between(1, 50)});
    }
    const LiveCurve live(all);
    for (const Lifetime& life : all) {
      Bytes most = 0;
      for (std::int32_t item = life.first; item < life.last; ++item) {
        Bytes now = 0;
        for (const Lifetime& other : all) now += other.first <= item && item < other.last ? other.bytes : 0;
        most = std::max(most, now);
      }
      REQUIRE(live.MostDuring(life) == most);
    }
  }
}

}  // namespace
}  // namespace spillway
