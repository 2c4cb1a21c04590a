// The ladder of capacities: its law, and what it remembers.
#include "sim/strategies/pooch/ladder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <random>
#include <utility>

#include "tests/sim/pooch_chain.h"

namespace spillway {
namespace {

// Chains of which many swap-ins stall, so that step 1 has much to search and step 2 to gain.
PoochProfile SlowChain(std::mt19937& random, int n) {
  PoochProfile p = RandomChain(random, n);
  for (PoochProfile::Map& map : p.maps) map.in_time *= 3;
  return p;
}

Ladder LadderAt(PoochProfile profile, Bytes capacity, const RungQuestion& like, RungCache* memo,
                std::int64_t* simulations = nullptr) {
  profile.capacity = capacity;
  const PoochModel model(std::move(profile));
  Search search(model, SwapInRule::kWhenRoom);
  search.keep_passed = like.keep_passed;
  Ladder ladder = SearchLadder(search, like, memo);
  if (simulations != nullptr) *simulations = search.simulations;
  return ladder;
}

struct Crossed {  // how often what is compared is worth comparing
  int capped = 0, into_exact = 0, faster = 0;
};

void CheckLaw(const PoochProfile& p, const RungQuestion& like, Crossed& crossed) {
  RungCache memo;
  std::optional<Ladder> less;
  for (Bytes capacity = p.capacity; capacity < p.capacity + 120; capacity += 3) {
    const Ladder ladder = LadderAt(p, capacity, like, &memo);
    if (ladder.rungs == 0) continue;
    if (less && less->found_for >= ladder.lowest) {
      REQUIRE(ladder.total <= less->total);
      crossed.faster += ladder.total < less->total ? 1 : 0;
      crossed.into_exact += ladder.exact && !less->exact ? 1 : 0;
    }
    crossed.capped += ladder.exact ? 0 : 1;
    less = ladder;
  }
}

TEST_CASE("with more memory nothing slower is found, exact or capped, as far down as the ladder reaches") {
  std::mt19937 random(31);
  Crossed crossed;
  for (int round = 0; round < 24; ++round) {
    const PoochProfile p = SlowChain(random, 14 + round % 12);
    for (const bool recompute : {false, true}) {
      for (const std::int64_t step2 : {15, 5000}) {  // the first one stops step 2 on most rungs
        RungQuestion like;
        like.recompute = recompute;
        like.limits = {.rungs = 12, .step1 = 80, .step2 = step2};
        CheckLaw(p, like, crossed);
      }
    }
  }
  CHECK(crossed.capped > 100);
  CHECK(crossed.faster > 100);
  CHECK(crossed.into_exact > 0);
}

TEST_CASE("the ladder ends where nothing can be faster") {
  const PoochProfile p = Chain({10, 10, 10, 10}, {100, 100, 100, 100}, {100, 100, 100, 100}, 1000);
  RungQuestion pooch;
  pooch.recompute = true;
  const Ladder ladder = LadderAt(p, 1000, pooch, nullptr);
  CHECK(ladder.rungs == 1);
  CHECK(ladder.total == 800);  // the ops alone
  CHECK(ladder.lowest == 0);
  CHECK(ladder.found_for == 992);  // 62 * 16
}

TEST_CASE("what was found for a rung is the same for who asks again, what it took included") {
  std::mt19937 random(32);
  for (int round = 0; round < 10; ++round) {
    const PoochProfile p = SlowChain(random, 16);
    RungCache memo;
    for (Bytes capacity = p.capacity + 10; capacity < p.capacity + 40; capacity += 7) {
      for (const bool recompute : {false, true}) {
        RungQuestion like;
        like.recompute = recompute;
        std::int64_t simulations = 0, alone = 0;
        const Ladder shared = LadderAt(p, capacity, like, &memo, &simulations);
        const Ladder own = LadderAt(p, capacity, like, nullptr, &alone);
        REQUIRE(shared.best == own.best);
        REQUIRE(shared.total == own.total);
        REQUIRE(simulations == alone);
      }
    }
  }
}

TEST_CASE("strategies and capacities share rungs, and step 1 on them") {
  std::mt19937 random(33);
  PoochProfile p = SlowChain(random, 16);
  p.capacity = 500;
  RungCache memo;
  RungQuestion swap_opt, top, low;
  top.rung = 496;  // 62 * 8
  low.rung = 488;
  // Planted: step 1 of the first rung, and all of the second one.
  const Classes all_swap(p.maps.size(), MapClass::kSwap);
  memo.Get(top, [&] { return RungAnswer{.feasible = true, .exact = true, .classes = all_swap, .simulations = 1}; });
  memo.Get(low, [] { return RungAnswer{.feasible = false, .exact = true, .classes = {}, .simulations = 1}; });
  for (const Bytes capacity : {496, 500, 503}) {
    const Ladder ladder = LadderAt(p, capacity, swap_opt, &memo);
    CHECK(ladder.rungs == 1);
    CHECK(ladder.best == all_swap);
  }
  // Another question: rungs with step 2. Its step 1 is the planted one, in which nothing is kept.
  RungQuestion pooch;
  pooch.recompute = true;
  const Ladder ladder = LadderAt(p, 500, pooch, &memo);
  CHECK(ladder.rungs == 1);
  CHECK(std::count(ladder.best.begin(), ladder.best.end(), MapClass::kKeep) == 0);
  CHECK(std::count(ladder.best.begin(), ladder.best.end(), MapClass::kRecompute) > 0);
  // With other limits nothing of it is shared.
  pooch.limits.step1 = 900;
  const Classes alone = LadderAt(p, 500, pooch, &memo).best;
  CHECK(std::count(alone.begin(), alone.end(), MapClass::kKeep) > 0);
}

TEST_CASE("step 2 on a rung ends where no swapped map gains") {
  std::mt19937 random(34);
  int recomputed = 0;
  for (int round = 0; round < 200; ++round) {
    const PoochProfile p = SlowChain(random, 4 + round % 20);
    const PoochModel model(p);
    Search search(model, SwapInRule::kWhenRoom);
    search.keep_passed = false;
    const KeepOrSwap step1 = SearchKeepOrSwap(search, 50);
    Classes classes = step1.classes;
    const Nanos total = ChooseRecomputeWithin(search, 100000, classes).total;
    REQUIRE(total == search.Simulate(classes).total);
    REQUIRE(total <= step1.simulation.total);
    for (std::size_t m = 0; m < classes.size(); ++m) {
      recomputed += classes[m] == MapClass::kRecompute ? 1 : 0;
      if (classes[m] != MapClass::kSwap) continue;
      Classes changed = classes;
      changed[m] = MapClass::kRecompute;
      const bool gains = search.Simulate(changed).total < total;
      // But where swapping costs no time there is nothing to gain by not swapping.
      REQUIRE((!gains || search.Simulate(classes, static_cast<std::int32_t>(m)).total >= total));
    }
  }
  CHECK(recomputed > 100);
}

TEST_CASE("a step 2 that is stopped is no slower than step 1") {
  std::mt19937 random(35);
  for (int round = 0; round < 100; ++round) {
    const PoochProfile p = SlowChain(random, 12);
    const PoochModel model(p);
    Search search(model, SwapInRule::kWhenRoom);
    const KeepOrSwap step1 = SearchKeepOrSwap(search, 50);
    Classes classes = step1.classes;
    search.simulations = 0;
    REQUIRE(ChooseRecomputeWithin(search, round, classes).total <= step1.simulation.total);
    REQUIRE(search.simulations <= round + 3);
  }
}

TEST_CASE("a note says what holds at the capacity that there is, and for which one it was decided") {
  // As in pooch_search_test: r = 1/199.
  PoochProfile p = Chain({100, 100, 100}, {1, 1, 1}, {1, 1, 1}, 1000);
  p.maps[0].on_host = true;
  p.maps[0].out_time = 0;
  const PoochModel model(p);
  Search search(model, SwapInRule::kWhenRoom);
  constexpr MapClass K = MapClass::kKeep, S = MapClass::kSwap, R = MapClass::kRecompute;
  CHECK(NotesAt(search, {K, R, K}, 13 * kGB)[1] == "r = 0.01 < 1");
  CHECK(NotesAt(search, {K, S, K}, 13 * kGB)[1] == "r = 0.01 < 1 here, decided for 13.0 GB");
  CHECK(NotesAt(search, {K, R, K}, 13 * kGB)[0].empty());
  p.writers[1].time = 199;
  const PoochModel slow(p);
  Search slow_search(slow, SwapInRule::kWhenRoom);
  CHECK(NotesAt(slow_search, {K, S, K}, 13 * kGB)[1] == "r = 1.00 >= 1");
  CHECK(NotesAt(slow_search, {K, R, K}, 13 * kGB)[1] == "r = 1.00 >= 1 here, decided for 13.0 GB");
}

}  // namespace
}  // namespace spillway
