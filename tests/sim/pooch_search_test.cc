// PoocH's two classification steps against brute force and against what the paper says of them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <iterator>

#include "tests/sim/pooch_chain.h"

namespace spillway {
namespace {

constexpr MapClass K = MapClass::kKeep, S = MapClass::kSwap, R = MapClass::kRecompute;

Nanos TimeOf(const PoochProfile& p, const Classes& classes, SwapInRule rule = SwapInRule::kWhenRoom) {
  const PoochModel model(p);
  return Search(model, rule).Simulate(classes).total;
}

int CountOf(const Classes& classes, MapClass c) {
  return static_cast<int>(std::count(classes.begin(), classes.end(), c));
}

TEST_CASE("hidden swaps stay swaps") {
  // Ops of 100, maps of 10: swap-outs of maps 0 and 1 are hidden (100 to copy 10); the last two leave after the last
  // op, at 400 (10 + 10). Swap-ins: map 3 has nothing to hide behind, the others do.
  const PoochProfile p = Chain({10, 10, 10, 10}, {100, 100, 100, 100}, {100, 100, 100, 100}, 1000);
  const PoochModel model(p);
  Search search(model, SwapInRule::kWhenRoom);
  const KeepOrSwap result = SearchKeepOrSwap(search, 0);
  CHECK(result.out_stalls == std::vector<std::int32_t>{2, 3});
  CHECK(result.in_stalls == std::vector<std::int32_t>{3});
  CHECK(result.classes == Classes{S, S, K, K});
  CHECK(result.simulation.total == 800);  // the ops alone
  CHECK(result.exact);
}

TEST_CASE("step 1 keeps from the output layer what fits") {
  // As above in 30 bytes, of which timing 0 wants 15 for gradients: one map can be kept. L_I = {3} comes first.
  PoochProfile p = Chain({10, 10, 10, 10}, {100, 100, 100, 100}, {100, 100, 100, 100}, 30);
  p.stretches[0].peak = 15;
  const PoochModel model(p);
  Search search(model, SwapInRule::kWhenRoom);
  const KeepOrSwap result = SearchKeepOrSwap(search, 0);
  CHECK(result.classes == Classes{S, S, S, K});
  // Map 2 goes out 400-410, and comes in when timing 0 has made room, 100-110: 10 late both times.
  CHECK(result.simulation.total == 800 + 10 + 10);
}

// The fastest leaf of the paper's tree, every one of them visited.
Nanos BruteForce(const PoochProfile& p, const KeepOrSwap& lists) {
  std::vector<std::int32_t> scan;
  std::set_difference(lists.out_stalls.begin(), lists.out_stalls.end(), lists.in_stalls.begin(), lists.in_stalls.end(),
                      std::back_inserter(scan));
  Nanos best = kNever;
  for (std::uint32_t mask = 0; mask < (1u << lists.in_stalls.size()); ++mask) {
    Classes classes(p.maps.size(), S);
    for (std::size_t i = 0; i < lists.in_stalls.size(); ++i) {
      if ((mask >> i & 1u) != 0) classes[static_cast<std::size_t>(lists.in_stalls[i])] = K;
    }
    best = std::min(best, TimeOf(p, classes));
    if (TimeOf(p, classes) == kNever) continue;
    for (auto m = scan.rbegin(); m != scan.rend(); ++m) {
      classes[static_cast<std::size_t>(*m)] = K;
      if (TimeOf(p, classes) == kNever) break;
      best = std::min(best, TimeOf(p, classes));
    }
  }
  return best;
}

TEST_CASE("the search over L_I is exact") {
  std::mt19937 random(11);
  std::size_t most = 0;
  for (int round = 0; round < 400; ++round) {
    const PoochProfile p = RandomChain(random, 2 + round % 10);
    const PoochModel model(p);
    Search search(model, SwapInRule::kWhenRoom);
    const KeepOrSwap result = SearchKeepOrSwap(search, 1);  // at most 11 maps: the cap does not apply
    REQUIRE(result.exact);
    REQUIRE(result.simulation.total == TimeOf(p, result.classes));
    REQUIRE(result.simulation.total == BruteForce(p, result));
    most = std::max(most, result.in_stalls.size());
  }
  CHECK(most >= 6);
}

TEST_CASE("a cap stops the search but not its answer") {
  std::mt19937 random(12);
  int stopped = 0;
  for (int round = 0; round < 60; ++round) {
    PoochProfile p = RandomChain(random, 24);
    for (PoochProfile::Map& map : p.maps) map.in_time *= 3;  // so that many swap-ins stall
    const PoochModel model(p);
    Search capped(model, SwapInRule::kWhenRoom), all(model, SwapInRule::kWhenRoom);
    const KeepOrSwap some = SearchKeepOrSwap(capped, 60);
    const KeepOrSwap best = SearchKeepOrSwap(all, 0);
    REQUIRE(best.exact);
    REQUIRE(best.simulation.total <= some.simulation.total);
    REQUIRE(some.simulation.total <= TimeOf(p, all.AllSwap()));
    REQUIRE(some.exact == (some.in_stalls.size() <= kExactLimit || capped.simulations < 60));
    stopped += some.exact ? 0 : 1;
  }
  CHECK(stopped > 5);
}

TEST_CASE("every step of PoocH is at least as fast as the one before") {
  std::mt19937 random(13);
  int faster = 0;
  for (int round = 0; round < 500; ++round) {
    const PoochProfile p = RandomChain(random, 2 + round % 14);
    const PoochModel model(p);
    Search search(model, SwapInRule::kWhenRoom);
    KeepOrSwap step1 = SearchKeepOrSwap(search, 1000);
    std::vector<std::string> notes;
    const Nanos pooch = ChooseRecompute(search, RecomputeOverhead::kTimeline, step1.classes, notes).total;
    const Nanos swap_all = TimeOf(p, search.AllSwap());
    REQUIRE(pooch <= step1.simulation.total);
    REQUIRE(step1.simulation.total <= swap_all);
    REQUIRE(swap_all <= TimeOf(p, search.AllSwap(), SwapInRule::kOneAhead));
    faster += pooch < step1.simulation.total ? 1 : 0;
  }
  CHECK(faster > 20);
}

TEST_CASE("the ratio of overheads decides") {
  // Copies take 100, ops 1.
  PoochProfile p = Chain({100, 100, 100}, {1, 1, 1}, {1, 1, 1}, 1000);
  p.maps[0].on_host = true;
  p.maps[0].out_time = 0;
  const PoochModel model(p);
  Search search(model, SwapInRule::kWhenRoom);
  Classes classes{K, S, K};
  std::vector<std::string> notes;
  // Swapped: out 3-103, in 0-100 while timing 0 takes 1: T = 103 + 100 + 2. Instant: 3 + 3. Overhead 199.
  // Recomputed: 3 + 3 + 1. Overhead 1. r = 1/199.
  const Simulation result = ChooseRecompute(search, RecomputeOverhead::kTimeline, classes, notes);
  CHECK(classes == Classes{K, R, K});
  CHECK(result.total == 7);
  CHECK(notes[1] == "r = 0.01 < 1");
  // With a forward op as long as both copies recomputing gains nothing: overhead 199 against 199.
  p.writers[1].time = 199;
  const PoochModel slow(p);
  Search slow_search(slow, SwapInRule::kWhenRoom);
  classes = {K, S, K};
  ChooseRecompute(slow_search, RecomputeOverhead::kTimeline, classes, notes);
  CHECK(classes == Classes{K, S, K});
  CHECK(notes[1] == "r = 1.00 >= 1");
}

TEST_CASE("copies that take no time leave nothing to recompute") {
  std::mt19937 random(14);
  for (int round = 0; round < 200; ++round) {
    PoochProfile p = RandomChain(random, 2 + round % 10);
    for (PoochProfile::Map& map : p.maps) map.in_time = map.out_time = 0;
    const PoochModel model(p);
    Search search(model, SwapInRule::kWhenRoom);
    KeepOrSwap step1 = SearchKeepOrSwap(search, 0);
    REQUIRE(step1.out_stalls.empty());
    REQUIRE(step1.in_stalls.empty());
    REQUIRE(step1.classes == search.AllSwap());
    std::vector<std::string> notes;
    ChooseRecompute(search, RecomputeOverhead::kTimeline, step1.classes, notes);
    REQUIRE(CountOf(step1.classes, R) == 0);
    REQUIRE(notes[0] == "swapping costs no time");
  }
}

TEST_CASE("the input is never recomputed") {
  std::mt19937 random(15);
  for (int round = 0; round < 200; ++round) {
    PoochProfile p = RandomChain(random, 6);
    p.maps[0].on_host = true;
    p.maps[0].out_time = 0;
    const PoochModel model(p);
    for (RecomputeOverhead overhead : {RecomputeOverhead::kTimeline, RecomputeOverhead::kCompute}) {
      Search search(model, SwapInRule::kWhenRoom);
      KeepOrSwap step1 = SearchKeepOrSwap(search, 0);
      std::vector<std::string> notes;
      ChooseRecompute(search, overhead, step1.classes, notes);
      REQUIRE(step1.classes[0] != R);
    }
  }
}

TEST_CASE("the published greedy fills memory from the output layer") {
  // Timing 0 has 41 bytes, 15 of them for gradients. L_O = {2, 3} as above, and both fit: 35.
  PoochProfile p = Chain({5, 20, 10, 10}, {100, 100, 100, 100}, {100, 100, 100, 100}, 41);
  p.stretches[0].peak = 15;
  const PoochModel model(p);
  Search search(model, SwapInRule::kBursts);
  // Map 1 would make it 55 and is skipped, map 0 makes it 40.
  CHECK(GreedyKeepOrSwap(search).classes == Classes{K, S, K, K});
}

}  // namespace
}  // namespace spillway
