#include "sim/strategies/pooch/pooch_model.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "tests/sim/pooch_chain.h"

namespace spillway {
namespace {

constexpr MapClass K = MapClass::kKeep, S = MapClass::kSwap, R = MapClass::kRecompute;

struct Result {
  Simulation simulation;
  SimulationScratch scratch;
};

Result ResultOf(const PoochProfile& profile, const Classes& classes, const SimulationOptions& options = {}) {
  const PoochModel model(profile);
  Result result{{}, model.MakeScratch()};
  result.simulation = model.Simulate(classes, options, result.scratch);
  return result;
}

std::vector<std::int32_t> IssuesOf(const SimulationScratch& scratch) {
  std::vector<std::int32_t> issues;
  for (const SimulationScratch::SwapIn& swap_in : scratch.swap_ins) issues.push_back(swap_in.issue);
  return issues;
}

TEST_CASE("keeping everything costs the ops alone") {
  const Result r = ResultOf(Chain({10, 10, 10}, {5, 6, 7}, {8, 9, 10}, 30), {K, K, K});
  REQUIRE(r.simulation.feasible);
  CHECK(r.simulation.forward == 18);  // 5+6+7
  CHECK(r.simulation.total == 45);    // + 8+9+10
  CHECK(r.simulation.peak == 30);
  CHECK(r.scratch.swap_ins.empty());
}

TEST_CASE("swap-outs form one lane, and backward waits for the last") {
  // compute  0-5-10-15            op 0, 1, 2
  // lane          10--20--30--40  map 0 leaves after op 1, maps 1 and 2 after op 2
  const Result r = ResultOf(Chain({10, 10, 10}, {5, 5, 5}, {5, 5, 5}, 100), {S, S, S});
  CHECK(r.simulation.forward == 40);
  CHECK(r.scratch.out_wait == std::vector<Nanos>{5, 15, 25});  // ends 20, 30, 40 against compute's 15
}

TEST_CASE("a swap-out that ends in time is hidden") {
  // map 0 is copied 10-20 while op 2 runs 10-30; maps 1 and 2 are copied 30-40-50.
  const Result r = ResultOf(Chain({10, 10, 10}, {5, 5, 20}, {5, 5, 5}, 100), {S, S, S});
  CHECK(r.simulation.forward == 50);
  CHECK(r.scratch.out_wait == std::vector<Nanos>{0, 10, 20});
}

TEST_CASE("forward waits for memory that is being copied out") {
  // 20 bytes hold two maps. Op 2 waits from 10 until map 0 is out at 20, then maps 1 and 2 go 25-35-45.
  const Result r = ResultOf(Chain({10, 10, 10}, {5, 5, 5}, {5, 5, 5}, 20), {S, S, S});
  REQUIRE(r.simulation.feasible);
  CHECK(r.simulation.forward == 45);
  CHECK(r.scratch.out_wait == std::vector<Nanos>{10, 10, 20});
  CHECK(r.simulation.peak == 20);
}

TEST_CASE("what does not fit names the op and its bytes") {
  const Result r = ResultOf(Chain({10, 10, 10}, {5, 5, 5}, {5, 5, 5}, 15), {S, S, S});
  CHECK_FALSE(r.simulation.feasible);
  CHECK(r.simulation.worst_op == 1);  // op 1 reads map 0 and writes map 1
  CHECK(r.simulation.needed == 20);
  CHECK(r.simulation.total == kNever);
  // In backward: all kept, 30 bytes, and the first timing, op 3, wants 5 for gradients.
  PoochProfile p = Chain({10, 10, 10}, {5, 5, 5}, {5, 5, 5}, 32);
  p.stretches[0].peak = 5;
  const Result b = ResultOf(p, {K, K, K});
  CHECK_FALSE(b.simulation.feasible);
  CHECK(b.simulation.worst_op == 3);
  CHECK(b.simulation.needed == 35);
  // Without enforcing it the time is known all the same: 15 forward, 15 backward.
  const Result free = ResultOf(p, {K, K, K}, {.enforce_capacity = false});
  CHECK_FALSE(free.simulation.feasible);
  CHECK(free.simulation.total == 30);
}

TEST_CASE("swap-in one timing ahead, and when there is room") {
  const PoochProfile p = Chain({10, 10, 10}, {50, 50, 50}, {30, 5, 5}, 100);
  // lane     0-m2-10-m1-20         40-m0-50     m0 is issued with timing 1, at 40
  // compute       10---t0---40-t1-45     50-t2-55
  const Result ahead = ResultOf(p, {S, S, S}, {.rule = SwapInRule::kOneAhead});
  CHECK(IssuesOf(ahead.scratch) == std::vector<std::int32_t>{0, 0, 1});
  CHECK(ahead.simulation.total - ahead.simulation.forward == 55);
  CHECK(ahead.scratch.in_wait == std::vector<Nanos>{5, 0, 10});
  // With room for all three, m0 comes 20-30 behind m1, and timing 2 starts at 45.
  const Result room = ResultOf(p, {S, S, S}, {.rule = SwapInRule::kWhenRoom});
  CHECK(IssuesOf(room.scratch) == std::vector<std::int32_t>{0, 0, 0});
  CHECK(room.simulation.total - room.simulation.forward == 50);
  CHECK(room.scratch.in_wait == std::vector<Nanos>{0, 0, 10});
}

TEST_CASE("room is needed from issue to need") {
  // Five maps of 10 in 30 bytes. From timing 0 two come early; each timing frees 10, which lets one more in.
  PoochProfile p = Chain({10, 10, 10, 10, 10}, {50, 50, 50, 50, 50}, {9, 9, 9, 9, 9}, 30);
  CHECK(IssuesOf(ResultOf(p, Classes(5, S), {.rule = SwapInRule::kWhenRoom}).scratch) ==
        std::vector<std::int32_t>{0, 0, 0, 1, 2});
  // In bursts: 1 and 2 from timing 0, then no more before timing 2, the last one served.
  CHECK(IssuesOf(ResultOf(p, Classes(5, S), {.rule = SwapInRule::kBursts}).scratch) ==
        std::vector<std::int32_t>{0, 0, 0, 2, 2});
  // A timing 1 with 15 bytes of gradients beside its map has room for nothing else.
  p.stretches[1].peak = 15;
  CHECK(IssuesOf(ResultOf(p, Classes(5, S), {.rule = SwapInRule::kWhenRoom}).scratch) ==
        std::vector<std::int32_t>{0, 0, 2, 2, 2});
}

TEST_CASE("swap-ins at the convolution before") {
  PoochProfile p = Chain({10, 10, 10, 10}, {50, 50, 50, 50}, {9, 9, 9, 9}, 20);
  p.timings[1].convolution = p.timings[2].convolution = true;
  // Timing 1's map comes at the start (no convolution before), timing 2's with 1, timing 3's with 2. Memory is not
  // looked at: with a third map only 20 bytes are there at timing 0.
  CHECK(IssuesOf(ResultOf(p, Classes(4, S), {.rule = SwapInRule::kPreviousConvolution}).scratch) ==
        std::vector<std::int32_t>{0, 0, 1, 2});
}

TEST_CASE("recomputing runs the forward op again") {
  const PoochProfile p = Chain({10, 10, 10}, {5, 6, 7}, {8, 9, 10}, 100);
  const Result one = ResultOf(p, {K, R, K});
  CHECK(one.simulation.total == 18 + 27 + 6);
  CHECK(one.simulation.backward_compute == 27 + 6);
  // Map 2 needs map 1, which is gone too: 7+6, and map 1 stays for timing 1.
  CHECK(ResultOf(p, {K, R, R}).simulation.total == 18 + 27 + 13);
  // A swapped source is brought in for the chain: swap-out 11-21, when forward ends; swap-in for timing 1.
  const Result source = ResultOf(p, {S, R, K});
  REQUIRE(source.scratch.swap_ins.size() == 1);
  CHECK(source.scratch.swap_ins[0].need == 1);
  CHECK(source.simulation.total == 21 + 10 + (6 + 9) + 10);  // copied 0-10, needed at 8: 2 late
  CHECK(source.scratch.in_wait[0] == 2);
}

TEST_CASE("recomputed maps take memory when they come, transients only in passing") {
  // Map 1 is computed from map 0 through a transient of 20 bytes with 3 bytes of workspace.
  PoochProfile p = Chain({10, 10, 10}, {5, 5, 5}, {5, 5, 5}, 1000);
  const std::int32_t transient = 3;
  p.inputs = {transient, 1, 0};  // of map 1, of map 2, of the transient
  p.writers[1].inputs_begin = 0, p.writers[1].inputs_end = 1;
  p.writers[2].inputs_begin = 1, p.writers[2].inputs_end = 2;
  p.values.push_back({20, 3, 4});
  p.writers.push_back({4, 3, 2, 3});
  const Result r = ResultOf(p, {K, R, K});
  CHECK(r.simulation.total == 30 + 5 + 4);
  // Timing 1 holds map 0 (map 2 is dead); the chain takes 20+3, then 20+10. Forward takes 30 as well; add bytes to
  // backward to see it: 40 + 10 + 30 against 40 + 20 at timing 0.
  p.timings[0].before = p.stretches[0].peak = 40;
  p.timings[1].before = p.stretches[1].peak = 40;
  CHECK(ResultOf(p, {K, R, K}).simulation.peak == 80);
}

TEST_CASE("what a recomputation passes stays, or is freed and computed again for its own use") {
  // Timing 0 wants map 2 and recomputes 5+6+7; maps 1 and 0 stay for timings 1 and 2.
  PoochProfile p = Chain({10, 10, 10}, {5, 6, 7}, {8, 9, 10}, 100);
  const Result kept = ResultOf(p, {R, R, R});
  CHECK(kept.simulation.backward_compute == 27 + 18);
  CHECK(kept.scratch.load == std::vector<Bytes>{30, 20, 10});
  // Freed: map 0 goes once map 1 is there, so two at a time; 5+6+7, then 5+6, then 5.
  const Result freed = ResultOf(p, {R, R, R}, {.keep_passed = false});
  CHECK(freed.simulation.backward_compute == 27 + 18 + 11 + 5);
  CHECK(freed.scratch.load == std::vector<Bytes>{20, 20, 10});
  // What the timing itself wants stays even so: timing 0 wants map 1 as well.
  p.needs = {2, 1, 1, 0};
  for (std::int32_t k = 0; k < 3; ++k) {
    p.timings[static_cast<std::size_t>(k)].needs_begin = k == 0 ? 0 : k + 1;
    p.timings[static_cast<std::size_t>(k)].needs_end = k + 2;
  }
  CHECK(ResultOf(p, {R, R, R}, {.keep_passed = false}).simulation.backward_compute == 27 + 18 + 5);
}

TEST_CASE("maps are recomputed before the transients beside which they are read") {
  // Map 2 joins a transient of 20 bytes and map 1, both computed from map 0, map 1 with a workspace of 19. Beside map 0
  // that takes 10+19, then 10+20, then 10+20+10. The transient first, it would be 20, then 20+10+19.
  PoochProfile p = Chain({10, 10, 10}, {5, 6, 7}, {8, 9, 10}, 100);
  const std::int32_t transient = 3;
  p.inputs = {0, transient, 1, 0};  // of map 1, of map 2, of the transient
  p.writers[1] = {6, 19, 0, 1};
  p.writers[2] = {7, 0, 1, 3};
  p.values.push_back({20, 3, 4});
  p.writers.push_back({4, 0, 3, 4});
  const Result r = ResultOf(p, {K, R, R});
  CHECK(r.scratch.load[0] == 10 + 40);
  CHECK(r.simulation.backward_compute == 27 + 6 + 4 + 7);
}

TEST_CASE("a map goes after the last op that uses it, before the timing's next ops") {
  // Timing 0: one op with 5 bytes of its own uses map 2, then others hold 12.
  PoochProfile p = Chain({10, 10, 10}, {5, 6, 7}, {8, 9, 10}, 100);
  p.stretches = {{5, 0, 1}, {12, 1, 1}, {0, 1, 2}, {0, 2, 3}};
  p.timings[0].stretches_end = 2;
  p.timings[1].stretches_begin = 2, p.timings[1].stretches_end = 3;
  p.timings[2].stretches_begin = 3, p.timings[2].stretches_end = 4;
  CHECK(ResultOf(p, {K, K, K}).scratch.load == std::vector<Bytes>{35, 20, 10});  // 30+5 against 20+12
  p.stretches[1].peak = 18;
  CHECK(ResultOf(p, {K, K, K}).scratch.load[0] == 38);
}

TEST_CASE("joins that would be recomputed without end are given up") {
  // Map i > 0 is read from map i-1 twice over: each computation of it computes map i-1 and two transients' sources ...
  PoochProfile p = Chain(std::vector<Bytes>(30, 1), std::vector<Nanos>(30, 1), std::vector<Nanos>(30, 1), 1000);
  // ... from 30 maps on that is 2^30 ops. Each map's two transients are values 30 + 2 i and 31 + 2 i.
  p.inputs.clear();
  const auto input = [&](std::int32_t value) { p.inputs.push_back(value); };
  for (std::int32_t i = 1; i < 30; ++i) {
    PoochProfile::Writer& join = p.writers[static_cast<std::size_t>(i)];
    join.inputs_begin = static_cast<std::int32_t>(p.inputs.size());
    input(28 + 2 * i), input(29 + 2 * i);
    join.inputs_end = join.inputs_begin + 2;
  }
  p.writers[0].inputs_begin = p.writers[0].inputs_end = 0;
  for (std::int32_t i = 1; i < 30; ++i) {
    for (int side = 0; side < 2; ++side) {
      const auto at = static_cast<std::int32_t>(p.writers.size());
      p.values.push_back({1, at, at + 1});
      p.writers.push_back({1, 0, static_cast<std::int32_t>(p.inputs.size()), 0});
      input(i - 1);
      p.writers.back().inputs_end = static_cast<std::int32_t>(p.inputs.size());
    }
  }
  Classes all(30, R);
  const Simulation freed = ResultOf(p, all, {.keep_passed = false}).simulation;
  CHECK(freed.endless);
  CHECK_FALSE(freed.feasible);
  CHECK(freed.total == kNever);
  const Simulation kept = ResultOf(p, all).simulation;
  CHECK(kept.feasible);
  CHECK(kept.backward_compute == 30 + 30 + 2 * 29);  // every op once
}

TEST_CASE("the input is dropped for nothing and copied in") {
  PoochProfile p = Chain({10, 10}, {5, 5}, {5, 5}, 100);
  p.maps[0].on_host = true;
  p.maps[0].out_time = 0;
  p.upload = 7;
  // 7 upload, 10 forward; map 1 is kept. Backward: the input comes 0-10, timing 1 wants it at 5.
  const Result r = ResultOf(p, {S, K});
  CHECK(r.simulation.forward == 17);
  CHECK(r.simulation.total == 17 + 10 + 5);
  CHECK(r.scratch.out_wait[0] == 0);
}

TEST_CASE("instant copies leave the memory as it is") {
  const PoochProfile p = Chain({10, 10, 10}, {5, 5, 5}, {5, 5, 5}, 20);
  // Map 0's memory is free at 10: no stall. Maps 1, 2 go 15-25-35. Backward: m2 0-10, m1 10-20 (issued at timing 0),
  // m0 at once: timings 10-15, 20-25, 25-30.
  const Result r = ResultOf(p, {S, S, S}, {.rule = SwapInRule::kWhenRoom, .instant = 0});
  CHECK(r.simulation.forward == 35);
  CHECK(r.simulation.total == 35 + 30);
}

TEST_CASE("delaying swap-ins moves no copy") {
  // All three are issued at 0 and copied 0-10-20-30; timings start at 10, 40, 45. Map 0's copy starts at 20, within
  // timing 0, so it stays there; with a first timing of 5 instead (10-15, issue of timing 1 at 15) it moves to 1.
  Result late = ResultOf(Chain({10, 10, 10}, {50, 50, 50}, {30, 5, 5}, 100), {S, S, S});
  DelaySwapIns(late.scratch);
  CHECK(IssuesOf(late.scratch) == std::vector<std::int32_t>{0, 0, 0});
  Result moved = ResultOf(Chain({10, 10, 10}, {50, 50, 50}, {5, 5, 5}, 100), {S, S, S});
  DelaySwapIns(moved.scratch);
  CHECK(IssuesOf(moved.scratch) == std::vector<std::int32_t>{0, 0, 1});
}

// The rules as their definitions read, map by map and timing by timing.
std::vector<std::int32_t> IssuesByDefinition(const PoochProfile& p, const Classes& classes, SwapInRule rule) {
  const auto n = static_cast<std::int32_t>(p.maps.size());
  const auto needs = [&](std::int32_t k) { return static_cast<std::size_t>(n - 1 - k); };
  std::vector<Bytes> load;
  for (std::int32_t k = 0; k < n; ++k) {
    Bytes live = p.stretches[static_cast<std::size_t>(k)].peak + p.maps[needs(k)].bytes;
    for (std::size_t m = 0; m < needs(k); ++m) live += classes[m] == K ? p.maps[m].bytes : 0;
    load.push_back(live);
  }
  std::vector<std::int32_t> issue(load.size(), -1);  // by the timing that needs it
  std::int32_t last_served = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    if (issue[static_cast<std::size_t>(i)] < 0) issue[static_cast<std::size_t>(i)] = i;
    if (rule == SwapInRule::kBursts && i < last_served) continue;
    for (std::int32_t j = i + 1; j < n; ++j) {
      const Bytes bytes = classes[needs(j)] == S ? p.maps[needs(j)].bytes : 0;
      if (issue[static_cast<std::size_t>(j)] >= 0) continue;
      const bool fits =
          std::all_of(load.begin() + i, load.begin() + j, [&](Bytes b) { return b + bytes <= p.capacity; });
      if (!fits) break;
      for (std::int32_t k = i; k < j; ++k) load[static_cast<std::size_t>(k)] += bytes;
      issue[static_cast<std::size_t>(j)] = i;
      last_served = j;
    }
  }
  std::vector<std::int32_t> result;
  for (std::int32_t k = 0; k < n; ++k) {
    if (classes[needs(k)] == S) result.push_back(issue[static_cast<std::size_t>(k)]);
  }
  return result;
}

TEST_CASE("fast scheduling equals its definition on random chains") {
  std::mt19937 random(1);
  int compared = 0;
  for (int round = 0; round < 2000; ++round) {
    const PoochProfile p = RandomChain(random, 2 + round % 12);
    Classes classes;
    for (std::size_t m = 0; m < p.maps.size(); ++m) classes.push_back(random() % 4 == 0 ? K : S);
    for (SwapInRule rule : {SwapInRule::kWhenRoom, SwapInRule::kBursts}) {
      const Result r = ResultOf(p, classes, {.rule = rule});
      if (!r.simulation.feasible) continue;
      REQUIRE(IssuesOf(r.scratch) == IssuesByDefinition(p, classes, rule));
      ++compared;
    }
  }
  CHECK(compared > 2000);
}

TEST_CASE("a map in class free is never slower than in any other") {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    const PoochProfile p = RandomChain(random, 2 + round % 8);
    Classes classes;
    for (std::size_t m = 0; m < p.maps.size(); ++m) classes.push_back(std::array{K, S, R}[random() % 3]);
    classes[0] = classes[0] == R ? S : classes[0];
    Simulation full = ResultOf(p, classes).simulation;
    for (std::size_t m = 0; m < classes.size(); ++m) {
      if (random() % 2 == 0) classes[m] = MapClass::kFree;
      const Simulation relaxed = ResultOf(p, classes).simulation;
      REQUIRE(relaxed.total <= full.total);
      full = relaxed;
    }
  }
}

TEST_CASE("the peak without enforcement is the capacity that is enough") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    PoochProfile p = RandomChain(random, 2 + round % 8);
    const Classes all_kept(p.maps.size(), K);
    p.capacity = ResultOf(p, all_kept, {.enforce_capacity = false}).simulation.peak;
    REQUIRE(ResultOf(p, all_kept).simulation.feasible);
    p.capacity -= 1;
    REQUIRE_FALSE(ResultOf(p, all_kept).simulation.feasible);
  }
}

}  // namespace
}  // namespace spillway
