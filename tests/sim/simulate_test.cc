// The engines against timelines drawn by hand and against the known answers of train_chain. What holds the host up:
// simulate_host_test.cc; each other: simulate_random_test.cc.
#include "sim/engine/simulate.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "tests/deep.h"
#include "tests/sim/flat_lines.h"
#include "tests/sim/reference_engine.h"
#include "tests/sim/relaxation_lines.h"
#include "tests/sim/sketch.h"
#include "tests/sim/train_chain.h"

namespace spillway {
namespace {

TEST_CASE("train chain gives the known makespan and peak in both engines") {
  for (const Engine engine : kEngines) {
    for (const TrainChainCheck& check : kTrainChainChecks) {
      const TrainChain chain = MakeTrainChain(check.layers);
      Scratch scratch;
      const Simulated result = engine(chain.program, chain.durations, {}, scratch, nullptr);
      CHECK(result.makespan == check.makespan);
      CHECK(result.live_peak == check.peak);
    }
  }
}

TEST_CASE("the reference engine gives them too") {
  for (const TrainChainCheck& check : kTrainChainChecks) {
    const ReferenceEngine::Result result = ReferenceEngine(check.layers).Run();
    CHECK(result.makespan == check.makespan);
    CHECK(result.peak == check.peak);
  }
}

TEST_CASE("the least lines that relax it do") {
  for (const TrainChainCheck& check : kTrainChainChecks) {
    RelaxationLines lines(check.layers);
    CHECK(lines.Run<true>() == check.makespan);
    CHECK(lines.Peak() == check.peak);
    CHECK(lines.Run<false>() == check.makespan);
    FlatLines<3> flat = FlatTrainChain(check.layers);
    CHECK(flat.Run<true>() == check.makespan);
    CHECK(flat.Peak() == check.peak);
    CHECK(flat.Run<false>() == check.makespan);
  }
}

TEST_CASE("a kernel waits for a copy, and the stall is charged to it") {
  // compute  |K 10|------stall 15------|K 5|
  // h2d      |Copy 25..................|
  TimedSketch sketch;
  sketch.Copy(2, 25);
  const std::uint32_t arrived = sketch.Record(2);
  sketch.Kernel(10);
  sketch.Wait(0, arrived, Cause::kSwapIn);
  sketch.Kernel(5);
  for (const Engine engine : kEngines) {
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, {}, &timeline).makespan == 30);
    CHECK(StallOf(timeline, Cause::kSwapIn) == 15);
    CHECK(timeline.host_stall == 0);
    REQUIRE(timeline.spans.size() == 3);
    CHECK(timeline.spans[2].start == 25);
    CHECK(timeline.spans[2].end == 30);
  }
}

TEST_CASE("the host can be the bottleneck") {
  // Issue takes 7 each: kernels of 3 start at 7, 14, 21 and the last ends at 24; compute idles 7 + 4 + 4.
  TimedSketch sketch;
  for (int i = 0; i < 3; ++i) sketch.Kernel(3);
  Conditions conditions;
  conditions.host_cost[static_cast<std::size_t>(Opcode::kKernel)] = 7;
  for (const Engine engine : kEngines) {
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, conditions, &timeline).makespan == 24);
    CHECK(timeline.host_stall == 15);
  }
}

TEST_CASE("the host takes longer over some launches than over others") {
  // Issue takes 7 for the first launch and 20 for the second: kernels of 3 start at 7, 27, 34, the last one ends at 37;
  // compute idles 7 + 17 + 4. What all kernels would cost does not matter then, what a copy costs does.
  //   host     |K0 7|K1 20.............|K0 7 |C 2|
  //   compute       |3|                |3|   |3|
  //   d2h                                        |1|
  TimedSketch sketch;
  sketch.Kernel(3, 0);
  sketch.Kernel(3, 1);
  sketch.Kernel(3, 0);
  Conditions conditions;
  conditions.host_cost[static_cast<std::size_t>(Opcode::kKernel)] = 1000;
  conditions.host_cost[static_cast<std::size_t>(Opcode::kCopy)] = 2;
  conditions.launch_cost = {7, 20};
  for (const Engine engine : kEngines) {
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, conditions, &timeline).makespan == 37);
    CHECK(timeline.host_stall == 28);
  }
  sketch.Copy(1, 10);  // issued at 36
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, conditions).makespan == 46);
  conditions.DropHostCosts();
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, conditions).makespan == 10);
}

TEST_CASE("a host sync delays what is issued after it") {
  // Kernel 10, host waits for it, then a copy that could have started at 0 starts at 10.
  TimedSketch sketch;
  sketch.Kernel(10);
  const std::uint32_t done = sketch.Record(0);
  sketch.Emit(Opcode::kHostSync, 0, done, 0, Cause::kBarrier);
  sketch.Copy(2, 4);
  for (const Engine engine : kEngines) CHECK(RunSketch(engine, sketch, {}).makespan == 14);
}

TEST_CASE("a late issue is charged to each block of the host, and waking up to the host") {
  // Two copies of 10 and 20 in a row; the host waits for the first (swap-in), wakes up in 3, then for the second
  // (barrier), wakes up in 3: blocked 0 to 10 and 13 to 30, the kernel is issued at 33.
  TimedSketch sketch;
  sketch.Copy(2, 10);
  const std::uint32_t first = sketch.Record(2);
  sketch.Copy(2, 20);
  const std::uint32_t second = sketch.Record(2);
  sketch.Emit(Opcode::kHostSync, 0, first, 0, Cause::kSwapIn);
  sketch.Emit(Opcode::kHostSync, 0, second, 0, Cause::kBarrier);
  sketch.Kernel(7);
  Conditions conditions;
  conditions.host_cost[static_cast<std::size_t>(Opcode::kHostSync)] = 3;
  for (const Engine engine : kEngines) {
    Timeline timeline;
    CHECK(RunSketch(engine, sketch, conditions, &timeline).makespan == 40);
    CHECK(StallOf(timeline, Cause::kSwapIn) == 10);
    CHECK(StallOf(timeline, Cause::kBarrier) == 17);
    CHECK(timeline.host_stall == 6);
  }
}

TEST_CASE("copies in both directions share the link") {
  // Alone 100 and 40. Together at half rate: the short one ends at 80, then the long one has 60 left: ends at 140.
  TimedSketch sketch;
  sketch.Copy(1, 100);
  sketch.Copy(2, 40);
  Conditions conditions;
  conditions.duplex_factor = {{0.5, 0.5}};
  Timeline timeline;
  CHECK(RunSketch(SimulateEvents, sketch, conditions, &timeline).makespan == 140);
  CHECK(timeline.spans[1].end == 80);
}

TEST_CASE("each direction has a rate of its own while both copy") {
  // 12 GB/s in and 24 out at once, 25 alone: b comes in for 4001 / 0.48 while a leaves at 0.96 of its rate. Then a has
  // 16001 - 0.96 x 8336 left.
  TimedSketch sketch;
  sketch.Copy(1, 16001);
  sketch.Copy(2, 4001);
  REQUIRE(sketch.program.copies[0].direction == Direction::kDeviceToHost);
  Conditions conditions;
  conditions.duplex_factor = {{0.48, 0.96}};
  Timeline timeline;
  CHECK(RunSketch(SimulateEvents, sketch, conditions, &timeline).makespan == 8336 + 7999);
  CHECK(timeline.spans[1].end == 8336);
}

// The ends of copies, one lane for each direction, each copy after the one before it: nanosecond by nanosecond.
std::array<std::vector<Nanos>, 2> DullEnds(std::array<std::vector<Nanos>, 2> lanes, std::array<double, 2> factor) {
  std::array<std::vector<Nanos>, 2> ends;
  std::array<double, 2> left{};
  const auto busy = [&](std::size_t way) { return ends[way].size() < lanes[way].size(); };
  for (std::size_t way : {0u, 1u}) left[way] = busy(way) ? static_cast<double>(lanes[way][0]) : 0;
  for (Nanos now = 1; busy(0) || busy(1); ++now) {
    const bool both = busy(0) && busy(1);
    for (std::size_t way : {0u, 1u}) {
      if (!busy(way)) continue;
      left[way] -= both ? factor[way] : 1;
      if (left[way] > 1e-6) continue;
      ends[way].push_back(now);
      if (busy(way)) left[way] = static_cast<double>(lanes[way][ends[way].size()]);
    }
  }
  return ends;
}

TEST_CASE("copies in both directions end as a dull simulation says") {
  std::mt19937 random(40);
  for (int i = 0; i < Cases(200, 2000); ++i) {
    const auto factor = [&] { return 0.1 + 0.01 * static_cast<double>(random() % 91); };
    Conditions conditions;
    conditions.duplex_factor = {{factor(), factor()}};
    TimedSketch sketch;
    std::array<std::vector<Nanos>, 2> lanes, ends;
    for (int copies = 2 + static_cast<int>(random() % 9); copies > 0; --copies) {
      const auto way = static_cast<std::size_t>(random() % 2);
      lanes[way].push_back(1 + static_cast<Nanos>(random() % 400));
      sketch.Copy(way == 0 ? 2 : 1, lanes[way].back());
    }
    Timeline timeline;
    RunSketch(SimulateEvents, sketch, conditions, &timeline);
    std::sort(timeline.spans.begin(), timeline.spans.end(),
              [](const Span& a, const Span& b) { return a.instruction < b.instruction; });
    for (const Span& span : timeline.spans) {
      const Copy& copy = sketch.program.copies[sketch.program.code[span.instruction].arg];
      ends[static_cast<std::size_t>(copy.direction)].push_back(span.end);
    }
    REQUIRE(ends == DullEnds(lanes, conditions.duplex_factor[0]));
  }
}

TEST_CASE("copies in one direction on two links do not share") {
  TimedSketch sketch;
  sketch.Copy(1, 100);
  sketch.Copy(2, 40);
  sketch.program.copies[1].link = 1;
  Conditions conditions;
  conditions.duplex_factor = {{0.5, 0.5}, {0.5, 0.5}};
  CHECK(RunSketch(SimulateEvents, sketch, conditions).makespan == 100);
}

TEST_CASE("a kernel slows down while a copy runs") {
  // Factor 2: during the copy's 50 the kernel does 25 of its 100, then 75 at full rate: ends at 125.
  TimedSketch sketch;
  sketch.Kernel(100);
  sketch.Copy(1, 50);
  Conditions conditions;
  conditions.copy_slowdown = {2.0};
  CHECK(conditions.Contention());
  CHECK(RunSketch(SimulateEvents, sketch, conditions).makespan == 125);
  Scratch scratch;
  CHECK(Simulate(sketch.program, sketch.durations, conditions, scratch).makespan == 125);
}

TEST_CASE("replay takes durations from a timeline") {
  TimedSketch sketch;
  sketch.Kernel(100);
  sketch.Copy(1, 50);
  Conditions conditions;
  conditions.copy_slowdown = {2.0};
  Timeline timeline;
  RunSketch(SimulateEvents, sketch, conditions, &timeline);
  Scratch scratch;
  const std::vector<Nanos> replayed = ReplayDurations(sketch.program, timeline);
  CHECK(Simulate(sketch.program, replayed, {}, scratch).makespan == 125);
}

}  // namespace
}  // namespace spillway
